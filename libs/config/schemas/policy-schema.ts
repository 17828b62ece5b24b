// The schema of the policy: rules that decide which tool calls are allowed.
import { z } from 'zod';
import { choice, text } from '../setting-kinds.js';
import { compilePattern } from '#libs/policy/argument-condition.js';
import { parseArgumentPath } from '#libs/policy/argument-path.js';
import { compileToolGlob } from '#libs/policy/tool-glob.js';

/** A text that `compile` accepts. The message of its error is shown. */
const compiled = (compile: (text: string) => unknown, description: string) =>
  z
    .string()
    .min(1)
    .max(1_000)
    .superRefine((text, context) => {
      try {
        compile(text);
      } catch (error) {
        context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : 'unusable' });
      }
    })
    .describe(description);
const oneOrMany = <T extends z.ZodType>(one: T, description: string) =>
  z
    .union([one, z.array(one).min(1).max(1_000)], { error: 'it must be a value or a list of values' })
    .optional()
    .describe(description);

const name = z.string().min(1).max(256);
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const tests = ['equals', 'in', 'prefix', 'regex'] as const;

const conditionSchema = z
  .strictObject({
    path: compiled(parseArgumentPath, 'Path of the argument, such as $.path'),
    equals: scalar.optional().describe('It equals this value'),
    in: z.array(scalar).min(1).max(1_000).optional().describe('It equals one of these'),
    prefix: z.string().min(1).max(1_000).optional().describe('It is a text with this prefix'),
    regex: compiled((text) => compilePattern(text, true), 'It is a text that matches (RE2)').optional(),
  })
  .refine((condition) => tests.filter((test) => condition[test] !== undefined).length === 1, {
    error: `it needs one of ${tests.join(', ')}`,
  });

const policyRuleSchema = z.strictObject({
  name: z
    .string()
    .regex(/^(?!default$)[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/)
    .describe('Name of the rule, for the audit rows of the calls that it decides'),
  role: oneOrMany(name, 'Only callers with one of these roles'),
  user: oneOrMany(name, 'Only these principals'),
  key: oneOrMany(name, 'Only the keys with these ids'),
  tool: oneOrMany(compiled(compileToolGlob, 'server/tool'), 'Only these tools: server/tool, * for any characters'),
  resource: oneOrMany(
    compiled(compileToolGlob, 'server/uri'),
    'Only these resources: server/uri, * for any characters',
  ),
  prompt: oneOrMany(compiled(compileToolGlob, 'server/name'), 'Only these prompts: server/name, * for any characters'),
  arguments: z.array(conditionSchema).min(1).max(32).optional().describe('Only calls for which all of these hold'),
  effect: z.enum(['allow', 'deny', 'require_approval']).describe('What happens to the call'),
  reason: z.string().min(1).max(500).optional().describe('Shown to the model and the caller'),
});

export const policySchema = z.strictObject({
  default: choice(
    ['allow', 'by_origin'],
    'For calls that no rule matches: by where the tool runs, or allow all (docs/policy.md)',
  ).default('by_origin'),
  file: text('Reads default and rules from this file, relative to signalbox.yaml').optional(),
  rules: z
    .array(policyRuleSchema)
    .max(10_000)
    .superRefine((rules, context) => {
      const known = new Set<string>();
      for (const [index, rule] of rules.entries()) {
        if (known.has(rule.name))
          context.addIssue({ code: 'custom', path: [index, 'name'], message: 'it is used twice' });
        known.add(rule.name);
      }
    })
    .default([])
    .describe('Rules in order; the first that matches decides (docs/policy.md)'),
});

export type PolicyRule = z.output<typeof policyRuleSchema>;
