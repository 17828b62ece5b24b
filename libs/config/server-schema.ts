// The settings of one tool server, and what becomes of definitions that change.
import { z } from 'zod';
import { changeGrades } from '#libs/schemas/tool-change.js';
import { readAllowedHost } from './addresses/host-name.js';
import { ms, count } from './setting-kinds.js';

const changePolicy = (holds: boolean, what: string) =>
  z
    .enum(['allow', 'hold'])
    .default(holds ? 'hold' : 'allow')
    .describe(what);
/** The defaults let nothing through that a model could be led by. */
export const changePolicies = z.strictObject({
  cosmetic: changePolicy(false, 'Only white space of title or description has changed'),
  wording: changePolicy(true, 'Title or description has changed'),
  contract: changePolicy(true, 'A schema or the annotations have changed'),
  new: changePolicy(true, 'A tool that the server did not have'),
  removed: changePolicy(false, 'A tool that the server has no more'),
});

const toolRulesSchema = z.strictObject({
  include: z.array(z.string()).optional().describe('Only these tools'),
  exclude: z.array(z.string()).optional().describe('All but these tools'),
  rename: z.record(z.string(), z.string()).optional().describe('Tool to the name that it is offered under'),
  requires_approval: z
    .array(z.string())
    .optional()
    .describe('Tools that need an approval, unless a rule of the policy allows the call (docs/policy.md)'),
  cache_ttl_ms: z
    .record(z.string(), ms('Life of a kept result'))
    .optional()
    .describe('Tool to the life of its kept results, ms'),
  timeout_ms: z
    .record(z.string(), ms('Deadline of one call'))
    .optional()
    .describe('Tool to the deadline of a call, ms'),
  retry: z.record(z.string(), z.literal('safe')).optional().describe('Tools that may run again after a worker died'),
  changes: z
    .partialRecord(z.enum(changeGrades), z.enum(['allow', 'hold']))
    .optional()
    .describe('What becomes of changed definitions, where it is not as in tools.changes'),
});

const allowedHost = z.string().refine((entry) => readAllowedHost(entry) !== undefined, {
  error: 'it is no name such as api.github.com, *.npmjs.org or db.internal:5432, and no address',
});

export const serverSchema = z.strictObject({
  builtin: z.string().min(1).optional().describe('Runs inside the worker: `workspace`, or own tools by their name'),
  command: z.string().min(1).optional().describe('Program that speaks MCP over stdio'),
  args: z.array(z.string()).default([]).describe('Its arguments; ${WORKSPACE} is the directory of the session'),
  env: z
    .record(z.string(), z.string())
    .default({})
    .meta({ secret: true, description: 'Its environment, beside a short allow-list' }),
  url: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Address of an MCP server'),
  transport: z.enum(['http', 'sse']).optional().describe('How the address is spoken to; absent: found out'),
  headers: z
    .record(z.string(), z.string())
    .default({})
    .meta({ secret: true, description: 'Headers sent to the address' }),
  enabled: z.boolean().default(true).describe('false: as if it were not written here'),
  scope: z
    .enum(['session', 'shared'])
    .optional()
    .describe('One instance a session (default of commands) or one for all (default of addresses and builtins)'),
  timeout_ms: ms('Deadline of one call').optional(),
  max_timeout_ms: ms('How far progress may extend it').optional(),
  idle_ttl_ms: ms('Idle life of an instance').default(300_000),
  max_instances: count('Instances at once').default(32),
  spares: z
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('Instances of a session command that are kept ready for new sessions, within max_instances'),
  concurrency: count('Calls at once').default(4),
  isolation: z
    .enum(['none', 'process', 'confined', 'namespace'])
    .optional()
    .describe('Isolation that it runs under; absent: isolation.minimum'),
  paths: z
    .strictObject({
      read: z.array(z.string()).default([]).describe('Files and directories that a confined command may read as well'),
      write: z
        .array(z.string())
        .default([])
        .describe('Files and directories that a confined command may change as well'),
    })
    .prefault({}),
  network: z
    .union([z.enum(['none', 'full']), z.strictObject({ allow: z.array(allowedHost).min(1) })], {
      error: 'it is none, full, or allow with a list of hosts',
    })
    .default('none')
    .describe('Network of a command, or `{ allow: […] }` with the names, `*.names` and addresses that it may reach'),
  trusted: z.boolean().default(false).describe('Its annotations are believed'),
  tools: toolRulesSchema.prefault({}),
  forward_headers: z.array(z.string()).default([]).describe('Headers of the request that it is sent'),
});
