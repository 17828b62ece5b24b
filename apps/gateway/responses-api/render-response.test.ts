import { expect } from 'vitest';
import { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { readFrames } from '../../../test/support/read-frames.js';
import { turnWithCalls, usageWithDetails } from '../../../test/support/turn-with-calls.js';
import { verifies } from '../../../test/verifies.js';
import { ResponseFold, ResponseSseRenderer } from './render-response.js';
import type { WireResponseEvent, WireItem } from './wire-types.js';

const id = `resp_${'0'.repeat(32)}`;
const rendering = { id, created: 1, echo: { instructions: null, metadata: { a: 'b' } } };

function fold(events: TurnEvent[]) {
  const response = new ResponseFold(rendering);
  for (const event of events) response.add(event);
  return JSON.parse(JSON.stringify(response.answer)) as typeof response.answer;
}

function streamed(events: TurnEvent[]): (WireResponseEvent & { sequence_number: number })[] {
  const renderer = new ResponseSseRenderer(rendering);
  return readFrames(events.map((event) => renderer.render(event)).join('') + renderer.end);
}

const itemId = (kind: string, number: number) => `${kind}_${'0'.repeat(32)}000${number}`;
const text = (said: string) => [{ type: 'output_text', text: said, annotations: [], logprobs: [] }];
const output = [
  { type: 'message', id: itemId('msg', 0), role: 'assistant', status: 'completed', content: text('one') },
  {
    type: 'mcp_call',
    id: 'mcp_a',
    server_label: 'workspace',
    name: 'read_file',
    arguments: '{"path":"x"}',
    status: 'completed',
    output: 'text of x',
    error: null,
    approval_request_id: null,
  },
  { type: 'reasoning', id: itemId('rs', 2), summary: [{ type: 'summary_text', text: 'hm' }] },
  { type: 'message', id: itemId('msg', 3), role: 'assistant', status: 'completed', content: text('two') },
  { type: 'function_call', id: 'fc_b', call_id: 'call_b', name: 'mine', arguments: '{"b":{}}', status: 'completed' },
  { type: 'function_call', id: 'fc_c', call_id: 'call_c', name: 'yours', arguments: '{"c":1}', status: 'completed' },
];

verifies('apis.responses.events', 'the whole response: what was said, what ran here, what the caller is to run', () => {
  expect(fold(turnWithCalls)).toMatchObject({
    id,
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: 'm',
    output,
    error: null,
    incomplete_details: null,
    instructions: null,
    metadata: { a: 'b' },
    usage: {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 1 },
      output_tokens: 2,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 12,
    },
    tool_execution: { rounds: 2 },
  });
});

verifies('apis.responses.events', 'items begin and end once, and their deltas are what they end as', () => {
  const events = streamed(turnWithCalls);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_event, at) => at));
  expect(events[0]).toMatchObject({ type: 'response.created', response: { status: 'in_progress', output: [] } });
  const begun: number[] = [];
  const done = new Map<number, WireItem>();
  const deltas = new Map<string, string>();
  for (const event of events) {
    if (event.type === 'response.output_item.added') begun.push(event.output_index);
    if (event.type === 'response.output_item.done') {
      expect(done.has(event.output_index)).toBe(false);
      done.set(event.output_index, event.item);
    }
    if ('item_id' in event) {
      expect(done.has(event.output_index), event.type).toBe(false);
      if ('delta' in event) deltas.set(event.item_id, (deltas.get(event.item_id) ?? '') + event.delta);
    }
  }
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
  expect([...done].sort(([left], [right]) => left - right).map(([, item]) => item)).toEqual(output);
  expect(new Set(deltas.values())).toEqual(new Set(['one', '{"path":"x"}', 'hm', 'two', '{"b":{}}', '{"c":1}']));
  expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: fold(turnWithCalls) });
});

verifies('apis.responses.events', 'an answer that was cut for its length, a tool that failed', () => {
  const cut: TurnEvent[] = [
    turnWithCalls[0]!,
    {
      type: 'tool_call',
      index: 0,
      clientIndex: null,
      id: 'call_a',
      name: 'x',
      server: 'workspace',
      arguments: '{}',
    },
    { type: 'tool_result', callId: 'call_a', result: { success: false, content: 'no such file', duration_ms: 1 } },
    { type: 'tool_call', index: 1, clientIndex: 0, id: 'call_b', name: 'mine', arguments: '{"a' },
    { type: 'done', finishReason: 'length', usage: usageWithDetails },
  ];
  expect(fold(cut)).toMatchObject({
    status: 'incomplete',
    incomplete_details: { reason: 'max_output_tokens' },
    output: [
      { type: 'mcp_call', status: 'failed', output: null, error: { content: [{ text: 'no such file' }] } },
      { type: 'function_call', status: 'incomplete' },
    ],
  });
  expect(streamed(cut).at(-1)!.type).toBe('response.incomplete');
});

verifies('apis.responses.events', 'a refusal is a part of its own kind', () => {
  const refused: TurnEvent[] = [
    turnWithCalls[0]!,
    { type: 'content', text: '', extras: { delta: { refusal: null } } },
    { type: 'content', text: '', extras: { delta: { refusal: 'I cannot ' } } },
    { type: 'content', text: '', extras: { delta: { refusal: 'do that.' } } },
    { type: 'done', finishReason: 'stop', usage: usageWithDetails },
  ];
  const content = [{ type: 'refusal', refusal: 'I cannot do that.' }];
  expect(fold(refused).output).toEqual([
    { type: 'message', id: itemId('msg', 0), role: 'assistant', status: 'completed', content },
  ]);
  const reported = streamed(refused).filter(({ type }) => type.startsWith('response.refusal'));
  expect(reported).toMatchObject([{ delta: 'I cannot ' }, { delta: 'do that.' }, { refusal: content[0]!.refusal }]);
});

verifies('apis.errors', 'the last events of a response that broke make an SDK throw', () => {
  const renderer = new ResponseSseRenderer(rendering);
  const before = renderer.renderError(new AppError('model_timeout', 'too slow'), 'req_1');
  expect(readFrames(before).map((event) => event['type'])).toEqual(['error']);
  const reported = turnWithCalls.slice(0, 2).map((event) => renderer.render(event));
  const broken = readFrames(reported.join('') + renderer.renderError(new AppError('model_stream_cut', 'cut'), 'req_1'));
  const [failed, error] = broken.slice(-2);
  expect(failed).toMatchObject({
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error', message: 'model_stream_cut: cut' } },
  });
  expect(error).toMatchObject({
    type: 'error',
    code: 'model_stream_cut',
    message: 'cut',
    error: { code: 'model_stream_cut', type: 'upstream_error', request_id: 'req_1' },
  });
});
