// The requests and answers of the routes that show the policy and try changes of it.
import { z } from 'zod';
import { named } from './open-api-shapes.js';

const text = z.string();
const count = z.int();
const time = text.meta({ format: 'date-time' });
const effect = z.enum(['allow', 'deny', 'require_approval']);
const was = z.enum(['allow', 'require_approval', 'refused']);
const names = z.union([text, z.array(text)]);
const scalar = z.union([text, z.number(), z.boolean(), z.null()]);
const used = {
  hits: count.describe('Calls that it decided since `since`; at most 100,000 are counted'),
  last_hit_at: time.nullable().describe('As long as the audit is kept'),
};

const condition = z.object({
  path: text,
  equals: scalar.optional(),
  in: z.array(scalar).optional(),
  prefix: text.optional(),
  regex: text.optional(),
});
const rule = {
  name: text,
  role: names.optional(),
  user: names.optional(),
  key: names.optional(),
  tool: names.optional(),
  resource: names.optional(),
  prompt: names.optional(),
  arguments: z.array(condition).optional(),
  effect,
  reason: text.optional(),
};

export const policyRule = named('PolicyRule', rule);
const usedName = named('UsedRuleName', { rule: text, ...used });
export const policyInForce = named('Policy', {
  source: z
    .object({ kind: z.enum(['config', 'file']), name: text })
    .describe('Where the rules are written: the main configuration file, or the one that `policy.file` names'),
  default: z.enum(['by_origin', 'allow']).describe('For calls that no rule matches'),
  rules: z
    .array(
      named('UsedPolicyRule', {
        ...rule,
        server: text
          .nullable()
          .describe('Set for `tools.requires_approval` of that server, which comes after all rules'),
        ...used,
      }),
    )
    .describe('In order: the first that matches decides'),
  defaults: z.array(usedName).describe('The defaults that decided calls'),
  others: z.array(usedName).describe('Names in the audit that are no rule now: earlier rules, and `request`'),
  since: time,
  text: text.describe('The rules as YAML, as they would be written where they are; without comments'),
});

export const explainRequest = z.strictObject({
  tool: text
    .min(3)
    .max(1_024)
    .regex(/^[^/]+\/.+$/s, 'must be server/tool, such as workspace/write_file'),
  arguments: z.looseObject({}).optional(),
  principal: text.min(1).max(1_024).optional(),
  roles: z.array(text.min(1).max(256)).max(100).optional(),
  key_id: text.min(1).max(256).optional(),
  policy: text.optional().describe('A draft in place of the policy in force; for administrators'),
});
export const policyExplanation = named('PolicyExplanation', {
  tool: text,
  principal: text,
  roles: z.array(text),
  key_id: text.nullable(),
  key_allows: z.boolean().describe('Whether the key allows the tool at all; if not, the policy is not asked'),
  decision: z.object({ effect, rule: text, reason: text.optional() }).nullable(),
  tried: z
    .array(
      z.object({
        rule: text,
        matched: z.boolean(),
        because: text.optional().describe('Why it does not match'),
        differs: z.enum(['tool', 'caller', 'arguments']).optional(),
      }),
    )
    .describe('The rules up to the one that decides. Without the scope admin only those for this caller and tool'),
  arguments_problem: text
    .nullable()
    .describe('Why the tool would refuse these arguments before the policy is asked; they are judged as they are'),
});

const period = {
  since: z.iso.datetime({ offset: true, local: true, error: 'must be a time such as 2026-11-24T12:00:00Z' }),
  until: z.iso.datetime({ offset: true, local: true, error: 'must be a time such as 2026-11-24T12:00:00Z' }),
};
export const simulateRequest = z.strictObject({
  policy: text.describe('The draft as YAML: `rules` and `default`, or both below `policy`'),
  since: period.since.optional().describe('Absent: 7 days ago'),
  until: period.until.optional().describe('Absent: now'),
  rule: text.min(1).max(64).optional().describe('A rule of the draft whose calls are listed too if nothing changes'),
});
const simulatedCall = {
  id: text.describe('The row of the audit'),
  call_id: text.nullable(),
  at: time,
  principal: text,
  key_id: text.nullable(),
  server: text,
  tool: text,
};
export const simulationEvent = z
  .union([
    z.object({ type: z.literal('progress'), calls: count, at: time.describe('How far back it has read') }),
    z.object({ type: z.literal('call'), kind: z.literal('changed'), ...simulatedCall, was, now: effect, rule: text }),
    z.object({ type: z.literal('call'), kind: z.literal('same'), ...simulatedCall, now: effect, rule: text }),
    z.object({ type: z.literal('call'), kind: z.literal('unknown'), ...simulatedCall, because: text }),
    z.object({
      type: z.literal('done'),
      calls: count,
      counts: z.object({ same: count, changed: count, unknown: count, undecided: count }),
      listed: count.describe('How many calls were listed; the sums have all'),
      changes: z.array(z.object({ server: text, tool: text, was, now: effect, rule: text, calls: count })),
      rules: z.array(z.object({ rule: text, effect, calls: count, changed: count })),
      unknown: z.array(z.object({ because: text, calls: count })),
      since: time,
      until: time,
    }),
  ])
  .meta({ id: 'SimulationEvent' });

export const draftRequest = z.strictObject({ approval_id: text.min(1).max(256) });
export const draftedRule = named('DraftedRule', {
  policy: text.describe('The policy in force with the rule in its place, as YAML'),
  rule: policyRule,
  before: text.nullable().describe('The rule that it comes before; null: it is the last'),
  left_out: z.array(text).describe('Paths of arguments that the rule leaves open'),
});

export const unusedRights = named('UnusedRights', {
  since: time,
  data: z.array(
    named('UnusedKeyRights', {
      key_id: text.nullable().describe('Null: callers without a key'),
      prefix: text.nullable(),
      name: text.nullable(),
      owner: text,
      created_at: time.nullable(),
      allowed: count.describe('Tools of the catalog that the key and the policy allow, at least with an approval'),
      used: z.array(text).describe('Those that were called'),
      unused: z.array(text),
      unused_count: count,
      rule: text.nullable().describe('A rule that takes these rights away, as YAML; for the first rules of the policy'),
      tools: z
        .object({ allow: z.array(text) })
        .nullable()
        .describe('Or the tools of a new key in its place'),
    }),
  ),
  rules: z.array(text).describe('Rules that allow or ask, and decided no call'),
  has_more: z.boolean(),
});
