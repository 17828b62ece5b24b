import { expect, test } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import { answering } from '../../../../test/support/one-by-one.js';
import { openAiQuirks, quirkBody } from '../../../../test/fixtures/openai-quirks.js';
import { verifies } from '../../../../test/verifies.js';
import { readAnswer } from '../wire/read-answer.js';
import { createErrorReader } from '../wire/read-upstream-error.js';
import { mapToolNames } from '../conversation/tool-names.js';
import { OpenAiAnswerReader } from './read-openai-chunk.js';
import { readOpenAiError } from './read-openai-error.js';

async function read(pieces: Uint8Array[], type = 'text/event-stream', storeReasoning = false): Promise<ModelEvent[]> {
  const waiting = [...pieces];
  const answer = answering(type, () => waiting.shift());
  const reading = {
    provider: 'p',
    model: 'asked',
    names: mapToolNames([]),
    errors: createErrorReader({ provider: 'p', secrets: [], readError: readOpenAiError }),
    storeReasoning,
  };
  const events: ModelEvent[] = [];
  const bounds = { provider: 'p', maxEventChars: 1_000_000 };
  await readAnswer(answer, new OpenAiAnswerReader(reading), bounds, (batch) => void events.push(...batch));
  return events;
}

const readWhole = (body: unknown) => read([Buffer.from(JSON.stringify(body))], 'application/json; charset=utf-8');

for (const quirk of openAiQuirks) {
  verifies('models.openai.quirks', quirk.name, async () => {
    expect(foldEvents(await read([quirkBody(quirk)]))).toMatchObject(quirk.expected);
  });
}

verifies('models.openai.byte-boundaries', 'every fixture cut at every byte, and in single bytes', async () => {
  for (const quirk of openAiQuirks) {
    const body = quirkBody(quirk);
    const whole = await read([body]);
    for (let cut = 1; cut < body.length; cut += 1) {
      const events = await read([body.subarray(0, cut), body.subarray(cut)]);
      if (JSON.stringify(events) !== JSON.stringify(whole)) expect(events, `${quirk.name} at ${cut}`).toEqual(whole);
    }
    expect(await read([...body].map((byte) => Uint8Array.of(byte))), quirk.name).toEqual(whole);
  }
});

verifies('models.openai.whole-answers', 'text, reasoning, calls that share an index, usage', async () => {
  const tool_calls = [
    { index: 0, function: { name: 'f', arguments: '{"x":1}' } },
    { index: 0, function: { name: 'f', arguments: { x: 1 } } },
  ];
  const message = { role: 'assistant', content: 'hi', reasoning: 'hm', tool_calls, function_call: null };
  const usage = { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 };
  const events = await readWhole({ id: 'i', model: 'm', choices: [{ message, finish_reason: 'stop' }], usage });
  expect(foldEvents(events)).toEqual({
    model: 'm',
    text: 'hi',
    reasoning: 'hm',
    calls: [
      { id: '', name: 'f', arguments: '{"x":1}' },
      { id: '', name: 'f', arguments: '{"x":1}' },
    ],
    finish: 'tool_calls',
    usage,
  });
});

verifies('models.openai.whole-answers', 'cut by max_tokens', async () => {
  const tool_calls = [
    { id: 'a', function: { name: 'f', arguments: '{}' } },
    { id: 'b', function: { name: 'f', arguments: '{"x' } },
  ];
  const answer = foldEvents(await readWhole({ choices: [{ message: { tool_calls }, finish_reason: 'length' }] }));
  expect(answer).toMatchObject({ finish: 'length', calls: [{ id: 'a' }] });
});

verifies('models.openai.content-type', 'the answer is read by its type, whatever was asked for', async () => {
  const json = Buffer.from('{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}');
  const sse = Buffer.from('data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n');
  for (const [body, type] of [
    [json, 'application/json'],
    [json, 'text/plain'],
    [json, ''],
    [sse, 'text/event-stream; charset=utf-8'],
    [sse, 'application/octet-stream'],
  ] as const) {
    expect(foldEvents(await read([body], type)), type).toMatchObject({ text: 'x', finish: 'stop' });
    const bytes = [...body].map((byte) => Buffer.from([byte]));
    expect(foldEvents(await read(bytes, type)), `${type}, byte by byte`).toMatchObject({ text: 'x', finish: 'stop' });
  }
});

test.each([
  ['<!doctype html><p>Sign in', 'text/html'],
  ['{"choices":[]}', 'application/json'],
  ['{}', 'application/json'],
  ['null', 'application/json'],
  ['[1]', 'application/json'],
  ['', 'application/json'],
  ['{"choices":[{"mess', 'application/json'],
])('an answer that is none is model_bad_response: %s', async (body, type) => {
  expect(foldEvents(await read([Buffer.from(body)], type)).error).toBe('model_bad_response');
});

test('an event larger than the bound is model_bad_response', async () => {
  const piece = Buffer.from('x'.repeat(300_000));
  const events = await read([Buffer.from('data: '), piece, piece, piece, piece]);
  expect(foldEvents(events).error).toBe('model_bad_response');
});

verifies('models.openai.extras', 'of choices, deltas and the answer, streamed', async () => {
  const chunks: JsonObject[] = [
    { id: 'i', system_fingerprint: 'fp', choices: [{ index: 0, delta: { content: 'x' }, logprobs: { content: [1] } }] },
    { id: 'i', choices: [{ index: 0, delta: { refusal: 'no' }, finish_reason: null, logprobs: null }] },
    { id: 'i', service_tier: 'flex', choices: [{ index: 0, delta: { annotations: [1] }, finish_reason: 'stop' }] },
  ];
  const body = Buffer.from(chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''));
  expect(await read([body])).toEqual([
    { type: 'message_start', model: 'asked', responseId: 'i' },
    {
      type: 'text_delta',
      text: 'x',
      extras: { chunk: { system_fingerprint: 'fp' }, choice: { logprobs: { content: [1] } } },
    },
    { type: 'text_delta', text: '', extras: { delta: { refusal: 'no' } } },
    {
      type: 'message_end',
      finishReason: 'stop',
      extras: { chunk: { system_fingerprint: 'fp', service_tier: 'flex' }, delta: { annotations: [1] } },
    },
  ]);
});

verifies('models.openai.extras', 'of a whole answer, nulls as OpenAI has them', async () => {
  const message = { role: 'assistant', content: 'x', refusal: null, annotations: [], audio: { id: 'au' } };
  const choice = { index: 0, message, logprobs: null, finish_reason: 'stop' };
  const events = await readWhole({ id: 'i', object: 'chat.completion', service_tier: 'default', choices: [choice] });
  expect(events.at(-1)).toEqual({
    type: 'message_end',
    finishReason: 'stop',
    extras: {
      chunk: { service_tier: 'default' },
      choice: { logprobs: null },
      delta: { refusal: null, annotations: [], audio: { id: 'au' } },
    },
  });
});

verifies('models.openai.choices', 'n > 1, streamed and whole', async () => {
  const streamed = [
    { index: 1, delta: { content: 'b' } },
    { index: 0, delta: { content: 'a' } },
    { index: 0, delta: {}, finish_reason: 'stop' },
    { index: 1, delta: {}, finish_reason: 'length' },
  ].map((choice) => `data: ${JSON.stringify({ id: 'i', choices: [choice] })}\n\n`);
  const whole = [
    { index: 1, message: { content: 'b' }, finish_reason: 'length' },
    { index: 0, message: { content: 'a' }, finish_reason: 'stop' },
  ];
  for (const events of [await read([Buffer.from(streamed.join(''))]), await readWhole({ id: 'i', choices: whole })]) {
    expect(events.slice(1)).toEqual([
      { type: 'text_delta', text: 'b', choice: 1 },
      { type: 'text_delta', text: 'a' },
      { type: 'message_end', finishReason: 'stop' },
      { type: 'message_end', finishReason: 'length', choice: 1 },
    ]);
  }
});

test('of two choices one without its end is a cut', async () => {
  const body = [
    { index: 0, delta: { content: 'a' }, finish_reason: 'stop' },
    { index: 1, delta: { content: 'b' } },
  ].map((choice) => `data: ${JSON.stringify({ choices: [choice] })}\n\n`);
  expect(foldEvents(await read([Buffer.from(body.join(''))])).error).toBe('model_stream_cut');
});

verifies('models.openai.reasoning-replay', 'reasoning is kept as provider state', async () => {
  const chunks = [{ reasoning_content: 'a' }, { reasoning_content: 'b', content: 'x' }];
  const body = chunks.map((delta) => `data: ${JSON.stringify({ choices: [{ delta }] })}\n\n`).join('');
  const events = await read([Buffer.from(`${body}data: [DONE]\n\n`)], 'text/event-stream', true);
  expect(events.at(-1)).toMatchObject({ providerState: { provider: 'p', state: { reasoning_content: 'ab' } } });
});
