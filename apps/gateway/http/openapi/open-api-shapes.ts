// The routes' answers as zod schemas: the OpenAPI document and the types of clients/typescript are written from them. No
// answer is checked against them outside of tests.
import { z } from 'zod';
import { waitStates } from '#libs/waits/wait.js';
import { changeGrades, definitionKinds } from '#libs/schemas/tool-change.js';

/** A controller's return value: members may be undefined, which JSON leaves out. */
export type Shown<Shape extends z.ZodType> = z.infer<Shape>;

const text = z.string();
const count = z.int();
const time = text.meta({ format: 'date-time' });
export const anything = z.looseObject({});
/** A shape that the document defines once, under its name. */
export const named = <Shape extends z.core.$ZodLooseShape>(id: string, shape: Shape) => z.object(shape).meta({ id });
export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ object: z.literal('list'), data: z.array(item) });

export const usage = z
  .looseObject({ prompt_tokens: count, completion_tokens: count, total_tokens: count })
  .meta({ id: 'Usage' });
export const toolExecution = named('ToolExecution', {
  executed: z.boolean(),
  tools_called: z.array(text),
  session_id: text,
  workspace_path: text,
  rounds: count.describe('The number of model calls'),
  stopped_by: z
    .enum(['max_rounds', 'max_calls', 'max_time', 'budget', 'repeated_failure'])
    .nullable()
    .describe('The limit that ended the use of tools'),
  calls: z.array(
    z.object({
      id: text,
      name: text,
      server: text,
      success: z.boolean(),
      duration_ms: z.number(),
      cached: z.boolean(),
      round: count,
    }),
  ),
});
const warning = z
  .object({ message: text, param: text.optional().describe('The member of the request that it is about') })
  .meta({
    id: 'Warning',
    description: 'What was left out of a request, or changed, so that the model could be asked',
  });
/** Members that Signalbox adds to the answers of all chat APIs. */
export const added = { tool_execution: toolExecution.optional(), warnings: z.array(warning).optional() };

export const completion = z.looseObject({
  id: text,
  object: z.literal('chat.completion'),
  created: count,
  model: text,
  choices: z.array(z.looseObject({ index: count, message: anything, finish_reason: text })),
  usage,
  ...added,
});
export const message = z.looseObject({
  id: text,
  type: z.literal('message'),
  role: z.literal('assistant'),
  model: text,
  content: z.array(anything),
  stop_reason: z.enum(['end_turn', 'max_tokens', 'tool_use', 'refusal']),
  usage: z.looseObject({
    input_tokens: count,
    output_tokens: count,
    cache_creation_input_tokens: count,
    cache_read_input_tokens: count,
  }),
  ...added,
});
export const response = z.looseObject({
  id: text,
  object: z.literal('response'),
  created_at: count,
  status: z.enum(['in_progress', 'completed', 'incomplete', 'failed', 'cancelled']),
  model: text,
  output: z.array(anything),
  error: anything.nullable(),
  incomplete_details: anything.nullable(),
  usage: z.looseObject({ input_tokens: count, output_tokens: count, total_tokens: count }).optional(),
  previous_response_id: text.nullable().optional(),
  ...added,
});
export const model = named('Model', { id: text, object: z.literal('model'), created: count, owned_by: text });
export const run = named('Run', {
  id: text,
  state: z.enum(['running', 'waiting', 'done', 'failed', 'cancelled', 'interrupted']),
  session_id: text.nullable(),
  created: count.describe('Epoch seconds'),
  rounds: count,
  usage,
  tool_execution: toolExecution.optional(),
  error: z.looseObject({ code: text, message: text, type: text }).optional(),
});

export const approval = named('Approval', {
  id: text,
  kind: z
    .enum(['approval', 'sign_in', 'question'])
    .describe(
      '`sign_in`: the call has not begun, its caller has to sign in at the tool server. ' +
        '`question`: the call runs, and its tool server asks something',
    ),
  state: z.enum(waitStates),
  tool_call_id: text,
  tool: text,
  server: text,
  arguments: anything,
  arguments_hash: text.describe('SHA-256 of the canonical arguments (RFC 8785)'),
  rule: text.nullable().describe('The policy rule that requires the approval'),
  reason: text.nullable(),
  message: text.nullable().describe('What the tool server asks'),
  schema: anything.nullable().describe('JSON schema of the answer to a question'),
  scopes: z.array(text).optional().describe('Of a sign-in: what it must cover; often empty'),
  authorization_url: text
    .nullable()
    .optional()
    .describe('Of a sign-in, for its principal alone: where to sign in, in a browser'),
  principal: text,
  session_id: text,
  run_id: text.nullable(),
  created_at: text,
  expires_at: text,
  decided_at: text.nullable(),
  decided_by: text.nullable(),
  decision_reason: text.nullable(),
  edited: z.boolean(),
});

export const requiredSignIn = named('RequiredSignIn', {
  id: text,
  server: text,
  authorization_url: text.describe('To be opened in a browser by whoever the call is for'),
  expires_at: text,
  tool_call_id: text,
  tool: text,
});

export const session = named('Session', {
  id: text,
  object: z.literal('session'),
  principal: text.describe('Its owner'),
  created_at: time,
  expires_at: time,
  workspace_path: text,
  metadata: anything,
  usage: z.object({ bytes: count, files: count }),
  limits: z.object({ bytes: count, files: count, depth: count }),
});
export const fileEntry = named('FileEntry', {
  path: text,
  type: z.enum(['file', 'directory', 'link', 'other']),
  size: count,
  modified_at: time,
  etag: text.optional().describe('Of files'),
});
export const fileList = named('FileList', {
  session_id: text,
  files: z.array(fileEntry),
  truncated: z.boolean().describe('There are more than are listed'),
});
export const uploadedFile = named('UploadedFile', { path: text, size: count, etag: text, created: z.boolean() });

export const tool = named('Tool', {
  type: z.literal('function'),
  function: z.object({ name: text, description: text, parameters: anything }),
  server: text,
  toolsets: z.array(text).optional().describe('The named sets that have the tool'),
  annotations: anything,
  requires_approval: z.boolean(),
  available: z.boolean(),
  title: text.optional(),
  output_schema: anything.optional(),
  metadata: anything.optional(),
  app: z
    .object({ shows_results: z.boolean(), for_models: z.boolean() })
    .optional()
    .describe('Of a tool with an app: whether it has a page, and whether models may call the tool'),
  tokens: count.describe('About how many tokens of a model call the definition takes'),
  verdict: z
    .object({ effect: z.enum(['allow', 'require_approval', 'deny']), rule: text, depends: z.boolean() })
    .optional()
    .describe('What the policy says to the caller; `depends`: other arguments may get another answer'),
  last_30_days: z.object({ calls: count, failures: count }).optional(),
});
export const endedCall = named('EndedCall', {
  success: z.literal(true),
  content: text,
  blocks: z.array(anything).optional(),
  structured_content: z.unknown().optional(),
  meta: anything.optional().describe('Of a tool with an app'),
  id: text,
  session_id: text,
  duration_ms: z.number(),
  cached: z.boolean(),
  truncated: z.boolean().optional(),
});
export const shownApp = named('ShownApp', {
  object: z.literal('app'),
  call_id: text,
  session_id: text,
  tool: z.object({ name: text, description: text, inputSchema: anything }).describe('As its server knows it'),
  arguments: anything,
  result: z.object({
    content: z.array(anything),
    structuredContent: z.unknown().optional(),
    isError: z.boolean().optional(),
    _meta: anything.optional(),
  }),
  html: text,
  frame: text.describe('The address, below that of the gateway, of an empty page that takes the HTML by postMessage'),
  tools: z.record(text, text).describe("Names of the tools that the app may call: its server's, and the gateway's"),
});
const definition = z.object({ hash: text, definition: anything }).nullable();
const changedDefinition = {
  kind: z.enum(definitionKinds),
  server: text,
  tool: text.describe('The name of the tool or prompt; empty for instructions'),
};
/** Which changes a decision is about. */
export const reviewedChange = z.object({
  ...changedDefinition,
  kind: changedDefinition.kind.optional().describe('Without it: tool'),
  tool: changedDefinition.tool.optional(),
  hash: text.nullable(),
});
export const decidedChange = z.object({ ...changedDefinition, change: z.enum(changeGrades) });
export const toolChange = named('ToolChange', {
  ...changedDefinition,
  change: z.enum(changeGrades),
  state: z.enum(['pending', 'rejected']),
  changed_at: text,
  id: text,
  hash: text.nullable(),
  approved: definition,
  held: definition,
});
const serverState = z.enum(['starting', 'ready', 'needs_sign_in', 'unavailable', 'refused']);
const inOneWorker = {
  state: serverState,
  isolation: text.optional(),
  reason: text.optional(),
  instances: z.record(text, count).optional().describe('How many programs or connections, by their state'),
  restarts: count.optional().describe('How many of its instances ended by themselves since the worker started'),
  stderr: z.array(text).optional().describe('The last lines that it wrote to stderr, without known secrets'),
};
export const toolServerReport = named('ToolServerReport', {
  name: text,
  ...inOneWorker,
  paths: z.object({ read: z.array(text), write: z.array(text) }).optional(),
  forbids: z.array(text).optional().describe('What its isolation keeps it from'),
  network: text.optional().describe('What it may reach'),
  protocol: text.optional().describe('The version of MCP that it speaks'),
  left_out: z.array(text).optional(),
});
export const toolServer = toolServerReport
  .extend({
    tools: count,
    tokens: count.describe('About how many tokens of a model call the definitions of its tools take together'),
    workers: z.array(z.object({ id: text, ...inOneWorker })),
  })
  .meta({ id: 'ToolServer' });
export const health = z.object({
  status: z.enum(['ok', 'degraded', 'unavailable']),
  service: text,
  reason: text.optional(),
  checks: z.array(
    z.object({
      name: text,
      status: z.enum(['ok', 'degraded', 'down']),
      reason: text.optional(),
      details: anything.optional(),
    }),
  ),
});
