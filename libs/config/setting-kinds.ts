// Schemas for the kinds of settings.
import { z } from 'zod';

export const ms = (description: string) => z.number().int().positive().describe(`${description}, ms`);
export const count = (description: string) => z.number().int().positive().describe(description);
export const port = (description: string) => z.number().int().min(0).max(65_535).describe(description);
export const bytes = (description: string) => z.number().int().positive().describe(`${description}, bytes`);
export const text = (description: string) => z.string().min(1).describe(description);
export const texts = (description: string) => z.array(z.string()).describe(description);
export const flag = (description: string) => z.boolean().describe(description);
export const choice = <const Choices extends readonly [string, ...string[]]>(choices: Choices, description: string) =>
  z.enum(choices).describe(description);
export const httpUrl = (description: string) => z.url({ protocol: /^https?$/ }).describe(description);

/** Never printed, and refused as a literal in the file. Comes from a variable, its *_FILE, or ${NAME} in the file. */
export const secret = z.string().min(1).meta({ secret: true });
/** A URL that may contain a password. Printed without it, and allowed in the file only without one. */
export const secretUrl = z.string().min(1).meta({ secret: 'url' });
/** Values by name, of which any may be a secret. */
export const secretTexts = (description: string) =>
  z.record(z.string(), z.string()).default({}).meta({ secret: true, description });
/** Settings that have defaults, all of which may be left out. */
export const section = <Shape extends z.core.$ZodShape>(shape: Shape) => z.strictObject(shape).prefault({} as never);
