// The kinds of values that settings have.
import { z } from 'zod';

export const ms = (description: string) => z.number().int().positive().describe(`${description}, ms`);
export const count = (description: string) => z.number().int().positive().describe(description);
export const bytes = (description: string) => z.number().int().positive().describe(`${description}, bytes`);

/** Never printed, never taken literally from the file: an environment variable, its *_FILE, or ${NAME} in the file. */
export const secret = z.string().min(1).meta({ secret: true });
/** A URL that may carry a password: printed without it, and taken from the file only when it has none. */
export const secretUrl = z.string().min(1).meta({ secret: 'url' });
