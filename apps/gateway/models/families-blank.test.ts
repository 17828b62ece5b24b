// Blank messages, blank pieces of them, and histories that end with the assistant.
import { expect } from 'vitest';
import type { ChatMessage } from '#libs/schemas/message.js';
import { call, writeRequest, written } from '../../../test/fixtures/read-family.js';
import { verifies } from '../../../test/verifies.js';

const said: ChatMessage[] = [
  { role: 'user', content: 'u' },
  { role: 'assistant', content: 'a' },
];
const blanks = ['', '  ', '\n', [], [{ type: 'text', text: ' ' }]];
const placeholder = [{ text: '…' }];

for (const content of blanks) {
  verifies('models.families.request', `a blank last user message keeps its place: ${JSON.stringify(content)}`, () => {
    const messages: ChatMessage[] = [...said, { role: 'user', content }];
    const anthropic = written('anthropic', { messages })['messages'] as { role: string; content: object[] }[];
    expect(anthropic.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
    expect(anthropic.at(-1)!.content).toMatchObject(placeholder);
    const gemini = written('gemini', { messages })['contents'] as { role: string; parts: object[] }[];
    expect(gemini.map(({ role }) => role)).toEqual(['user', 'model', 'user']);
    expect(written('openai', { messages })['messages']).toEqual(messages);
  });

  verifies('models.families.request', `blank pieces go to nobody who refuses them: ${JSON.stringify(content)}`, () => {
    const messages: ChatMessage[] = [
      { role: 'system', content },
      { role: 'user', content: 'u' },
      { role: 'assistant', content, tool_calls: [call('c', 'f')] },
      { role: 'tool', tool_call_id: 'c', content, is_error: true },
      { role: 'assistant', content },
      { role: 'user', content },
      { role: 'assistant', content: 'a' },
      {
        role: 'user',
        content: [
          { type: 'text', text: ' ' },
          { type: 'text', text: 'more' },
        ],
      },
    ];
    const request = written('anthropic', { messages });
    expect(request).not.toHaveProperty('system');
    expect(request['messages']).toMatchObject([
      { content: [{ text: 'u' }] },
      { content: [{ type: 'tool_use' }] },
      { content: [{ type: 'tool_result', is_error: true, content: 'The tool failed without a message.' }] },
      { content: [{ text: 'a' }] },
      { content: [{ text: 'more' }] },
    ]);
    const gemini = written('gemini', { messages });
    expect(gemini).not.toHaveProperty('systemInstruction');
    for (const { parts } of gemini['contents'] as { parts: object[] }[]) expect(parts.length).toBeGreaterThan(0);
  });
}

verifies('models.families.request', 'Anthropic: a history that ends with the assistant, where that is refused', () => {
  const older = writeRequest('anthropic', { messages: said, model: 'claude-opus-4-5' });
  expect((older.json['messages'] as object[]).at(-1)).toMatchObject({ role: 'assistant' });
  for (const model of ['claude-opus-4-6', 'claude-sonnet-4-6', 'claude-opus-4-8', 'claude-sonnet-5']) {
    const { json, reported } = writeRequest('anthropic', { messages: said, model });
    expect((json['messages'] as object[]).slice(-2)).toMatchObject([
      { role: 'assistant' },
      { role: 'user', content: [{ text: 'Continue.' }] },
    ]);
    expect(reported()).toMatchObject([{ param: 'messages', message: expect.stringContaining(model) }]);
  }
});
