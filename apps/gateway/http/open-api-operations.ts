// What the OpenAPI document says of each route. The routes themselves come from the controllers: a route that is not
// described here fails a test, a description without a route is left out.
import { z } from 'zod';
import { messageRequestSchema } from '../anthropic-api/message-request.schema.js';
import { chatRequestSchema } from '../openai-api/chat-request.schema.js';
import { responseRequestSchema } from '../responses-api/response-request.schema.js';

export interface DescribedOperation {
  summary: string;
  tag: 'chat' | 'models' | 'tools' | 'sessions' | 'runs' | 'operations';
  description?: string;
  /** JSON body. */
  body?: object;
  /** Body that is no JSON. */
  binaryBody?: boolean;
  headers?: Record<string, string>;
  query?: Record<string, string>;
  /** Media type to what it carries; absent: an object. */
  answers?: Record<string, object>;
  status?: number;
}

const object = (properties: Record<string, object>, required = Object.keys(properties)) => ({
  type: 'object',
  properties,
  required,
});
const text = { type: 'string' };
const number = { type: 'number' };
const integer = { type: 'integer' };
const flag = { type: 'boolean' };
const list = (items: object) => ({ type: 'array', items });
const anything = { type: 'object', additionalProperties: true };

function bodyOf(schema: z.ZodType): object {
  const { $schema: _, ...body } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-2020-12',
  });
  return body;
}
const chatRequest = bodyOf(chatRequestSchema);

const usage = object({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer });
const toolExecution = object({
  executed: flag,
  tools_called: list(text),
  session_id: text,
  workspace_path: text,
  rounds: integer,
  stopped_by: { type: ['string', 'null'] },
  calls: list(
    object({ id: text, name: text, server: text, success: flag, duration_ms: number, cached: flag, round: integer }),
  ),
});
const completion = object(
  {
    id: text,
    object: { const: 'chat.completion' },
    created: integer,
    model: text,
    choices: list(object({ index: integer, message: anything, finish_reason: text })),
    usage,
    tool_execution: toolExecution,
  },
  ['id', 'object', 'created', 'model', 'choices', 'usage'],
);
const message = object(
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
  },
  ['id', 'type', 'role', 'model', 'content', 'stop_reason', 'usage'],
);
const response = object(
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
    previous_response_id: { type: ['string', 'null'] },
    tool_execution: toolExecution,
  },
  ['id', 'object', 'created_at', 'status', 'model', 'output', 'error', 'incomplete_details'],
);
const model = object({ id: text, object: { const: 'model' }, created: integer, owned_by: text });
const run = object(
  {
    id: text,
    state: { enum: ['running', 'waiting', 'done', 'failed', 'cancelled', 'interrupted'] },
    session_id: { type: ['string', 'null'] },
    created: integer,
    rounds: integer,
    usage,
    tool_execution: toolExecution,
    error: anything,
  },
  ['id', 'state', 'session_id', 'created', 'rounds', 'usage'],
);
const session = object({ id: text, created: integer, expires_at: integer }, ['id']);
const health = object(
  {
    status: { enum: ['ok', 'degraded', 'unavailable'] },
    service: text,
    reason: text,
    checks: list(
      object({ name: text, status: { enum: ['ok', 'degraded', 'down'] }, reason: text }, ['name', 'status']),
    ),
  },
  ['status', 'service', 'checks'],
);

const json = (schema: object) => ({ 'application/json': schema });
const chatHeaders = {
  'Idempotency-Key': 'The same key and body again attaches to the same run, or returns its answer',
  'x-request-id': 'Echoed, else made',
};

export const describedOperations: Readonly<Record<string, DescribedOperation>> = {
  'POST /v1/chat/completions': {
    summary: 'A chat turn in the strict OpenAI dialect',
    tag: 'chat',
    body: chatRequest,
    headers: chatHeaders,
    answers: { ...json(completion), 'text/event-stream': text },
  },
  'POST /api/chat/completions': {
    summary: 'A chat turn as typed events that are also OpenAI chunks',
    tag: 'chat',
    body: chatRequest,
    headers: chatHeaders,
    answers: { ...json(completion), 'text/event-stream': text },
  },
  'POST /v1/messages': {
    summary: "A chat turn in Anthropic's messages dialect",
    description: "Errors have Anthropic's shape. An `mcp_toolset` names a configured server.",
    tag: 'chat',
    body: bodyOf(messageRequestSchema),
    headers: { ...chatHeaders, 'anthropic-version': 'Accepted', 'x-api-key': 'Accepted' },
    answers: { ...json(message), 'text/event-stream': text },
  },
  'POST /v1/responses': {
    summary: "A chat turn in OpenAI's responses dialect",
    tag: 'chat',
    body: bodyOf(responseRequestSchema),
    headers: chatHeaders,
    answers: { ...json(response), 'text/event-stream': text },
  },
  'GET /v1/responses/{id}': { summary: 'A stored response', tag: 'chat', answers: json(response) },
  'DELETE /v1/responses/{id}': {
    summary: 'Forgets a stored response',
    tag: 'chat',
    answers: json(object({ id: text, object: { const: 'response' }, deleted: { const: true } })),
  },
  'GET /v1/models': {
    summary: 'Every configured model and alias',
    tag: 'models',
    answers: json(object({ object: { const: 'list' }, data: list(model) })),
  },
  'GET /v1/models/{path}': { summary: 'One model; its name may contain slashes', tag: 'models', answers: json(model) },
  'GET /api/tools': {
    summary: 'The tools that the caller may use, in OpenAI function form',
    tag: 'tools',
    headers: { 'If-None-Match': 'The ETag of an earlier answer: 304 when nothing changed' },
  },
  'GET /api/tools/{path}': { summary: 'One tool; its name may contain slashes', tag: 'tools' },
  'POST /api/tools/call': {
    summary: 'Runs one tool through the same queue and journal as a chat',
    tag: 'tools',
    headers: { 'Idempotency-Key': 'The same key and body again returns the same call' },
    body: object({ name: text, arguments: anything, session_id: text, timeout_ms: integer }, ['name']),
    answers: {
      ...json(
        object(
          {
            success: flag,
            content: text,
            blocks: list(anything),
            structured_content: anything,
            id: text,
            session_id: text,
            duration_ms: number,
            cached: flag,
            truncated: flag,
          },
          ['success', 'content', 'id', 'session_id', 'duration_ms', 'cached'],
        ),
      ),
      'text/event-stream': text,
    },
  },
  'POST /mcp': {
    summary: 'The gateway as an MCP server over Streamable HTTP, 2026-07-28 and before (docs/mcp.md)',
    description: 'Errors are JSON-RPC errors with our code in `data.code`.',
    tag: 'tools',
    headers: { 'Mcp-Session-Id': 'Of a session that `initialize` opened' },
    body: object({ jsonrpc: { const: '2.0' }, id: {}, method: text, params: anything }, ['jsonrpc', 'method']),
    answers: { ...json(anything), 'text/event-stream': text },
  },
  'GET /mcp': {
    summary: 'What an MCP session is told beside its answers',
    tag: 'tools',
    headers: { 'Mcp-Session-Id': 'The session' },
    answers: { 'text/event-stream': text },
  },
  'DELETE /mcp': {
    summary: 'Ends an MCP session; its workspace stays',
    tag: 'tools',
    headers: { 'Mcp-Session-Id': 'The session' },
  },
  'GET /sse': {
    summary: 'The gateway as an MCP server for clients of 2024 (HTTP+SSE): a session, and what it is told',
    tag: 'tools',
    answers: { 'text/event-stream': text },
  },
  'POST /sse/messages': {
    summary: 'Messages of such a session; they are answered on its stream',
    tag: 'tools',
    query: { sessionId: 'The session, as its stream names it' },
    body: object({ jsonrpc: { const: '2.0' }, id: {}, method: text, params: anything }, ['jsonrpc', 'method']),
    answers: { 'text/plain': text },
    status: 202,
  },
  'GET /api/servers': { summary: 'Tool servers with their state', tag: 'tools' },
  'GET /api/sessions': { summary: 'The sessions of the caller', tag: 'sessions' },
  'POST /api/sessions': {
    summary: 'Makes a session',
    tag: 'sessions',
    body: object({ id: text, metadata: anything }, []),
    answers: json(session),
    status: 201,
  },
  'GET /api/sessions/{id}': { summary: 'One session: quota use and expiry', tag: 'sessions', answers: json(session) },
  'DELETE /api/sessions/{id}': { summary: 'Deletes a session and its workspace', tag: 'sessions' },
  'GET /api/sessions/{id}/files': {
    summary: 'The files of a workspace',
    tag: 'sessions',
    query: { archive: '`tar`: all of them as one archive' },
  },
  'GET /api/sessions/{id}/files/{path}': {
    summary: 'One file, streamed',
    tag: 'sessions',
    headers: { Range: 'A part of it', 'If-None-Match': 'ETag of a copy' },
    answers: { 'application/octet-stream': { type: 'string', format: 'binary' } },
  },
  'HEAD /api/sessions/{id}/files/{path}': { summary: 'Size and ETag of one file', tag: 'sessions' },
  'PUT /api/sessions/{id}/files/{path}': {
    summary: 'Writes one file',
    tag: 'sessions',
    binaryBody: true,
    headers: { 'If-Match': 'ETag of the version to replace' },
  },
  'DELETE /api/sessions/{id}/files/{path}': { summary: 'Deletes one file', tag: 'sessions' },
  'GET /api/runs/{id}': { summary: 'A stored run', tag: 'runs', answers: json(run) },
  'GET /api/runs/{id}/events': {
    summary: 'The events of a stored run, from any number on',
    tag: 'runs',
    headers: { 'Last-Event-ID': 'Number of the last event that was seen' },
    answers: { 'text/event-stream': text },
  },
  'DELETE /api/runs/{id}': { summary: 'Cancels a run', tag: 'runs', answers: json(run) },
  'GET /health/live': { summary: 'Whether the process turns', tag: 'operations' },
  'GET /health/ready': {
    summary: 'Whether a plain chat can be served, and what is degraded',
    tag: 'operations',
    answers: json(health),
  },
  'GET /metrics': { summary: 'Metrics for Prometheus', tag: 'operations', answers: { 'text/plain': text } },
};
