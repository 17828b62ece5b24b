// What the OpenAPI document says of each route. The routes themselves come from the controllers: a route that is not
// described here fails a test, a description without a route is left out.
import {
  anything,
  chatHeaders,
  chatRequest,
  completion,
  flag,
  health,
  integer,
  json,
  list,
  message,
  messageCountRequest,
  messageRequest,
  model,
  number,
  object,
  response,
  responseRequest,
  run,
  session,
  text,
  toolChange,
  toolServer,
} from './open-api-shapes.js';

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
    body: messageRequest,
    headers: { ...chatHeaders, 'anthropic-version': 'Accepted', 'x-api-key': 'Accepted' },
    answers: { ...json(message), 'text/event-stream': text },
  },
  'POST /v1/messages/count_tokens': {
    summary: 'The tokens that a message would have, where its model counts them (Anthropic, Gemini)',
    tag: 'chat',
    body: messageCountRequest,
    answers: json(object({ input_tokens: integer })),
  },
  'POST /v1/responses': {
    summary: "A chat turn in OpenAI's responses dialect",
    tag: 'chat',
    body: responseRequest,
    headers: chatHeaders,
    answers: { ...json(response), 'text/event-stream': text },
  },
  'GET /v1/responses/{id}': {
    summary: 'A stored response',
    tag: 'chat',
    query: { stream: '`true`: as a stream, from its beginning' },
    answers: { ...json(response), 'text/event-stream': text },
  },
  'POST /v1/responses/input_tokens': {
    summary: 'The tokens that a response would be asked with, where its model counts them (Anthropic, Gemini)',
    tag: 'chat',
    body: responseRequest,
    answers: json(object({ object: { const: 'response.input_tokens' }, input_tokens: integer })),
  },
  'GET /v1/responses/{id}/input_items': {
    summary: 'What a stored response was asked, with the conversation before it',
    tag: 'chat',
    query: {
      limit: '1 to 100; 20 unless given',
      order: 'asc or desc (unless given)',
      after: '`id` of the last item of the page before',
    },
    answers: json(object({ object: { const: 'list' }, data: list(anything), has_more: flag })),
  },
  'POST /v1/responses/{id}/cancel': {
    summary: 'Cancels a response that goes on without its caller; one that is over is told as it is',
    tag: 'chat',
    answers: json(response),
  },
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
  'GET /api/tools/changes': {
    summary: 'Changed definitions of tools that are held back; for operators',
    tag: 'tools',
    query: { limit: '1 to 50; 20 unless given', after: '`id` of the last change of the page before' },
    answers: json(object({ changes: list(toolChange), has_more: flag })),
  },
  'POST /api/tools/changes': {
    summary: 'Accepts or rejects changed definitions, all of them or none; for operators',
    tag: 'tools',
    body: object({
      decision: { enum: ['accept', 'reject'] },
      changes: list(object({ server: text, tool: text, hash: { type: ['string', 'null'] } })),
    }),
    answers: json(object({ decided: list(object({ server: text, tool: text, change: text })) })),
  },
  'GET /api/servers': {
    summary: 'The tool servers: state, isolation, and why one is not ready; for operators',
    tag: 'tools',
    answers: json(object({ servers: list(toolServer) })),
  },
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
  'GET /api/sessions': { summary: 'The sessions of the caller', tag: 'sessions' },
  'POST /api/sessions': {
    summary: 'Makes a session',
    tag: 'sessions',
    body: object({ session_id: text, metadata: anything }, []),
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
