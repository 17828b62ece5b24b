// The events of streams, and errors, as zod schemas for the OpenAPI document.
import { z } from 'zod';
import { errorTable } from '#libs/schemas/errors.js';
import { auditProgress, auditVerification } from './audit-shapes.js';
import { added, anything, usage, named, requiredSignIn } from './open-api-shapes.js';

const text = z.string();
const count = z.int();

const errorCode = z
  .enum(Object.keys(errorTable) as [string, ...string[]])
  .meta({ id: 'ErrorCode', description: 'docs/errors.md says what each means. Newer gateways may have more' });
const errorType = z.enum([...new Set(Object.values(errorTable).map(({ type }) => type))]);
const places = { param: text.optional(), tool_name: text.optional() };
const problem = z
  .object({ message: text, key: text.optional(), line: count.optional(), column: count.optional() })
  .describe('A mistake in a draft of the policy');
export const error = named('Error', {
  error: z.object({
    message: text,
    type: errorType,
    code: errorCode,
    ...places,
    problems: z.array(problem).optional(),
    request_id: text,
  }),
});
export const messageError = named('MessageError', {
  type: z.literal('error'),
  error: z.object({ type: text, message: text, code: errorCode, ...places }),
  request_id: text,
});
export const rpcError = named('RpcError', {
  jsonrpc: z.literal('2.0'),
  error: z.object({
    code: count,
    message: text,
    data: z.object({
      code: errorCode,
      type: errorType,
      ...places,
      retry_after: z.number().optional(),
      request_id: text,
    }),
  }),
  id: z.union([text, z.number(), z.null()]),
});

const chunk = z.object({
  id: text,
  object: z.literal('chat.completion.chunk'),
  created: count,
  model: text,
  choices: z.array(z.object({ index: count, delta: anything, finish_reason: text.nullable() })),
});
export const chatChunk = z
  .union([chunk.extend({ usage: usage.optional(), ...added }), error])
  .meta({ id: 'ChatChunk' });

export const toolResult = named('ToolResult', {
  success: z.boolean(),
  content: text,
  error: z.object({ code: errorCode, message: text }).optional(),
  truncated: z.boolean().optional(),
  cached: z.boolean().optional(),
  duration_ms: z.number(),
  blocks: z.array(anything).optional().describe('Of a call outside of chats, if the result is not only text'),
  structured_content: z.unknown().optional().describe('Of a call outside of chats'),
  meta: anything.optional().describe('Of a call outside of chats, of a tool with an app'),
  session_id: text.optional().describe('Of a call outside of chats'),
});
export const requiredApproval = named('RequiredApproval', {
  id: text,
  kind: z.enum(['approval', 'question']).describe('`question`: a tool server asks something'),
  tool_call_id: text,
  tool: text,
  arguments: anything,
  rule: text.optional().describe('The rule of the policy that asks; `default:…` if none matched'),
  reason: text.optional(),
  message: text.optional().describe('Of a question'),
  schema: anything.optional().describe('Of a question: what its answer looks like'),
  expires_at: text,
});

const event = <Type extends string, Shape extends z.ZodRawShape>(type: Type, members: Shape) =>
  z.object({ type: z.literal(type), ...members, ...chunk.shape });
export const chatEvents = [
  event('start', { run_id: text, session_id: text.optional() }),
  event('content', { delta: z.object({ content: text }) }),
  event('reasoning', { delta: z.object({ reasoning_content: text }) }),
  event('tool_call', { delta: z.object({ tool_calls: z.array(anything) }) }),
  event('tool_progress', {
    tool_call_id: text,
    status: z.enum(['queued', 'running', 'waiting_approval']),
    progress: z.number().optional(),
    total: z.number().optional(),
    message: text.optional(),
  }),
  event('tool_result', { tool_call_id: text, result: toolResult }),
  event('approval_required', { approval: requiredApproval }),
  event('sign_in_required', { sign_in: requiredSignIn }),
  event('rewind', { to: z.number() }),
  event('done', { finish_reason: text, usage, ...added }),
] as const;
export const chatEvent = z.union([...chatEvents, error]).meta({
  id: 'ChatEvent',
  description: 'With `choices`, each event is also an OpenAI chunk. An error ends the stream.',
});
export const auditEvent = z.union([auditProgress, auditVerification, error]).meta({
  id: 'AuditEvent',
  description: 'An error ends the stream.',
});
