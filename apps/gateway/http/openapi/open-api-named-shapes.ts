// The named schemas of the OpenAPI document: errors, and the events of streams.
import { errorTable } from '#libs/schemas/errors.js';
import {
  anything,
  choice,
  completionUsage,
  integer,
  list,
  number,
  object,
  text,
  textOrNull,
  toolExecution,
  warnings,
} from './open-api-shapes.js';

const codes = { enum: Object.keys(errorTable) };
const types = { enum: [...new Set(Object.values(errorTable).map(({ type }) => type))] };
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
const places = { param: text, tool_name: text };

/** `more`: members besides those of every chunk. */
const chunk = (more: Record<string, object> = {}, optional: Record<string, object> = {}) =>
  object(
    {
      ...more,
      id: text,
      object: { const: 'chat.completion.chunk' },
      created: integer,
      model: text,
      choices: list(object({ index: integer, delta: anything, finish_reason: textOrNull })),
      ...optional,
    },
    [...Object.keys(more), 'id', 'object', 'created', 'model', 'choices'],
  );
const event = (type: string, more: Record<string, object>, optional: Record<string, object> = {}) =>
  chunk({ type: { const: type }, ...more }, optional);

const toolResult = object(
  {
    success: { type: 'boolean' },
    content: text,
    error: object({ code: text, message: text }),
    truncated: { type: 'boolean' },
    cached: { type: 'boolean' },
    duration_ms: number,
  },
  ['success', 'content', 'duration_ms'],
);

const approvalRequest = object(
  {
    id: text,
    kind: choice('approval', 'question'),
    tool_call_id: text,
    tool: text,
    arguments: anything,
    rule: text,
    reason: text,
    message: text,
    schema: anything,
    expires_at: text,
  },
  ['id', 'kind', 'tool_call_id', 'tool', 'arguments', 'expires_at'],
);

export const namedShapes: Record<string, object> = {
  Error: object({
    error: object({ message: text, type: types, code: codes, ...places, request_id: text }, [
      'message',
      'type',
      'code',
      'request_id',
    ]),
  }),
  MessageError: object({
    type: { const: 'error' },
    error: object({ type: text, message: text, code: codes, ...places }, ['type', 'message', 'code']),
    request_id: text,
  }),
  RpcError: object({
    jsonrpc: { const: '2.0' },
    error: object({
      code: integer,
      message: text,
      data: object({ code: codes, type: types, ...places, retry_after: number, request_id: text }, [
        'code',
        'type',
        'request_id',
      ]),
    }),
    id: { type: ['string', 'number', 'null'] },
  }),
  ChatChunk: { anyOf: [chunk({}, { usage: completionUsage, tool_execution: toolExecution, warnings }), ref('Error')] },
  ChatEvent: {
    description: 'With `choices`, each event is also an OpenAI chunk. An error ends the stream.',
    anyOf: [
      event('start', { run_id: text }, { session_id: text }),
      event('content', { delta: object({ content: text }) }),
      event('reasoning', { delta: object({ reasoning_content: text }) }),
      event('tool_call', { delta: object({ tool_calls: list(anything) }) }),
      event(
        'tool_progress',
        { tool_call_id: text, status: choice('queued', 'running', 'waiting_approval') },
        { progress: number, total: number, message: text },
      ),
      event('tool_result', { tool_call_id: text, result: toolResult }),
      event('approval_required', { approval: approvalRequest }),
      event('rewind', { to: number }),
      event('done', { finish_reason: text, usage: completionUsage }, { tool_execution: toolExecution, warnings }),
      ref('Error'),
    ],
  },
};
