import { expect } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { readFrames } from '../../../test/support/read-frames.js';
import {
  turnExecution,
  turnWithCalls as turn,
  usageWithDetails as usage,
} from '../../../test/support/turn-with-calls.js';
import { verifies } from '../../../test/verifies.js';
import { renderMessageError } from './render-message-error.js';
import { MessageFold, MessageSseRenderer } from './render-message.js';
import type { WireEvent } from './wire-types.js';

function fold(events: TurnEvent[]) {
  const message = new MessageFold('msg_1');
  for (const event of events) message.add(event);
  return message.answer;
}

function streamed(events: TurnEvent[]): WireEvent[] {
  const renderer = new MessageSseRenderer('msg_1');
  return readFrames(events.map((event) => renderer.render(event)).join('') + renderer.end);
}

verifies(
  'apis.messages.events',
  'the whole message: text, calls that ran here with their results, calls of the caller',
  () => {
    expect(fold(turn)).toEqual({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [
        { type: 'text', text: 'one', citations: null },
        { type: 'mcp_tool_use', id: 'mcptoolu_a', name: 'read_file', server_name: 'workspace', input: { path: 'x' } },
        {
          type: 'mcp_tool_result',
          tool_use_id: 'mcptoolu_a',
          is_error: false,
          content: [{ type: 'text', text: 'text of x', citations: null }],
        },
        { type: 'thinking', thinking: 'hm', signature: '' },
        { type: 'text', text: 'two', citations: null },
        { type: 'tool_use', id: 'call_b', name: 'mine', input: { b: {} } },
        { type: 'tool_use', id: 'call_c', name: 'yours', input: { c: 1 } },
      ],
      stop_reason: 'tool_use',
      stop_sequence: null,
      stop_details: null,
      container: null,
      usage: {
        input_tokens: 5,
        output_tokens: 2,
        cache_creation_input_tokens: 1,
        cache_read_input_tokens: 4,
      },
      tool_execution: turnExecution,
    });
  },
);

verifies('apis.messages.events', 'blocks begin, grow and end in order, also of calls that come interleaved', () => {
  const events = streamed(turn);
  expect(events[0]!.type).toBe('message_start');
  expect(events.slice(-2).map(({ type }) => type)).toEqual(['message_delta', 'message_stop']);
  let open: number | undefined;
  let next = 0;
  for (const event of events.slice(1, -2)) {
    if (event.type === 'content_block_start') {
      expect([open, event.index]).toEqual([undefined, next]);
      open = event.index;
    } else if (event.type === 'content_block_delta') expect(event.index).toBe(open);
    else if (event.type === 'content_block_stop') {
      expect(event.index).toBe(open);
      open = undefined;
      next++;
    } else throw new Error(`${event.type} in the middle`);
  }
  expect([open, next]).toEqual([undefined, 7]);
});

verifies('apis.messages.events', 'the first call is emitted while it comes', () => {
  const renderer = new MessageSseRenderer('msg_1');
  const reported = turn.slice(0, 4).map((event) => renderer.render(event));
  expect(reported[3]).toContain('{\\"path\\":\\"x\\"}');
});

verifies('apis.messages.events', 'a call that was cut never became one', () => {
  const cut: TurnEvent[] = [
    turn[0]!,
    { type: 'tool_call', index: 0, clientIndex: 0, id: 'call_b', name: 'mine', arguments: '{"a' },
    { type: 'done', finishReason: 'length', usage },
  ];
  expect(fold(cut)).toMatchObject({ stop_reason: 'max_tokens', content: [] });
});

verifies('apis.messages.events', 'why it stopped', () => {
  const reasons = (['stop', 'length', 'content_filter'] as const).map((finishReason) => {
    const { stop_reason } = fold([turn[0]!, { type: 'done', finishReason, usage }]);
    return stop_reason;
  });
  expect(reasons).toEqual(['end_turn', 'max_tokens', 'refusal']);
});

verifies('apis.messages.events', 'a refusal is its text and why it stopped', () => {
  const pieces = ['I cannot ', 'do that.'].map((refusal): TurnEvent => {
    return { type: 'content', text: '', extras: { delta: { refusal } } };
  });
  const refused = fold([turn[0]!, ...pieces, { type: 'done', finishReason: 'stop', usage }]);
  expect(refused).toMatchObject({ stop_reason: 'refusal', content: [{ type: 'text', text: 'I cannot do that.' }] });
});

verifies('apis.errors', 'in Anthropic’s shape, and as the last event of a stream', () => {
  const error = new AppError('invalid_value', 'temperature: too hot', { param: 'temperature' });
  const shown = renderMessageError(error, 'req_1');
  expect(shown).toEqual({
    type: 'error',
    error: {
      type: 'invalid_request_error',
      message: 'temperature: too hot',
      code: 'invalid_value',
      param: 'temperature',
    },
    request_id: 'req_1',
  });
  const streamedError = new MessageSseRenderer('msg_1').renderError(error, 'req_1');
  expect(streamedError).toBe(`event: error\ndata: ${JSON.stringify(shown)}\n\n`);
  const types = (
    ['model_not_found', 'request_too_large', 'concurrency_exceeded', 'model_error', 'no_worker'] as const
  ).map((code) => renderMessageError(new AppError(code, 'x'), 'r').error.type);
  expect(types).toEqual(['not_found_error', 'request_too_large', 'rate_limit_error', 'api_error', 'overloaded_error']);
});

verifies('apis.messages.events', 'silence is broken by pings', () => {
  expect(readFrames(new MessageSseRenderer('msg_1').keepAlive)).toEqual([{ type: 'ping' }]);
});
