// All settings with their defaults and descriptions. `.env.example`, the JSON Schema and docs/configuration.md are generated
// from them. Names are those of signalbox.yaml; `environment.ts` maps environment variables to them.
import { z } from 'zod';
import { chimechSchema } from './schemas/chimech-schema.js';
import { budgetsSchema, limitsSchema, usageSchema } from './schemas/limits-schema.js';
import { policySchema } from './schemas/policy-schema.js';
import { priceSchema } from './price-table.js';
import { changePolicies, serverSchema } from './schemas/server-schema.js';
import { toolsetsSchema } from './schemas/toolsets-schema.js';
import {
  bytes,
  choice,
  count,
  flag,
  httpUrl,
  ms,
  port,
  secret,
  secretTexts,
  secretUrl,
  section,
  text,
  texts,
} from './setting-kinds.js';

export const providerSchema = z.strictObject({
  kind: z.enum(['openai', 'anthropic', 'gemini', 'offline']).describe('Wire format; openai for any compatible server'),
  base_url: httpUrl('Address of the API').optional(),
  api_key: secret.optional().describe('API key sent to the provider'),
  headers: secretTexts('Headers added to every model call'),
  timeout_ms: section({
    connect: ms('Time limit for connecting').default(10_000),
    first_byte: ms('Time limit for the first byte of an answer').default(120_000),
    idle: ms('Time limit without data within an answer').default(60_000),
  }),
  max_retries: z
    .number()
    .int()
    .min(0)
    .max(10)
    .default(2)
    .describe('Retries before the first byte (429, 5xx, failed connection)'),
  max_concurrency: count('Concurrent model calls').default(256),
  circuit: section({
    failures: count('Consecutive failures without any part of an answer after which model calls are paused').default(5),
    cool_down_ms: ms('Time until a single model call is tried again').default(30_000),
  }),
  models: texts('Its models; other names are refused with model_not_found').optional(),
  tools: choice(
    ['native', 'prompted', 'none'],
    'How tools are offered: by the API, in the system message for models without tool use, or not at all',
  ).default('native'),
  context_window: count(
    'Context limit of its models in tokens; a request with more words is refused without a model call',
  ).optional(),
  reasoning_replay: choice(
    ['always', 'tool_turns', 'never'],
    'Which earlier assistant messages are sent back with their reasoning',
  ).default('never'),
  wire: choice(
    ['chat', 'responses'],
    'OpenAI: chat completions or the Responses API; default: by the model',
  ).optional(),
  call_ids: choice(
    ['minted', 'alphanumeric9'],
    'Form of call ids; Mistral accepts only nine letters and digits',
  ).default('minted'),
  images: flag(
    'OpenAI-compatible: whether images in tool results are sent; default: yes, unless the model is known to be text-only',
  ).optional(),
  tool_search: choice(
    ['native', 'function'],
    'How a search for tools and its results are sent: in the API’s own form, or as a function; default: by the vendor and the model (docs/tool-search.md)',
  ).optional(),
  prompt_caching: flag('Anthropic: cache tools and system text').default(false),
  max_response_bytes: bytes('Maximum size of an answer').default(64 * 1024 * 1024),
});

const jwtSchema = z.strictObject({
  issuer: httpUrl('OIDC issuer whose tokens are accepted, exactly as in their iss claim'),
  audience: z
    .union([z.string().min(1), z.array(z.string().min(1)).min(1)], { error: 'it must be a name or a list of names' })
    .describe('Required audience of tokens; any one of a list'),
  jwks_url: httpUrl('URL of the keys of the issuer (JWKS); default: from its discovery document').optional(),
  roles_claim: text('Claim with the roles; default: roles; a.b is a nested claim').optional(),
  scopes_claim: text(
    'Claim with the scopes; default: scope. A token without any scope of Signalbox has all except admin',
  ).optional(),
  admin_role: text('Role that grants the scope admin').optional(),
  admin_scope: text('Name of the scope admin in tokens; default: no token scope grants it').optional(),
  mcp_scopes: z
    .array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, 'it must be the name of a scope'))
    .optional()
    .describe('Scopes that MCP clients ask the issuer for; default: tools'),
  console_client_id: text(
    'Client at the issuer by which people sign in to the console; unset: by API key only',
  ).optional(),
});

export const configSchema = z.strictObject({
  server: section({
    host: z.string().default('127.0.0.1').describe('Address that the gateway listens on'),
    port: port('Port of the gateway').default(8000),
    worker_port: port('Port of the worker: health and metrics').default(8001),
    allowed_hosts: texts('Host headers accepted in addition to the listening address').default([]),
    allowed_origins: texts('Browser origins whose requests are allowed').default([]),
    shutdown_grace_ms: ms('How long a shutdown waits for runs and calls').default(25_000),
    keep_alive_ms: ms('Time without events after which a stream sends a keep-alive').default(15_000),
    stuck_reader_ms: ms('How long a client may read nothing before it is disconnected').default(60_000),
    headers_after_ms: ms('Time after which a stream sends its headers even without an event').default(10_000),
    public_url: httpUrl(
      'Address at which people and tool servers reach the gateway, such as https://tools.example.com; default: from host and port',
    ).optional(),
  }),
  data_dir: z.string().default('.data').describe('Directory of the embedded database and the workspaces'),
  database: section({
    url: secretUrl.optional().describe('PostgreSQL; default: the embedded one'),
    owner_url: secretUrl
      .optional()
      .describe(
        'The same database with the user that owns its tables, for `npm run migrate`, which then creates the role in `url`',
      ),
    reader_url: secretUrl
      .optional()
      .describe('The same database with a role that `npm run migrate` creates, which reads the audit and nothing else'),
    pool_size: count('Connections of a process for statements; up to three more listen for messages').default(8),
    timeout_ms: ms('Deadline of a call to the database or Redis').default(2_000),
  }),
  redis: section({
    url: secretUrl
      .optional()
      .describe(
        'Redis, optionally with sentinels or as a cluster (docs/redis.md); default: the queue is in PostgreSQL',
      ),
  }),
  workspaces: section({
    dir: z.string().optional().describe('Directory of the workspaces; default: workspaces in data_dir'),
    idle_ttl_ms: ms('How long an idle session is kept').default(86_400_000),
    sweep_interval_ms: ms('How often expired sessions are removed').default(60_000),
    max_bytes: bytes('Maximum size of a workspace').default(512 * 1024 * 1024),
    max_files: count('Maximum number of files in a workspace').default(10_000),
    max_depth: count('Maximum directory depth of a workspace').default(32),
    min_free_bytes: bytes('Free disk space below which no files are written').default(256 * 1024 * 1024),
  }),
  models: section({
    default: z.string().optional().describe('Model for requests that name none'),
    providers: z
      .record(z.string().regex(/^[A-Za-z0-9_-]+$/), providerSchema)
      .default({})
      .describe('Providers by name'),
    aliases: z
      .record(z.string(), z.union([z.string(), z.array(z.string()).min(1)]))
      .default({})
      .describe('Aliases of models; a list is tried in order'),
    prices: z
      .record(z.string().min(1), priceSchema)
      .default({})
      .describe('USD per million tokens, by model or provider/model, * for any text (docs/limits.md)'),
  }),
  mcpServers: z
    .record(z.string().regex(/^[A-Za-z0-9_-]{1,64}$/), serverSchema)
    .default({})
    .describe('Tool servers by name, in the format of Claude Desktop and Cursor'),
  toolsets: toolsetsSchema,
  tools: section({
    timeout_ms: ms('Deadline of a tool call').default(60_000),
    max_timeout_ms: ms('Maximum to which progress can extend it').default(600_000),
    cancel_grace_ms: ms('How long a cancelled tool may take to stop').default(2_000),
    worker_wait_ms: ms('How long a tool call waits if no worker is running').default(15_000),
    max_argument_bytes: bytes('Maximum size of the arguments of a call').default(1024 * 1024),
    max_result_bytes: bytes('Largest result that a model gets in full').default(256 * 1024),
    max_read_bytes: bytes('Largest result that is read from a server').default(32 * 1024 * 1024),
    fetch_allow: texts('Private hosts, host:port or CIDR ranges that fetch may reach').default([]),
    changes: changePolicies.prefault({}),
    search: choice(
      ['auto', 'always', 'never'],
      'Whether a model is offered find_tools in place of the tools of servers: above a bound, always or never (docs/tool-search.md)',
    ).default('auto'),
    search_above: section({
      tools: count('Most tools of servers that a request lists').default(40),
      tokens: count('Most tokens of their definitions together').default(8_000),
    }),
  }),
  policy: policySchema.prefault({}),
  approvals: section({
    expires_ms: ms('How long a call waits for an approval').default(600_000),
    webhook: z
      .strictObject({
        url: httpUrl('Webhook that is notified of every waiting call (docs/approvals.md)'),
        secret: secret.describe('Secret that signs the notifications'),
      })
      .optional(),
  }),
  worker: section({
    concurrency: count('Concurrent tool calls in a worker').default(64),
    modules: z
      .array(z.string().min(1))
      .default([])
      .describe('Compiled modules, by path, whose own tools run in the worker (docs/own-tools.md)'),
    server_starts: count(
      'Tool server programs that start at the same time in a worker; default: one per CPU',
    ).optional(),
  }),
  chimech: chimechSchema.prefault({}),
  limits: limitsSchema,
  budgets: budgetsSchema,
  usage: usageSchema,
  runs: section({
    idempotency_ttl_ms: ms('How long an Idempotency-Key is valid').default(86_400_000),
    event_ttl_ms: ms('How long events are stored after the end of a run').default(600_000),
    retention_days: count('Days after which runs that have ended are deleted').default(30),
  }),
  auth: section({
    mode: choice(
      ['auto', 'keys', 'off'],
      'keys: every request needs an API key; auto: the same once the first key exists or jwt is set, until then loopback only; off: no request needs a key',
    ).default('auto'),
    jwt: jwtSchema.optional(),
  }),
  vault: section({
    key: secret
      .optional()
      .describe(
        'Key that seals the connections of users to tool servers, 32 bytes in base64; of several, separated by commas, the first seals and all open',
      ),
  }),
  console: section({
    enabled: flag('Serve the console at /console').default(true),
  }),
  isolation: section({
    minimum: choice(
      ['none', 'process', 'confined', 'namespace'],
      'Command servers with a lower level are refused',
    ).default('confined'),
    allow_unsandboxed: flag('Allows isolation.minimum to be none').default(false),
  }),
  audit: section({
    enabled: flag('Write a row for every tool call').default(true),
    retention_days: count('Days after which audit rows are deleted, a whole month at a time; unset: never').optional(),
    signing_key: secret.optional().describe('Private Ed25519 key (PEM) that signs the checkpoints of the audit'),
  }),
  log: section({
    level: choice(['debug', 'info', 'warn', 'error'], 'Lowest level that is written').default('info'),
    content: flag('Also log arguments and results').default(false),
  }),
  metrics: section({
    port: port('Separate port for /metrics, in every process; default: its main port').optional(),
    token: secret.optional().describe('Token for /metrics from other machines'),
  }),
  telemetry: section({
    otlp_endpoint: httpUrl(
      'Where traces are sent by OTLP/HTTP, without /v1/traces; unset: nothing is traced',
    ).optional(),
    otlp_headers: secret.optional().describe('Headers for the collector, such as a key: name=value,name=value'),
    trace_url: httpUrl('Address of a trace in your own page for traces, with {trace_id} in it; the console links to it')
      .refine((url) => url.includes('{trace_id}'), 'must have {trace_id} in it')
      .optional(),
  }),
});

export type Config = z.output<typeof configSchema>;
export type ProviderConfig = z.output<typeof providerSchema>;
export type ServerConfig = z.output<typeof serverSchema>;
