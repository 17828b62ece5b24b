// The JSON Schemas of which the OpenAPI document consists.
import { z } from 'zod';
import { messageRequestSchema } from '../../anthropic-api/message-request.schema.js';
import { chatRequestSchema } from '../../openai-api/chat-request.schema.js';
import { responseRequestSchema } from '../../responses-api/response-request.schema.js';

export const object = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
});
export const text = { type: 'string' };
export const textOrNull = { type: ['string', 'null'] };
export const number = { type: 'number' };
export const integer = { type: 'integer' };
export const flag = { type: 'boolean' };
export const list = (items: object) => ({ type: 'array', items });
export const anything = { type: 'object', additionalProperties: true };
export const anyValue = {};
export const choice = (...values: string[]) => ({ type: 'string', enum: values });
export const describedAs = (schema: object, description: string) => ({ ...schema, description });
export const pageLimit = (most: number) => ({ ...integer, minimum: 1, maximum: most, default: 20 });
const time = { type: 'string', format: 'date-time' };

function bodyOf(schema: z.ZodType): object {
  const { $schema: _, ...body } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-2020-12',
  });
  return body;
}
export const chatRequest = bodyOf(chatRequestSchema);
export const messageRequest = bodyOf(messageRequestSchema);
export const messageCountRequest = bodyOf(messageRequestSchema.omit({ max_tokens: true }));
export const responseRequest = bodyOf(responseRequestSchema);

export const completionUsage = object({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer });
export const toolExecution = object({
  executed: flag,
  tools_called: list(text),
  session_id: text,
  workspace_path: text,
  rounds: integer,
  stopped_by: textOrNull,
  calls: list(
    object({ id: text, name: text, server: text, success: flag, duration_ms: number, cached: flag, round: integer }),
  ),
});
/** What was left out of a request, or changed, so that the model could be asked. */
export const warnings = list(object({ message: text, param: text }, ['message']));
export const completion = object(
  {
    id: text,
    object: { const: 'chat.completion' },
    created: integer,
    model: text,
    choices: list(object({ index: integer, message: anything, finish_reason: text })),
    usage: completionUsage,
    tool_execution: toolExecution,
    warnings,
  },
  ['id', 'object', 'created', 'model', 'choices', 'usage'],
);
export const message = object(
  {
    id: text,
    type: { const: 'message' },
    role: { const: 'assistant' },
    model: text,
    content: list(anything),
    stop_reason: { enum: ['end_turn', 'max_tokens', 'tool_use', 'refusal'] },
    usage: object({
      input_tokens: integer,
      output_tokens: integer,
      cache_creation_input_tokens: integer,
      cache_read_input_tokens: integer,
    }),
    tool_execution: toolExecution,
    warnings,
  },
  ['id', 'type', 'role', 'model', 'content', 'stop_reason', 'usage'],
);
export const response = object(
  {
    id: text,
    object: { const: 'response' },
    created_at: integer,
    status: { enum: ['in_progress', 'completed', 'incomplete', 'failed', 'cancelled'] },
    model: text,
    output: list(anything),
    error: { type: ['object', 'null'] },
    incomplete_details: { type: ['object', 'null'] },
    usage: object({ input_tokens: integer, output_tokens: integer, total_tokens: integer }),
    previous_response_id: textOrNull,
    tool_execution: toolExecution,
    warnings,
  },
  ['id', 'object', 'created_at', 'status', 'model', 'output', 'error', 'incomplete_details'],
);
export const model = object({ id: text, object: { const: 'model' }, created: integer, owned_by: text });
export const run = object(
  {
    id: text,
    state: { enum: ['running', 'waiting', 'done', 'failed', 'cancelled', 'interrupted'] },
    session_id: textOrNull,
    created: integer,
    rounds: integer,
    usage: completionUsage,
    tool_execution: toolExecution,
    error: anything,
  },
  ['id', 'state', 'session_id', 'created', 'rounds', 'usage'],
);
const definition = { ...object({ hash: text, definition: anything }), type: ['object', 'null'] };
const serverState = { enum: ['starting', 'ready', 'unavailable', 'refused'] };
export const toolServer = object(
  {
    name: text,
    state: serverState,
    isolation: text,
    paths: object({ read: list(text), write: list(text) }, ['read', 'write']),
    reason: text,
    left_out: list(text),
    tools: integer,
    workers: list(object({ id: text, state: serverState, isolation: text, reason: text }, ['id', 'state'])),
  },
  ['name', 'state', 'tools', 'workers'],
);
export const toolChange = object({
  server: text,
  tool: text,
  change: { enum: ['cosmetic', 'wording', 'contract', 'new', 'removed'] },
  state: { enum: ['pending', 'rejected'] },
  changed_at: text,
  id: text,
  hash: textOrNull,
  approved: definition,
  held: definition,
});
export const session = object({
  id: text,
  object: { const: 'session' },
  created_at: time,
  expires_at: time,
  workspace_path: text,
  metadata: anything,
  usage: object({ bytes: integer, files: integer }),
  limits: object({ bytes: integer, files: integer, depth: integer }),
});
export const fileEntry = object(
  { path: text, type: choice('file', 'directory', 'link', 'other'), size: integer, modified_at: time, etag: text },
  ['path', 'type', 'size', 'modified_at'],
);
export const tool = object(
  {
    type: { const: 'function' },
    function: object({ name: text, description: text, parameters: anything }),
    server: text,
    annotations: anything,
    requires_approval: flag,
    available: flag,
    title: text,
    output_schema: anything,
    metadata: anything,
  },
  ['type', 'function', 'server', 'annotations', 'requires_approval', 'available'],
);
export const callResult = object(
  {
    success: { const: true },
    content: text,
    blocks: list(anything),
    structured_content: anyValue,
    id: text,
    session_id: text,
    duration_ms: number,
    cached: flag,
    truncated: flag,
  },
  ['success', 'content', 'id', 'session_id', 'duration_ms', 'cached'],
);
export const health = object(
  {
    status: { enum: ['ok', 'degraded', 'unavailable'] },
    service: text,
    reason: text,
    checks: list(
      object({ name: text, status: { enum: ['ok', 'degraded', 'down'] }, reason: text, details: anything }, [
        'name',
        'status',
      ]),
    ),
  },
  ['status', 'service', 'checks'],
);

export const json = (schema: object) => ({ 'application/json': schema });
/** An answer without a body. */
export const nothing = {};
/** A stream. `event` is the schema of each `data:` line except `[DONE]`. */
export const sse = (event?: 'ChatChunk' | 'ChatEvent') => ({
  'text/event-stream': {
    ...text,
    ...(event === undefined ? {} : { 'x-event-schema': { $ref: `#/components/schemas/${event}` } }),
  },
});
export const chatHeaders = {
  'Idempotency-Key': 'The same key and body again attaches to the same run, or returns its answer',
  'x-request-id': 'Returned in the answer; generated if absent',
};
