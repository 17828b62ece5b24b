import { expect } from 'vitest';
import { foldEvents } from '../../../test/support/collect-model-events.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import { delta, ends, message, start, stop, text, tool } from '../../../test/fixtures/anthropic-quirks.js';
import { chunk, finish } from '../../../test/fixtures/gemini-chunks.js';
import { call, type Kind, readStream, readWhole, written } from '../../../test/fixtures/read-family.js';
import { keptEvents, keptOutput } from '../../../test/fixtures/responses-quirks.js';
import { verifies } from '../../../test/verifies.js';

const kept = [
  start(0, { type: 'thinking', thinking: '', signature: '' }),
  delta(0, { type: 'thinking_delta', thinking: 'hm' }),
  delta(0, { type: 'signature_delta', signature: 'sig' }),
  stop(0),
  start(1, { type: 'redacted_thinking', data: 'xyz' }),
  stop(1),
  start(2, { type: 'text', text: '' }),
  text(2, 'a'),
  stop(2),
];

/** The answer as a message of a history, with its state. */
async function replayed(kind: Kind, chunks: object[], provider = 'up'): Promise<ChatMessage[]> {
  const events = await readStream(kind, chunks);
  const end = events.at(-1);
  const { calls, text: content } = foldEvents(events);
  const provider_state = end?.type === 'message_end' ? end.providerState : undefined;
  expect(provider_state?.provider).toBe('up');
  return [
    { role: 'user', content: 'x' },
    {
      role: 'assistant',
      content,
      tool_calls: calls.map(({ name, arguments: given }, at) => call(`call_${at}`, name, given)),
      provider_state: { ...provider_state!, provider },
    },
    ...calls.map((_, at) => ({ role: 'tool' as const, tool_call_id: `call_${at}`, content: 'r' })),
  ];
}

verifies('models.families.state', 'Anthropic’s thinking, hidden thinking and text around calls', async () => {
  const chunks = [message(), ...kept, start(3, tool('toolu_1', 'f', { x: 1 })), stop(3), ...ends('tool_use')];
  const assistant = async (provider?: string) =>
    (written('anthropic', { messages: await replayed('anthropic', chunks, provider) })['messages'] as object[])[1];
  const calls = [{ type: 'tool_use', id: 'call_0', name: 'f', input: { x: 1 } }];
  expect(await assistant()).toEqual({
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 'sig' },
      { type: 'redacted_thinking', data: 'xyz' },
      { type: 'text', text: 'a' },
      ...calls,
    ],
  });
  expect(await assistant('other')).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'a' }, ...calls] });
});

verifies('models.families.state', 'Anthropic is not made to think on from calls whose thinking is lost', async () => {
  const chunks = [message(), ...kept, start(3, tool('toolu_1', 'f')), stop(3), ...ends('tool_use')];
  const thinking = async (provider: string) =>
    written('anthropic', {
      messages: await replayed('anthropic', chunks, provider),
      parameters: { reasoning_effort: 'high' },
      model: 'claude-opus-4-5',
    })['thinking'];
  expect(await thinking('up')).toBeDefined();
  expect(await thinking('other')).toBeUndefined();
});

verifies('models.families.state', 'OpenAI’s reasoning, phases and ids of calls over its Responses API', async () => {
  const items = async (provider?: string) =>
    written('responses', { messages: await replayed('responses', keptEvents, provider) })['input'] as object[];
  const result = (call_id: string) => ({ type: 'function_call_output', call_id, output: 'r' });
  expect((await items()).slice(1)).toEqual([...keptOutput, result('call_theirs')]);
  expect((await items('other')).slice(1)).toEqual([
    { role: 'assistant', content: 'Looking.' },
    { type: 'function_call', call_id: 'call_0', name: 'f', arguments: '{"x":1}' },
    result('call_0'),
  ]);
  // A server may repeat its ids.
  const twice = await replayed('responses', keptEvents);
  const again = [
    ...twice,
    ...twice.map((message) => JSON.parse(JSON.stringify(message).replaceAll('call_0', 'call_1'))),
  ];
  const sent = written('responses', { messages: again as ChatMessage[] })['input'] as { call_id?: string }[];
  expect(sent.flatMap(({ call_id }) => call_id ?? [])).toEqual(['call_theirs', 'call_theirs', 'call_1', 'call_1']);
});

const signedChunks = [
  chunk([
    { text: 'hm', thought: true },
    { text: 'a', thoughtSignature: 's0' },
  ]),
  chunk([{ functionCall: { id: 'p1', name: 'f', args: {} }, thoughtSignature: 's1' }]),
  finish('STOP', [{ functionCall: { id: 'p2', name: 'f', args: {} } }]),
];

verifies('models.families.state', 'Gemini’s signatures and ids, on the parts that they came with', async () => {
  const contents = async (provider?: string) =>
    written('gemini', { messages: await replayed('gemini', signedChunks, provider), model: 'gemini-3-pro' })[
      'contents'
    ] as object[];
  const response = (id: object) => ({ functionResponse: { ...id, name: 'f', response: { output: 'r' } } });
  expect((await contents()).slice(1)).toEqual([
    {
      role: 'model',
      parts: [
        { text: 'a', thoughtSignature: 's0' },
        { functionCall: { id: 'p1', name: 'f', args: {} }, thoughtSignature: 's1' },
        { functionCall: { id: 'p2', name: 'f', args: {} } },
      ],
    },
    { role: 'user', parts: [response({ id: 'p1' }), response({ id: 'p2' })] },
  ]);
  const foreign = { functionCall: { name: 'f', args: {} }, thoughtSignature: 'skip_thought_signature_validator' };
  expect((await contents('other')).slice(1)).toEqual([
    { role: 'model', parts: [{ text: 'a' }, foreign, { functionCall: { name: 'f', args: {} } }] },
    { role: 'user', parts: [response({}), response({})] },
  ]);
});

verifies('models.families.state', 'Gemini’s signature is offered with the call, and taken back from it', async () => {
  const started = (await readStream('gemini', signedChunks)).find(({ type }) => type === 'tool_call_start');
  const extra_content = { google: { thought_signature: 's1' } };
  expect(started).toMatchObject({ extras: { extra_content } });
  const messages: ChatMessage[] = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: null, tool_calls: [{ ...call('c', 'f'), extra_content }] },
    { role: 'tool', tool_call_id: 'c', content: 'r' },
  ];
  const contents = written('gemini', { messages, model: 'gemini-3-pro' })['contents'] as { parts: object[] }[];
  expect(contents[1]!.parts).toEqual([{ functionCall: { name: 'f', args: {} }, thoughtSignature: 's1' }]);
});

verifies('models.families.state', 'text and calls alone need none', async () => {
  const plain = await readStream('anthropic', [message(), start(0, tool('t', 'f')), stop(0), ...ends('tool_use')]);
  expect(plain.at(-1)).not.toHaveProperty('providerState');
  const unsigned = await readStream('gemini', [finish('STOP', [{ functionCall: { name: 'f' } }])]);
  expect(unsigned.at(-1)).not.toHaveProperty('providerState');
});

verifies('models.families.answers', 'whole answers, and what is none', async () => {
  const content = [{ type: 'thinking', thinking: 'hm', signature: 's' }, tool('t', 'f', { x: 1 })];
  const whole = { type: 'message', id: 'i', model: 'm', content, stop_reason: 'tool_use', usage: { input_tokens: 1 } };
  expect(foldEvents(await readWhole('anthropic', whole))).toMatchObject({
    reasoning: 'hm',
    calls: [{ name: 'f', arguments: '{"x":1}' }],
    finish: 'tool_calls',
    usage: { prompt_tokens: 1 },
  });
  const refused = { ...whole, content: [], stop_reason: 'refusal', stop_details: { explanation: 'No.' } };
  expect((await readWhole('anthropic', refused)).at(-1)).toMatchObject({ extras: { delta: { refusal: 'No.' } } });
  const two = {
    candidates: [chunk([{ text: 'a' }]).candidates[0], { ...finish('STOP', [{ text: 'b' }]).candidates[0], index: 1 }],
  };
  expect((await readWhole('gemini', two)).slice(1)).toEqual([
    { type: 'text_delta', text: 'a' },
    { type: 'text_delta', text: 'b', choice: 1 },
    { type: 'message_end', finishReason: 'stop' },
    { type: 'message_end', finishReason: 'stop', choice: 1 },
  ]);
  for (const kind of ['anthropic', 'gemini'] as const) {
    expect(foldEvents(await readWhole(kind, {})).error).toBe('model_bad_response');
  }
});
