// What the OpenAPI document says of each route. The routes themselves come from the controllers: a route that is not
// described here fails a test, a description without a route is left out; another test holds real answers against it.
import type { DescribedOperation } from './described-operation.js';
import { chatOperations } from './open-api-chat-operations.js';
import { approval, approvalOperations } from '../admin/open-api-approval-operations.js';
import { keyOperations } from '../admin/open-api-key-operations.js';
import {
  anything,
  callResult,
  choice,
  describedAs,
  fileEntry,
  flag,
  health,
  integer,
  json,
  list,
  nothing,
  object,
  pageLimit,
  run,
  session,
  sse,
  text,
  tool,
  toolChange,
  toolServer,
} from './open-api-shapes.js';

const listed = (name: string, data: object) => object({ [name]: list(data), has_more: flag });
const rpcMessage = object({ jsonrpc: { const: '2.0' }, id: {}, method: text, params: anything }, ['jsonrpc']);
const rpcMessages = { anyOf: [rpcMessage, { type: 'array', items: rpcMessage, minItems: 1, maxItems: 16 }] };
const mcpSession = { 'Mcp-Session-Id': 'Of a session that `initialize` opened' };
const anyFile = { '*/*': { type: 'string', format: 'binary' } };
const ifMatch = { 'If-Match': 'ETag of the version that is meant', 'If-None-Match': '`*`: only where there is none' };
const readConditions = {
  'If-Match': ifMatch['If-Match'],
  'If-Unmodified-Since': 'Date of the version that is meant',
  'If-None-Match': 'ETag of a copy',
  'If-Modified-Since': 'Date of a copy',
};

export const describedOperations: Readonly<Record<string, DescribedOperation>> = {
  ...chatOperations,
  'GET /api/tools': {
    summary: 'The tools that the caller may use, in OpenAI function form',
    tag: 'tools',
    headers: { 'If-None-Match': 'The ETag of an earlier answer' },
    answers: { 200: json(object({ object: { const: 'list' }, data: list(tool) })), 304: nothing },
  },
  'GET /api/tools/{path}': {
    summary: 'One tool; its name may contain slashes',
    tag: 'tools',
    answers: { 200: json(tool) },
  },
  'GET /api/tools/changes': {
    summary: 'Changed tool definitions that are held back; for operators',
    tag: 'tools',
    query: { limit: pageLimit(50), after: describedAs(text, '`id` of the last change of the page before') },
    answers: { 200: json(listed('changes', toolChange)) },
  },
  'POST /api/tools/changes': {
    summary: 'Accepts or rejects changed definitions, all of them or none; for operators',
    tag: 'tools',
    body: object({
      decision: choice('accept', 'reject'),
      changes: list(object({ server: text, tool: text, hash: { type: ['string', 'null'] } })),
    }),
    answers: { 200: json(object({ decided: list(object({ server: text, tool: text, change: text })) })) },
  },
  ...keyOperations,
  ...approvalOperations,
  'GET /api/servers': {
    summary: 'The tool servers: state, isolation, and why one is not ready; for operators',
    tag: 'tools',
    answers: { 200: json(object({ servers: list(toolServer) })) },
  },
  'POST /api/tools/call': {
    summary: 'Runs one tool through the same queue and journal as a chat',
    description:
      'With `Accept: text/event-stream` it tells `tool_progress` as it comes, then one `tool_result`. 202: the call needs an ' +
      'approval; once that is given, the same request again runs it.',
    tag: 'tools',
    headers: { 'Idempotency-Key': 'The same key and body again returns the same call' },
    body: object({ name: text, arguments: anything, session_id: text, timeout_ms: integer }, ['name']),
    answers: { 200: { ...json(callResult), ...sse('ChatEvent') }, 202: json(object({ approval })) },
  },
  'POST /mcp': {
    summary: 'The gateway as an MCP server over Streamable HTTP, 2026-07-28 and before (docs/mcp.md)',
    description: 'Our code is in `data.code` of an error. 202: messages that have no answer.',
    tag: 'tools',
    headers: mcpSession,
    body: rpcMessages,
    answers: { 200: { ...json({ type: ['object', 'array'] }), ...sse() }, 202: nothing },
    errors: 'RpcError',
  },
  'GET /mcp': {
    summary: 'The notification stream of an MCP session',
    tag: 'tools',
    headers: mcpSession,
    answers: { 200: sse() },
    errors: 'RpcError',
  },
  'DELETE /mcp': {
    summary: 'Ends an MCP session; its workspace stays',
    tag: 'tools',
    headers: mcpSession,
    answers: { 200: nothing },
    errors: 'RpcError',
  },
  'GET /sse': {
    summary: 'The gateway as an MCP server for clients of 2024 (HTTP+SSE): opens a session and its stream',
    tag: 'tools',
    answers: { 200: sse() },
    errors: 'RpcError',
  },
  'POST /sse/messages': {
    summary: 'A message of such a session; the answer comes on its stream',
    tag: 'tools',
    query: { sessionId: describedAs(text, 'The session, as its stream names it') },
    body: rpcMessages,
    answers: { 202: { 'text/plain': text } },
    errors: 'RpcError',
  },
  'GET /api/sessions': {
    summary: 'The sessions of the caller',
    tag: 'sessions',
    query: { limit: pageLimit(100), after: describedAs(text, '`id` of the last session of the page before') },
    answers: { 200: json(listed('sessions', session)) },
  },
  'POST /api/sessions': {
    summary: 'Creates a session, or renews the one of this name (200)',
    tag: 'sessions',
    body: object({ session_id: text, metadata: anything }, []),
    bodyOptional: true,
    answers: { 200: json(session), 201: json(session) },
  },
  'GET /api/sessions/{id}': {
    summary: 'One session: quota use and expiry',
    tag: 'sessions',
    answers: { 200: json(session) },
  },
  'DELETE /api/sessions/{id}': {
    summary: 'Deletes a session and its workspace',
    tag: 'sessions',
    answers: { 204: nothing },
  },
  'GET /api/sessions/{id}/files': {
    summary: 'The files of a workspace, 10,000 at most, or all of them as one archive',
    tag: 'sessions',
    query: { archive: describedAs({ const: 'tar' }, 'All of them as one archive') },
    answers: {
      200: {
        ...json(object({ session_id: text, files: list(fileEntry), truncated: flag })),
        'application/x-tar': { type: 'string', format: 'binary' },
      },
    },
  },
  'GET /api/sessions/{id}/files/{path}': {
    summary: 'One file, streamed, with the media type of its name',
    tag: 'sessions',
    headers: { Range: 'A part of it', 'If-Range': 'ETag that the part is of', ...readConditions },
    answers: { 200: anyFile, 206: anyFile, 304: nothing },
  },
  'HEAD /api/sessions/{id}/files/{path}': {
    summary: 'Size and ETag of one file',
    tag: 'sessions',
    headers: readConditions,
    answers: { 200: nothing, 304: nothing },
  },
  'PUT /api/sessions/{id}/files/{path}': {
    summary: 'Writes one file (201 if it is new); creates the session if needed',
    tag: 'sessions',
    binaryBody: true,
    headers: ifMatch,
    answers: Object.fromEntries(
      [200, 201].map((status) => [status, json(object({ path: text, size: integer, etag: text, created: flag }))]),
    ),
  },
  'DELETE /api/sessions/{id}/files/{path}': {
    summary: 'Deletes one file, or a directory',
    tag: 'sessions',
    headers: { 'If-Match': ifMatch['If-Match'] },
    query: { recursive: describedAs(choice('true', 'false'), '`true`: a directory with all that is in it') },
    answers: { 204: nothing },
  },
  'GET /api/runs/{id}': { summary: 'A stored run', tag: 'runs', answers: { 200: json(run) } },
  'GET /api/runs/{id}/events': {
    summary: 'The events of a stored run, from any event on',
    tag: 'runs',
    headers: { 'Last-Event-ID': 'Number of the last event that was seen' },
    answers: { 200: sse('ChatEvent') },
  },
  'DELETE /api/runs/{id}': {
    summary: 'Cancels a run; one that has ended is returned unchanged',
    tag: 'runs',
    answers: { 200: json(run) },
  },
  'GET /health/live': {
    summary: 'Whether the process is alive',
    tag: 'operations',
    answers: { 200: json(object({ status: { const: 'ok' } })) },
  },
  'GET /health/ready': {
    summary: 'Whether plain chats can be served (else 503), and what is degraded',
    tag: 'operations',
    answers: { 200: json(health), 503: json(health) },
  },
  'GET /metrics': { summary: 'Metrics for Prometheus', tag: 'operations', answers: { 200: { 'text/plain': text } } },
};
