// The settings of a tool server, and what happens to changed definitions.
import { z } from 'zod';
import { changeGrades } from '#libs/schemas/tool-change.js';
import { readAllowedHost } from '../addresses/host-name.js';
import { authSchema } from './auth-schema.js';
import { bytes, choice, count, flag, httpUrl, ms, secretTexts, text, texts } from '../setting-kinds.js';

const changePolicy = (holds: boolean, what: string) =>
  z
    .enum(['allow', 'hold'])
    .default(holds ? 'hold' : 'allow')
    .describe(what);
/** The defaults hold back every change that could influence a model. */
export const changePolicies = z.strictObject({
  cosmetic: changePolicy(false, 'Only white space of title or description has changed'),
  wording: changePolicy(true, 'Title or description has changed'),
  contract: changePolicy(true, 'A schema or the annotations have changed'),
  new: changePolicy(true, 'A tool that the server did not have'),
  removed: changePolicy(false, 'A tool that the server no longer has'),
});

const toolRulesSchema = z.strictObject({
  include: texts('Only these tools').optional(),
  exclude: texts('All tools but these').optional(),
  rename: z.record(z.string(), z.string()).optional().describe('New names of tools'),
  requires_approval: texts(
    'Tools that need an approval, unless a rule of the policy allows the call (docs/policy.md)',
  ).optional(),
  cache_ttl_ms: z
    .record(z.string(), ms('How long a result is cached'))
    .optional()
    .describe('How long results are cached, by tool, ms'),
  timeout_ms: z.record(z.string(), ms('Deadline of a call')).optional().describe('Deadline of a call, by tool, ms'),
  retry: z.record(z.string(), z.literal('safe')).optional().describe('Tools that may run again after a worker died'),
  changes: z
    .partialRecord(z.enum(changeGrades), z.enum(['allow', 'hold']))
    .optional()
    .describe('What happens to changed definitions; overrides tools.changes'),
});

const allowedHost = z.string().refine((entry) => readAllowedHost(entry) !== undefined, {
  error: 'it must be a name such as api.github.com, *.npmjs.org or db.internal:5432, or an IP address',
});

const identitySchema = z.union(
  [
    z.literal('jwt'),
    z.strictObject({
      kind: z.literal('jwt'),
      header: text('Header with the statement alone; default: Authorization, as a Bearer token').optional(),
      audience: text('Who the statement is for; default: the URL of the server').optional(),
    }),
  ],
  { error: 'it must be jwt, or kind: jwt with header and audience' },
);

export const serverSchema = z.strictObject({
  builtin: text('A server inside the worker: `workspace`, or the name of own tools').optional(),
  command: text('Program that speaks MCP over stdio').optional(),
  args: texts('Its arguments; ${WORKSPACE} is the directory of the session').default([]),
  env: secretTexts('Its environment variables, in addition to a few inherited ones'),
  url: httpUrl('URL of an MCP server').optional(),
  openapi: text('OpenAPI document of an API, a file or an address: each operation is a tool').optional(),
  base_url: z
    .url({ protocol: /^https?$/ })
    .meta({ secret: 'url' })
    .describe('Address of the API; default: the first that its document names')
    .optional(),
  operations: texts('Globs of the operations that are tools, by id or tag; `!` removes; default: all').optional(),
  transport: choice(['http', 'sse'], 'Transport of the URL; default: discovered').optional(),
  headers: secretTexts('Headers sent to the URL, or to the API'),
  auth: authSchema.optional(),
  enabled: flag('false: the entry is ignored').default(true),
  scope: choice(
    ['session', 'shared'],
    'One instance per session (default for commands) or one for all (default for URLs and builtins)',
  ).optional(),
  timeout_ms: ms('Deadline of a call').optional(),
  max_timeout_ms: ms('Maximum to which progress can extend it').optional(),
  start_timeout_ms: ms('Time limit for starting or connecting, until it has answered `initialize`').default(60_000),
  idle_ttl_ms: ms('How long an idle instance is kept').default(300_000),
  max_instances: count('Maximum number of instances').default(32),
  standbys: z
    .number()
    .int()
    .min(0)
    .default(0)
    .describe('Instances kept ready for new sessions, for commands with scope session, within max_instances'),
  concurrency: count('Concurrent calls').default(4),
  isolation: choice(
    ['none', 'process', 'confined', 'namespace'],
    'Isolation level; default: isolation.minimum',
  ).optional(),
  max_memory_bytes: bytes('Memory of a command and everything it starts, together; above it they are killed').default(
    1024 ** 3,
  ),
  paths: z
    .strictObject({
      read: texts('Files and directories that a confined command may read').default([]),
      write: texts('Files and directories that a confined command may change').default([]),
    })
    .optional()
    .describe('What a confined command may use in addition to its program; default: what its arguments and `env` name'),
  network: z
    .union([z.enum(['none', 'full']), z.strictObject({ allow: z.array(allowedHost).min(1) })], {
      error: 'it must be none, full, or allow with a list of hosts',
    })
    .default('none')
    .describe('Network of a command, or `{ allow: […] }` with the names, `*.names` and addresses that it may reach'),
  sampling: z
    .union([
      z.boolean(),
      z.strictObject({
        models: texts('Globs of the models that it may use; default: all').min(1).optional(),
        max_tokens: count('Maximum number of tokens of an answer').default(4_096),
      }),
    ])
    .default(false)
    .describe('Whether it may ask models (MCP sampling), or `{ models: […], max_tokens: … }`'),
  trusted: flag('Whether its annotations are trusted').default(false),
  act_for_caller: flag(
    'Whether it asks models of the gateway as its caller; default: as own tools declare it, else false',
  ).optional(),
  tools: toolRulesSchema.prefault({}),
  identity: identitySchema
    .optional()
    .describe(
      'Sends a signed statement about the caller with each request to a URL: `jwt`, or `{ kind: jwt, header: …, audience: … }`',
    ),
  forward_headers: texts("Headers of the caller's request that are sent to it").default([]),
});
