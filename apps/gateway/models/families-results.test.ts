// Tool results other than text, as sent to a model of each family.
import { expect } from 'vitest';
import { contentText, type ContentBlock } from '#libs/schemas/content-block.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import { call, type Kind, written } from '../../../test/fixtures/read-family.js';
import { verifies } from '../../../test/verifies.js';

const blocks: ContentBlock[] = [
  { type: 'text', text: 'a' },
  { type: 'image', data: 'BBBB', mimeType: 'image/png' },
  { type: 'audio', data: 'CCCC', mimeType: 'audio/wav' },
  { type: 'resource', resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: 'DDDD' } },
  { type: 'resource', resource: { uri: 'file:///a.zip', mimeType: 'application/zip', blob: 'EEEE' } },
  { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'inside' } },
  { type: 'resource_link', uri: 'https://x.test/a', name: 'link' },
];
const reported = [
  'a',
  '[image image/png, 3 bytes]',
  '[audio audio/wav, 3 bytes]',
  '[resource file:///a.pdf]',
  '[resource file:///a.zip]',
  'inside',
  '[resource link: https://x.test/a]',
].join('\n');
const messages: ChatMessage[] = [
  { role: 'user', content: 'u' },
  { role: 'assistant', content: null, tool_calls: [call('c1', 'look')] },
  { role: 'tool', tool_call_id: 'c1', content: contentText(blocks), blocks },
];
const last = (kind: Kind, model: string) => {
  const request = written(kind, { messages, tools: [{ name: 'look' }], model });
  const member = { gemini: 'contents', responses: 'input', openai: 'messages', anthropic: 'messages' }[kind];
  return (request[member] as object[]).at(-1);
};

verifies('models.tool-results', 'OpenAI takes text, and pictures behind the results', () => {
  expect(last('openai', 'deepseek-chat')).toEqual({ role: 'tool', tool_call_id: 'c1', content: reported });
  const sent = written('openai', { messages, tools: [{ name: 'look' }], model: 'gpt-4o' })['messages'] as object[];
  expect(sent.slice(2)).toEqual([
    {
      role: 'tool',
      tool_call_id: 'c1',
      content: reported.replace('[image image/png, 3 bytes]', '[image image/png, 3 bytes: picture 1 below]'),
    },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Picture 1:' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,BBBB' } },
      ],
    },
  ]);
});

verifies('models.tool-results', 'Anthropic takes pictures and documents, the rest is named', () => {
  const text = (said: string) => ({ type: 'text', text: said });
  expect(last('anthropic', 'claude-opus-4-5')).toMatchObject({
    role: 'user',
    content: [
      {
        type: 'tool_result',
        content: [
          text('a'),
          { type: 'image', source: { media_type: 'image/png', data: 'BBBB' } },
          text('[audio/wav, 3 bytes]'),
          { type: 'document', source: { media_type: 'application/pdf', data: 'DDDD' } },
          text('[application/zip, 3 bytes]'),
          text('inside'),
          text('[resource link: https://x.test/a]'),
        ],
      },
    ],
  });
});

verifies('models.tool-results', 'OpenAI’s Responses API takes pictures and documents, the rest is named', () => {
  const text = (said: string) => ({ type: 'input_text', text: said });
  expect(last('responses', 'gpt-5.5')).toEqual({
    type: 'function_call_output',
    call_id: 'c1',
    output: [
      text('a'),
      { type: 'input_image', image_url: 'data:image/png;base64,BBBB', detail: 'auto' },
      text('[audio/wav]'),
      { type: 'input_file', filename: 'file.pdf', file_data: 'data:application/pdf;base64,DDDD' },
      text('[application/zip]'),
      text('inside'),
      text('[resource link: https://x.test/a]'),
    ],
  });
});

verifies('models.tool-results', 'Gemini takes pictures, sounds and documents beside the text', () => {
  expect(last('gemini', 'gemini-2.5-flash')).toEqual({
    role: 'user',
    parts: [
      { functionResponse: { name: 'look', response: { output: reported } } },
      { inlineData: { mimeType: 'image/png', data: 'BBBB' } },
      { inlineData: { mimeType: 'audio/wav', data: 'CCCC' } },
      { inlineData: { mimeType: 'application/pdf', data: 'DDDD' } },
    ],
  });
});
