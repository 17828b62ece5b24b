import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { AssistantMessage, ProviderState } from '#libs/schemas/message.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { ask, start } from '../../../../../test/fixtures/openai-setup.js';
import { verifies } from '../../../../../test/verifies.js';

const signed = (signature: string) => ({ google: { thought_signature: signature } });
const thought = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
const sealed = { type: 'reasoning.encrypted', id: 'call_p1', data: 'x', format: 'google-gemini-v1', index: 1 };
const details = [{ ...thought, text: 'Let me see', signature: 's' }, sealed];
const called = (id: string, more: JsonObject = {}) => ({
  id,
  type: 'function',
  function: { name: 'f', arguments: '{}' },
  ...more,
});
const message = {
  role: 'assistant',
  content: null,
  refusal: null,
  annotations: [],
  audio: { id: 'a', data: 'long' },
  reasoning_details: details,
  tool_calls: [called('call_p1', { extra_content: signed('s1') }), called('call_p2', { later: ['x'] })],
};
const whole = { choices: [{ index: 0, message, finish_reason: 'tool_calls' }] };

const chunk = (delta: JsonObject, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const calls = (...entries: JsonObject[]) => chunk({ tool_calls: entries });
const chunks = [
  chunk({ role: 'assistant', content: '', refusal: null }),
  chunk({ reasoning: 'Let ', reasoning_details: [{ ...thought, text: 'Let ' }] }),
  chunk({ reasoning: 'me see', reasoning_details: [{ ...thought, text: 'me see' }] }),
  chunk({ reasoning_details: [{ ...thought, signature: 's' }] }),
  chunk({ reasoning_details: [sealed] }),
  calls({ index: 0, id: 'call_p1', type: 'function', function: { name: 'f', arguments: '' } }),
  calls({ index: 0, function: { arguments: '{}' } }),
  calls({ index: 1, ...called('call_p2'), later: ['x'] }),
  calls({ index: 0, extra_content: signed('s1') }),
  calls({ index: 1, ...called('call_p2'), later: null }),
  chunk({ audio: { data: 'long' } }, 'tool_calls'),
  'data: [DONE]\n\n',
];

const stateOf = (events: ModelEvent[]): ProviderState => {
  const end = events.at(-1);
  if (end?.type !== 'message_end' || end.providerState === undefined) throw new Error(JSON.stringify(events.at(-1)));
  return end.providerState;
};

/** As the loop keeps the message: with ids made here. */
const kept = (provider_state: ProviderState): AssistantMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ['call_1', 'call_2'].map((id) => ({ id, type: 'function', function: { name: 'f', arguments: '{}' } })),
  provider_state,
});

for (const stream of [true, false]) {
  verifies('models.openai.kept-members', `${stream ? 'streamed' : 'whole'}, to its own provider alone`, async () => {
    const answer = stream ? { chunks } : { json: whole };
    const { requests } = await start([answer, { text: 'x' }, { text: 'x' }]);
    const events = await ask({ stream, tools: [{ name: 'f' }] });
    const state = stateOf(events);
    await ask({ messages: [{ role: 'user', content: 'x' }, kept(state)] });
    expect((requests[1]!.body['messages'] as object[])[1]).toEqual({
      role: 'assistant',
      content: null,
      // Thoughts that name a call do so by the id that it has here.
      reasoning_details: [details[0], { ...sealed, id: 'call_1' }],
      tool_calls: [called('call_1', { extra_content: signed('s1') }), called('call_2', { later: ['x'] })],
    });
    const { provider_state: _, ...plain } = kept(state);
    await ask({ messages: [{ role: 'user', content: 'x' }, kept({ ...state, provider: 'other' })] });
    expect((requests[2]!.body['messages'] as object[])[1]).toEqual(plain);
    // The caller is shown them too.
    const shown = events.flatMap((event) =>
      'extras' in event && event.type.startsWith('tool_call') ? [event.extras] : [],
    );
    expect(shown).toContainEqual({ extra_content: signed('s1') });
    expect(shown).toContainEqual({ later: ['x'] });
  });
}

verifies('models.openai.kept-members', 'what a caller sends back itself is passed on', async () => {
  const { requests } = await start([{ text: 'x' }]);
  const sent = { role: 'assistant', content: 'a', reasoning_details: details } as unknown as AssistantMessage;
  const call = { ...called('c'), extra_content: signed('s') } as NonNullable<AssistantMessage['tool_calls']>[number];
  const messages = [sent, { role: 'assistant' as const, content: null, tool_calls: [call] }];
  await ask({ messages });
  expect(requests[0]!.body['messages']).toEqual(messages);
});

verifies(
  'models.openai.kept-members',
  'an ordinary message keeps nothing, nor one whose members are too large',
  async () => {
    const { reasoning_details: _, ...ordinary } = { ...message, tool_calls: [called('call_p1')] };
    const large = { ...message, reasoning_details: [{ ...sealed, data: 'x'.repeat(4 * 1024 * 1024) }] };
    await start([ordinary, large].map((given) => ({ json: { choices: [{ ...whole.choices[0], message: given }] } })));
    for (let n = 0; n < 2; n++) {
      const end = (await ask({ stream: false })).at(-1)!;
      expect(end.type === 'message_end' && end.providerState).toBeUndefined();
    }
  },
);
