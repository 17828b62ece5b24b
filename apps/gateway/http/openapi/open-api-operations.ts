// Descriptions of all routes. The routes come from the controllers: tests fail for a route without a description, and for
// answers that do not match it.
import { z } from 'zod';
import { callToolSchema } from '../controllers/tools.controller.js';
import { showAppSchema } from '../apps/apps.controller.js';
import { createSessionSchema } from '../controllers/sessions.controller.js';
import { adminOperations } from './open-api-admin-operations.js';
import { connectionOperations } from '../connections/connection-operations.js';
import { type DescribedOperation, json, nothing, pageLimit, sse } from './described-operation.js';
import { chatOperations } from './open-api-chat-operations.js';
import { rpcError } from './open-api-events.js';
import { offerOperations } from './offer-operations.js';
import { policyOperations } from './policy-operations.js';
import { runOperations } from './run-operations.js';
import {
  anything,
  approval,
  decidedChange,
  requiredSignIn,
  reviewedChange,
  endedCall,
  fileList,
  health,
  listOf,
  session,
  shownApp,
  tool,
  toolChange,
  toolServer,
  uploadedFile,
} from './open-api-shapes.js';

const text = z.string();
const binary = text.meta({ format: 'binary' });
const listed = (name: string, data: z.ZodType) => z.object({ [name]: z.array(data), has_more: z.boolean() });
const rpcMessage = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.unknown().optional(),
  method: text.optional(),
  params: anything.optional(),
});
const rpcMessages = z.union([rpcMessage, z.array(rpcMessage).min(1).max(16)]);
const mcpMode = {
  mode: z.literal('search').describe('Lists three tools that find, describe and call all others; a session keeps it'),
};
const mcpSession = { 'Mcp-Session-Id': 'Id of a session that `initialize` opened' };
const anyFile = { '*/*': binary };
const ifMatch = { 'If-Match': 'ETag of the expected version', 'If-None-Match': '`*`: only if there is no such file' };
const readConditions = {
  'If-Match': ifMatch['If-Match'],
  'If-Unmodified-Since': 'Date of the expected version',
  'If-None-Match': 'ETag of a copy',
  'If-Modified-Since': 'Date of a copy',
};

export const describedOperations: Readonly<Record<string, DescribedOperation>> = {
  ...chatOperations,
  'GET /api/tools': {
    summary: 'The tools that the caller may use, in OpenAI function form',
    query: {
      include: text.describe(
        'A list of `verdict` and `usage`: what the policy says, and the calls of the last 30 days',
      ),
      toolset: text.describe('Only the tools of this named set, under its names'),
    },
    headers: { 'If-None-Match': 'The ETag of an earlier answer' },
    answers: { 200: json(listOf(tool)), 304: nothing },
  },
  'GET /api/tools/{path}': { summary: 'One tool; its name may contain slashes', answers: { 200: json(tool) } },
  'GET /api/tools/changes': {
    summary: 'Changed definitions of tools, prompts and instructions that are held back; for operators',
    query: { limit: pageLimit(50), after: text.describe('`id` of the last change of the previous page') },
    answers: { 200: json(listed('changes', toolChange)) },
  },
  'POST /api/tools/changes': {
    summary: 'Accepts or rejects changed definitions, all of them or none; for operators',
    body: z.object({
      decision: z.enum(['accept', 'reject']),
      changes: z.array(reviewedChange),
    }),
    answers: { 200: json(z.object({ decided: z.array(decidedChange) })) },
  },
  ...adminOperations,
  ...policyOperations,
  ...connectionOperations,
  'GET /api/servers': {
    summary: 'The tool servers: state, isolation, and why one is not ready; for operators',
    answers: { 200: json(z.object({ servers: z.array(toolServer) })) },
  },
  'POST /api/tools/call': {
    summary: 'Runs one tool through the same queue and journal as a chat',
    description:
      'With `Accept: text/event-stream`, it streams `tool_progress` events, then one `tool_result`. 202: the call needs ' +
      'an approval; once it is given, the same request gets its outcome. Or its caller has to sign in at the tool server, and ' +
      'then repeats the request.',
    headers: { 'Idempotency-Key': 'The same key and body again returns the same call' },
    body: callToolSchema,
    answers: {
      200: { ...json(endedCall), ...sse('ChatEvent') },
      202: json(z.object({ approval }).or(z.object({ sign_in: requiredSignIn }))),
    },
  },
  'POST /api/apps': {
    summary: "What is needed to show the app of a call's tool, for the caller whose call it was",
    description: 'The page is read from the tool server, as any resource. docs/tool-servers.md says how it is shown.',
    body: showAppSchema,
    answers: { 200: json(shownApp) },
  },
  ...offerOperations,
  'POST /mcp': {
    summary: 'The gateway as an MCP server over Streamable HTTP, 2026-07-28 and before (docs/mcp.md)',
    description: 'The code of an error is in `data.code`. 202 is for messages without an answer.',
    headers: mcpSession,
    query: mcpMode,
    body: rpcMessages,
    answers: { 200: { ...json(z.union([anything, z.array(anything)])), ...sse() }, 202: nothing },
    errors: rpcError,
  },
  'GET /mcp': {
    summary: 'The notification stream of an MCP session',
    headers: mcpSession,
    answers: { 200: sse() },
    errors: rpcError,
  },
  'DELETE /mcp': {
    summary: 'Ends an MCP session; its workspace stays',
    headers: mcpSession,
    answers: { 200: nothing },
    errors: rpcError,
  },
  'POST /mcp/{toolset}': {
    summary: 'As /mcp, with exactly the tools of a named set (docs/toolsets.md)',
    description: 'The code of an error is in `data.code`. 202 is for messages without an answer.',
    headers: mcpSession,
    body: rpcMessages,
    answers: { 200: { ...json(z.union([anything, z.array(anything)])), ...sse() }, 202: nothing },
    errors: rpcError,
  },
  'GET /mcp/{toolset}': {
    summary: 'The notification stream of a session of the set',
    headers: mcpSession,
    answers: { 200: sse() },
    errors: rpcError,
  },
  'DELETE /mcp/{toolset}': {
    summary: 'Ends a session of the set; its workspace stays',
    headers: mcpSession,
    answers: { 200: nothing },
    errors: rpcError,
  },
  'GET /sse': {
    summary: 'The gateway as an MCP server for clients of 2024 (HTTP+SSE): opens a session and its stream',
    query: mcpMode,
    answers: { 200: sse() },
    errors: rpcError,
  },
  'POST /sse/messages': {
    summary: 'A message of an HTTP+SSE session; the answer comes on its stream',
    query: { sessionId: text.describe('The session, from the first event of its stream') },
    body: rpcMessages,
    answers: { 202: { 'text/plain': text } },
    errors: rpcError,
  },
  'GET /api/sessions': {
    summary: 'The sessions of the caller, by name; for administrators also those of others',
    query: {
      limit: pageLimit(100),
      after: text.describe('`id` of the last session of the previous page'),
      principal: text.describe('Only for administrators: the owner, or `*` for all sessions, by owner and name'),
      cursor: text.describe('`next_cursor` of the page before, instead of `after`'),
    },
    answers: {
      200: json(z.object({ sessions: z.array(session), has_more: z.boolean(), next_cursor: text.nullable() })),
    },
  },
  'POST /api/sessions': {
    summary: 'Creates a session, or renews an existing one (200)',
    body: createSessionSchema,
    bodyOptional: true,
    answers: { 200: json(session), 201: json(session) },
  },
  'GET /api/sessions/{id}': { summary: 'One session: quota use and expiry', answers: { 200: json(session) } },
  'DELETE /api/sessions/{id}': { summary: 'Deletes a session and its workspace', answers: { 204: nothing } },
  'GET /api/sessions/{id}/files': {
    summary: 'The files of a workspace (at most 10,000), or all of them as an archive',
    query: { archive: z.literal('tar').describe('All files as a tar archive') },
    answers: { 200: { ...json(fileList), 'application/x-tar': binary } },
  },
  'GET /api/sessions/{id}/files/{path}': {
    summary: 'One file, streamed, with a media type by its extension',
    headers: { Range: 'The part to return', 'If-Range': 'ETag of the version for `Range`', ...readConditions },
    answers: { 200: anyFile, 206: anyFile, 304: nothing },
  },
  'HEAD /api/sessions/{id}/files/{path}': {
    summary: 'Size and ETag of one file',
    headers: readConditions,
    answers: { 200: nothing, 304: nothing },
  },
  'PUT /api/sessions/{id}/files/{path}': {
    summary: 'Writes one file (201 if it is new); creates the session if needed',
    body: binary,
    bodyType: '*/*',
    headers: ifMatch,
    answers: { 200: json(uploadedFile), 201: json(uploadedFile) },
  },
  'DELETE /api/sessions/{id}/files/{path}': {
    summary: 'Deletes one file, or a directory',
    headers: { 'If-Match': ifMatch['If-Match'] },
    query: { recursive: z.enum(['true', 'false']).describe('`true`: a directory with its content') },
    answers: { 204: nothing },
  },
  ...runOperations,
  'GET /api/runs/{id}/events': {
    summary: 'The events of a stored run, from any position',
    headers: { 'Last-Event-ID': 'Number of the last event that was received' },
    answers: { 200: sse('ChatEvent') },
  },
  'GET /health/live': {
    summary: 'Whether the process is alive',
    answers: { 200: json(z.object({ status: z.literal('ok') })) },
  },
  'GET /health/ready': {
    summary: 'Whether plain chats can be served (else 503), and what is degraded',
    answers: { 200: json(health), 503: json(health) },
  },
  'GET /metrics': { summary: 'Metrics for Prometheus', answers: { 200: { 'text/plain': text } } },
};
