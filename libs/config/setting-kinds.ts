// Schemas for the kinds of settings.
import { z } from 'zod';

export const ms = (description: string) => z.number().int().positive().describe(`${description}, ms`);
export const count = (description: string) => z.number().int().positive().describe(description);
export const port = (description: string) => z.number().int().min(0).max(65_535).describe(description);
export const bytes = (description: string) => z.number().int().positive().describe(`${description}, bytes`);
export const httpUrl = (description: string) => z.url({ protocol: /^https?$/ }).describe(description);

/** Never printed, and refused as a literal in the file. Comes from a variable, its *_FILE, or ${NAME} in the file. */
export const secret = z.string().min(1).meta({ secret: true });
/** A URL that may contain a password. Printed without it, and allowed in the file only without one. */
export const secretUrl = z.string().min(1).meta({ secret: 'url' });
