// The schema of named sets of tools.
import { z } from 'zod';
import { compileToolGlob } from '#libs/policy/tool-glob.js';

const maxEntries = 1_000;

/** An entry that `globOf` finds a glob in. The message of its error is shown. */
const withGlob = (globOf: (text: string) => string) =>
  z
    .string()
    .min(1)
    .max(1_000)
    .superRefine((text, context) => {
      try {
        compileToolGlob(globOf(text));
      } catch (error) {
        context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'unusable' });
      }
    });

const shownTool = z
  .strictObject({
    tool: withGlob((text) => text).refine((text) => !text.includes('*'), 'it must name one tool, without *'),
    name: z
      .string()
      .regex(/^[A-Za-z0-9_-]{1,64}$/, 'it must be 1 to 64 letters, digits, _ and -')
      .refine((text) => text !== 'approval_request', 'it is a name that the gateway uses itself')
      .optional()
      .describe('Its name in this set'),
    description: z.string().min(1).max(10_000).optional().describe('Its description in this set'),
  })
  .describe('A tool, server/tool, with a name or description of its own');

const entry = z.union([withGlob((text) => text.replace(/^!/, '')), shownTool], {
  error: 'it must be server/tool, !server/tool, or { tool, name, description }',
});

const toolsetSchema = z
  .array(entry)
  .min(1)
  .max(maxEntries)
  .superRefine((entries, context) => {
    const known = new Set<string>();
    for (const [index, each] of entries.entries()) {
      if (typeof each === 'string' || each.name === undefined) continue;
      if (known.has(each.name))
        context.addIssue({ code: 'custom', path: [index, 'name'], message: 'it is used twice' });
      known.add(each.name);
    }
  });

export const toolsetsSchema = z
  .record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), toolsetSchema)
  .default({})
  .describe('Named sets of tools: globs in order, ! removes (docs/toolsets.md)');
