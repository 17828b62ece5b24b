import { expect, test } from 'vitest';
import type { AssistantMessage, ChatMessage } from '#libs/schemas/message.js';
import { verifies } from '../../../../test/verifies.js';
import { Warnings } from '../conversation/warnings.js';
import { mapToolNames } from '../conversation/tool-names.js';
import { toOpenAiMessages, wireCallId, type MessageRules } from './to-openai-messages.js';

const rules = (more: Partial<MessageRules>): MessageRules => ({
  provider: 'up',
  reasoningReplay: 'never',
  callIds: 'minted',
  names: mapToolNames([]),
  model: 'm',
  warnings: new Warnings(),
  ...more,
});

const call = { id: 'call_1', type: 'function' as const, function: { name: 'f', arguments: '{}' } };
const called: AssistantMessage = { role: 'assistant', content: null, tool_calls: [call] };
const plain: AssistantMessage = { role: 'assistant', content: 'x' };
const state = (provider: string) => ({ provider, state: { reasoning_content: 'kept' } });

const replayed = (message: AssistantMessage, reasoningReplay: MessageRules['reasoningReplay']) =>
  (toOpenAiMessages([message], rules({ reasoningReplay }))[0] as AssistantMessage).reasoning_content;

verifies('models.openai.reasoning-replay', 'always, tool_turns, never', () => {
  const told = { reasoning_content: 'told' };
  expect(replayed({ ...called, ...told }, 'always')).toBe('told');
  expect(replayed({ ...plain, ...told }, 'always')).toBe('told');
  expect(replayed({ ...called, ...told }, 'tool_turns')).toBe('told');
  expect(replayed({ ...plain, ...told }, 'tool_turns')).toBeUndefined();
  expect(replayed({ ...called, ...told }, 'never')).toBeUndefined();
});

verifies('models.openai.reasoning-replay', 'from provider state when the client dropped it, else ""', () => {
  expect(replayed({ ...called, provider_state: state('up') }, 'tool_turns')).toBe('kept');
  expect(replayed({ ...called, provider_state: state('other') }, 'tool_turns')).toBe('');
  expect(replayed(called, 'always')).toBe('');
  expect(replayed(plain, 'always')).toBeUndefined();
});

verifies('models.openai.call-ids', 'nine letters and digits, the same in calls and results', () => {
  const messages: ChatMessage[] = [called, { role: 'tool', tool_call_id: 'call_1', content: 'x' }];
  const sent = toOpenAiMessages(messages, rules({ callIds: 'alphanumeric9' })) as [
    AssistantMessage,
    { tool_call_id: string },
  ];
  expect(sent[1].tool_call_id).toMatch(/^[A-Za-z0-9]{9}$/);
  expect(sent[0].tool_calls![0]!.id).toBe(sent[1].tool_call_id);
  expect(wireCallId('gSIMJiOkT', 'alphanumeric9')).toBe('gSIMJiOkT');
  expect(wireCallId('call_2', 'alphanumeric9')).not.toBe(sent[1].tool_call_id);
});

test('only fields of the wire go out, untouched messages as they are', () => {
  const user: ChatMessage = { role: 'user', content: [{ type: 'text', text: 'x' }], name: 'n' };
  const sent = toOpenAiMessages([user, called, { ...plain, provider_state: state('up') }], rules({}));
  expect(sent[0]).toBe(user);
  expect(sent[1]).toBe(called);
  expect(sent[2]).toEqual(plain);
  const result: ChatMessage = { role: 'tool', tool_call_id: 'call_1', content: 'x' };
  const kept: ChatMessage = { ...result, blocks: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] };
  expect(toOpenAiMessages([kept, { ...kept, is_error: true }], rules({}))).toEqual([result, result]);
});
