import { expect, test } from 'vitest';
import type { ContentBlock } from '#libs/schemas/content-block.js';
import type { AssistantMessage, ChatMessage, ContentPart, ToolMessage } from '#libs/schemas/message.js';
import { verifies } from '../../../../test/verifies.js';
import { Warnings } from '../conversation/warnings.js';
import { mapToolNames } from '../conversation/tool-names.js';
import { servedModel } from './compatible/known-servers.js';
import { toOpenAiMessages, wireCallId, type OpenAiMessageRules } from './to-openai-messages.js';

const rules = (more: Partial<OpenAiMessageRules>): OpenAiMessageRules => ({
  provider: 'up',
  reasoningReplay: 'never',
  callIds: 'minted',
  names: mapToolNames([]),
  served: servedModel({ call_ids: 'minted' }, 'up', 'm'),
  model: 'm',
  warnings: new Warnings(),
  ...more,
});

const call = { id: 'call_1', type: 'function' as const, function: { name: 'f', arguments: '{}' } };
const called: AssistantMessage = { role: 'assistant', content: null, tool_calls: [call] };
const plain: AssistantMessage = { role: 'assistant', content: 'x' };
const state = (provider: string) => ({ provider, state: { reasoning_content: 'kept' } });

const replayed = (message: AssistantMessage, reasoningReplay: OpenAiMessageRules['reasoningReplay']) =>
  (toOpenAiMessages([message], rules({ reasoningReplay }))[0] as AssistantMessage).reasoning_content;

verifies('models.openai.reasoning-replay', 'always, tool_turns, never', () => {
  const reported = { reasoning_content: 'told' };
  expect(replayed({ ...called, ...reported }, 'always')).toBe('told');
  expect(replayed({ ...plain, ...reported }, 'always')).toBe('told');
  expect(replayed({ ...called, ...reported }, 'tool_turns')).toBe('told');
  expect(replayed({ ...plain, ...reported }, 'tool_turns')).toBeUndefined();
  expect(replayed({ ...called, ...reported }, 'never')).toBeUndefined();
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
  const blind = rules({ served: servedModel({ call_ids: 'minted', images: false }, 'up', 'm') });
  expect(toOpenAiMessages([kept, { ...kept, is_error: true }], blind)).toEqual([result, result]);
});

const image = (data: string): ContentBlock => ({ type: 'image', data, mimeType: 'image/png' });
const picture = (data: string) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } });
const round = (...ids: string[]): AssistantMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id) => ({ ...call, id })),
});
const result = (id: string, content: ToolMessage['content'], blocks?: ContentBlock[]): ToolMessage => ({
  role: 'tool',
  tool_call_id: id,
  content,
  ...(blocks && { blocks }),
});
const user: ChatMessage = { role: 'user', content: 'x' };

verifies('models.tool-results', 'the pictures of a round follow its results in one message', () => {
  const jpg: ContentBlock = { type: 'resource', resource: { uri: 'f:/a.jpg', mimeType: 'image/jpg', blob: 'BBBB' } };
  const svg: ContentBlock = { type: 'image', data: 'CCCC', mimeType: 'image/svg+xml' };
  const sent = toOpenAiMessages(
    [
      round('a', 'b', 'c'),
      result('a', 'said', [{ type: 'text', text: 'said' }, image('AAAA'), svg]),
      result('b', 'text'),
      result('c', '[resource f:/a.jpg]', [jpg]),
      round('d'),
      result('d', '', [image('DDDD')]),
    ],
    rules({}),
  );
  expect(sent.slice(1)).toEqual([
    result('a', 'said\n[image image/png, 3 bytes: picture 1 below]\n[image image/svg+xml, 3 bytes]'),
    result('b', 'text'),
    result('c', '[resource f:/a.jpg: picture 2 below]'),
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Picture 1:' },
        picture('AAAA'),
        { type: 'text', text: 'Picture 2:' },
        { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,BBBB' } },
      ],
    },
    round('d'),
    result('d', '[image image/png, 3 bytes: picture 1 below]'),
    { role: 'user', content: [{ type: 'text', text: 'Picture 1:' }, picture('DDDD')] },
  ]);
});

verifies('models.tool-results', 'parts that a caller gives as a result go the same way', () => {
  const parts: ContentPart[] = [
    { type: 'text', text: 'said' },
    { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
    { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,DDDD' } },
    { type: 'input_audio', input_audio: { data: 'EEEE', format: 'wav' } },
  ];
  const others = '[a.pdf application/pdf, 3 bytes]\n[file audio/wav, 3 bytes]';
  expect(toOpenAiMessages([round('a'), result('a', parts)], rules({})).slice(1)).toEqual([
    result('a', `said\n[image https://x.test/a.png: picture 1 below]\n${others}`),
    { role: 'user', content: [{ type: 'text', text: 'Picture 1:' }, parts[1]] },
  ]);
  const blind = rules({ served: servedModel({ call_ids: 'minted' }, 'up', 'deepseek-chat') });
  expect(toOpenAiMessages([round('a'), result('a', parts)], blind).slice(1)).toEqual([
    result('a', `said\n[image https://x.test/a.png]\n${others}`),
  ]);
  const text = result('a', [{ type: 'text', text: 'said' }]);
  expect(toOpenAiMessages([round('a'), text], rules({}))[1]).toBe(text);
});

verifies('models.families.result-order', 'OpenAI gets one message with the calls of two, then all results', () => {
  const two: ChatMessage[] = [
    { ...round('a'), content: 'first' },
    { ...round('b'), content: 'second' },
  ];
  expect(toOpenAiMessages([...two, result('b', 'B'), user, result('a', 'A')], rules({}))).toEqual([
    { ...round('a', 'b'), content: 'first\n\nsecond' },
    result('a', 'A'),
    result('b', 'B'),
    user,
  ]);
});

verifies('models.openai.known-servers', 'developer is system, unless the server is OpenAI', () => {
  const developer: ChatMessage = { role: 'developer', content: 'Be brief.' };
  const local = servedModel({ base_url: 'http://127.0.0.1:1/v1', call_ids: 'minted' }, 'up', 'gpt-5.2');
  expect(toOpenAiMessages([developer], rules({ served: local }))).toEqual([{ ...developer, role: 'system' }]);
  expect(toOpenAiMessages([developer], rules({}))[0]).toBe(developer);
});

verifies('models.openai.known-servers', 'Mistral gets an assistant message between results and a user', () => {
  const mistral = rules({ served: servedModel({ call_ids: 'minted' }, 'up', 'mistral-large-latest') });
  const between = { role: 'assistant', content: ' ' };
  const asked = [round('a'), result('a', 'A'), user, user, round('b'), result('b', '', [image('BBBB')])];
  expect(toOpenAiMessages(asked, mistral)).toEqual([
    round('a'),
    result('a', 'A'),
    between,
    user,
    user,
    round('b'),
    result('b', '[image image/png, 3 bytes: picture 1 below]'),
    between,
    { role: 'user', content: [{ type: 'text', text: 'Picture 1:' }, picture('BBBB')] },
  ]);
  expect(toOpenAiMessages(asked.slice(0, 3), rules({}))).toHaveLength(3);
});

const served = (base_url: string) => servedModel({ base_url, call_ids: 'minted' }, 'up', 'm');
const echoed = {
  ...called,
  refusal: null,
  reasoning_details: [{ type: 'reasoning.text', text: 'x' }],
  tool_calls: [{ ...call, extra_content: { google: { thought_signature: 's' } } }],
};
const answered: ChatMessage[] = [{ role: 'tool', tool_call_id: 'call_1', content: 'x' }];

verifies(
  'models.openai.known-servers',
  'members that OpenAI and Mistral refuse are not sent to them, to others all',
  () => {
    const sentTo = (base_url: string) => toOpenAiMessages([echoed, ...answered], rules({ served: served(base_url) }));
    expect(sentTo('https://api.openai.com/v1')).toEqual([{ ...called, refusal: null }, ...answered]);
    expect(sentTo('https://api.mistral.ai/v1')).toEqual([called, ...answered]);
    expect(sentTo('http://127.0.0.1:1/v1')).toEqual([echoed, ...answered]);
    const known = { ...called, refusal: null };
    expect(toOpenAiMessages([known, ...answered], rules({}))[0]).toBe(known);
  },
);

verifies(
  'models.openai.kept-members',
  'what another provider wants back goes to no other, also if the caller sends it',
  () => {
    const { reasoning_details: details } = echoed;
    const extras = { extra_content: echoed.tool_calls[0]!.extra_content };
    const message: AssistantMessage = {
      ...echoed,
      provider_state: { provider: 'other', state: { message: { reasoning_details: details }, calls: [{ extras }] } },
    };
    const [sent] = toOpenAiMessages([message, ...answered], rules({ served: served('http://127.0.0.1:1/v1') }));
    expect(sent).toEqual({ ...called, refusal: null });
  },
);

verifies('models.openai.call-ids', 'of more than 40 characters are shortened, the same in calls and results', () => {
  const [longest, longer] = ['c'.repeat(40), 'c'.repeat(41)];
  expect(wireCallId(longest, 'minted')).toBe(longest);
  const short = wireCallId(longer, 'minted');
  expect(short).toMatch(/^call_[0-9a-f]{32}$/);
  expect(wireCallId(`${longer}d`, 'minted')).not.toBe(short);
  const messages: ChatMessage[] = [
    { ...called, tool_calls: [{ ...call, id: longer }] },
    { role: 'tool', tool_call_id: longer, content: 'x' },
  ];
  const [asked, answer] = toOpenAiMessages(messages, rules({})) as [AssistantMessage, ToolMessage];
  expect([asked.tool_calls![0]!.id, answer.tool_call_id]).toEqual([short, short]);
});

verifies(
  'models.openai.known-servers',
  'no empty answer of the assistant to Mistral, no empty arguments to anybody',
  () => {
    const empty = { ...called, tool_calls: [{ ...call, function: { name: 'f', arguments: '' } }] };
    const messages: ChatMessage[] = [empty, ...answered, { role: 'assistant', content: '' }];
    const sentTo = (base_url: string) => toOpenAiMessages(messages, rules({ served: served(base_url) }));
    expect(sentTo('https://api.mistral.ai/v1')).toEqual([called, ...answered, { role: 'assistant', content: ' ' }]);
    expect(sentTo('http://127.0.0.1:1/v1')).toEqual([called, ...answered, { role: 'assistant', content: '' }]);
  },
);
