// Media types: the names that callers and tools use, what each family takes, and what becomes of the rest.
import { expect } from 'vitest';
import { contentText, type ContentBlock } from '#libs/schemas/content-block.js';
import type { ChatMessage, ContentPart } from '#libs/schemas/message.js';
import { call, type Kind, writeRequest } from '../../../test/fixtures/read-family.js';
import { verifies } from '../../../test/verifies.js';
import { mediaTypeFor } from './conversation/media-types.js';

const jpeg = '/9j/4AAQSkZJRg==';
const png = 'iVBORw0KGgo=';
const kinds: Kind[] = ['anthropic', 'gemini', 'openai'];

function sent(kind: Kind, messages: ChatMessage[]) {
  const { json, reported } = writeRequest(kind, { messages, model: 'm', tools: [{ name: 'look' }] });
  return { text: JSON.stringify(json[kind === 'gemini' ? 'contents' : 'messages']), warnings: reported() };
}
const asUser = (kind: Kind, part: ContentPart) => sent(kind, [{ role: 'user', content: [part] }]);
const asResult = (kind: Kind, block: ContentBlock) =>
  sent(kind, [
    { role: 'user', content: 'u' },
    { role: 'assistant', content: null, tool_calls: [call('c', 'look')] },
    { role: 'tool', tool_call_id: 'c', content: contentText([block]), blocks: [block] },
  ]);
const picture = (type: string, data: string): ContentPart => ({
  type: 'image_url',
  image_url: { url: `data:${type};base64,${data}` },
});
const file = (type: string, data: string): ContentPart => ({
  type: 'file',
  file: { filename: 'f', file_data: `data:${type};base64,${data}` },
});

for (const kind of kinds) {
  for (const [name, type, data, right] of [
    ['image/jpg', 'image/jpg', jpeg, 'image/jpeg'],
    ['upper case', 'IMAGE/PJPEG', jpeg, 'image/jpeg'],
    ['parameters', 'image/png;name=x', png, 'image/png'],
    ['another type than its bytes', 'image/png', jpeg, 'image/jpeg'],
    ['no type', 'application/octet-stream', png, 'image/png'],
  ] as const) {
    verifies('models.media-types', `${kind}, a picture: ${name}`, () => {
      const { text, warnings } = asUser(kind, picture(type, data));
      expect(text).toContain(right);
      expect(text).toContain(data);
      expect(warnings).toEqual([]);
      if (kind !== 'openai')
        expect(asResult(kind, { type: 'image', mimeType: type, data }).text).toContain(`"${right}"`);
    });
  }

  for (const type of ['image/tiff', 'image/bmp', 'image/x-icon', 'application/zip', 'video/x-unknown']) {
    verifies('models.media-types', `${kind}: ${type} is described in text, with a warning`, () => {
      for (const part of [picture(type, 'AAAA'), file(type, 'AAAA')]) {
        const { text, warnings } = asUser(kind, part);
        expect(text).toContain(`${type}, 3 bytes]`);
        expect(text).not.toContain('AAAA');
        expect(warnings).toMatchObject([{ message: expect.stringContaining(type), param: 'messages' }]);
      }
      const { text } = asResult(kind, { type: 'image', mimeType: type, data: 'AAAA' });
      expect(text).toContain(type);
      expect(text).not.toContain('AAAA');
    });
  }

  verifies('models.media-types', `${kind}: text files and SVG as text, a document as it is`, () => {
    for (const type of ['text/plain; charset=utf-8', 'application/json', 'image/svg+xml']) {
      const { text, warnings } = asUser(kind, file(type, Buffer.from('<a/>').toString('base64')));
      expect(text).toContain('<a/>');
      expect(warnings).toEqual([]);
    }
    expect(asUser(kind, file('application/x-pdf', 'JVBERi0=')).text).toContain('application/pdf');
  });

  verifies('models.media-types', `${kind}: base64 in lines and for URLs, and what is none`, () => {
    expect(asUser(kind, picture('image/png', 'iVBORw0K\nGgo=')).text).toContain(png);
    expect(asUser(kind, picture('image/jpeg', '_9j_4AAQSkZJRg')).text).toContain(jpeg);
    expect(asUser(kind, picture('image/png', '%%')).text).toContain('[image/png, 0 bytes]');
  });
}

verifies('models.media-types', 'sounds', () => {
  const sound = (format: string): ContentPart => ({ type: 'input_audio', input_audio: { data: 'AAAA', format } });
  expect(asUser('openai', sound('mpeg')).text).toContain('"format":"mp3"');
  expect(asUser('openai', sound('x-wav')).text).toContain('"format":"wav"');
  expect(asUser('openai', sound('flac')).text).toContain('[audio/flac, 3 bytes]');
  expect(asUser('gemini', sound('mp3')).text).toContain('audio/mpeg');
  expect(asUser('anthropic', sound('mp3')).text).toContain('[audio/mpeg, 3 bytes]');
});

verifies('models.media-types', 'an OpenAI message that needs no change is the same object', () => {
  for (const part of [picture('image/png', png), file('application/pdf', 'JVBERi0='), { type: 'text', text: 'x' }]) {
    const content = [part];
    expect(asUser('openai', part).text).toBe(JSON.stringify([{ role: 'user', content }]));
  }
  expect(mediaTypeFor('openai', 'image/JPG')).toBe('image/jpeg');
  expect(mediaTypeFor('gemini', 'image/gif')).toBeUndefined();
});
