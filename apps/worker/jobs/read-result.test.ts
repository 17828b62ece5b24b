import { expect, test } from 'vitest';
import { isJsonObject, type Json } from '#libs/schemas/json.js';
import { verifies } from '../../../test/verifies.js';
import { readToolResult } from './read-result.js';

const png = 'iVBORw0KGgo=';

verifies('tools.results-carried', 'every kind of content, as it came', () => {
  const content = [
    { type: 'text', text: 'a', annotations: { audience: ['user'] } },
    { type: 'image', data: png, mimeType: 'image/png' },
    { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
    { type: 'resource_link', uri: 'https://x.test/a', name: 'a', description: 'd', mimeType: 'text/plain' },
    { type: 'resource', resource: { uri: 'file:///a.txt', mimeType: 'text/plain', text: 'inside' } },
    { type: 'resource', resource: { uri: 'file:///a.pdf', mimeType: 'application/pdf', blob: 'AAAA' } },
  ];
  expect(readToolResult({ content }, undefined)).toEqual({ state: 'completed', blocks: content, durationMs: 0 });
});

verifies('tools.results-carried', 'what is no picture, sound or known kind is returned as text', () => {
  const content = [
    { type: 'image', data: 'not base64!', mimeType: 'image/png' },
    { type: 'image', data: png, mimeType: 'text/html' },
    { type: 'audio', data: 'A', mimeType: 'audio/wav' },
    { type: 'resource', resource: { uri: 'file:///a.bin', blob: '%%%' } },
    { type: 'resource', resource: { uri: 'file:///a.none' } },
    { type: 'hologram', data: 1 },
    5,
  ];
  const { blocks } = readToolResult({ content }, undefined);
  expect(blocks.map((block) => (block.type === 'text' ? block.text : block))).toEqual([
    '[image that cannot be read: image/png]',
    '[image that cannot be read: text/html]',
    '[audio that cannot be read: audio/wav]',
    '[resource that cannot be read: file:///a.bin]',
    '[resource that cannot be read: file:///a.none]',
    '{"type":"hologram","data":1}',
    '5',
  ]);
});

verifies('tools.results-carried', 'without annotations that an MCP client would refuse it for', () => {
  const text = { type: 'text', text: 'a' };
  const annotated = (annotations: object) => ({ ...text, annotations });
  const known = annotated({ audience: ['user'], priority: 1, lastModified: '2026-01-01T00:00:00Z', theirs: 1 });
  const unknown = [{ audience: 'user' }, { priority: 5 }, { lastModified: 'yesterday' }].map(annotated);
  const { blocks } = readToolResult({ content: [known, ...unknown] }, undefined);
  expect(blocks).toEqual([known, text, text, text]);
});

verifies('tools.hostile-servers', 'content that is no list, a failure that is neither', () => {
  for (const result of [{ content: 'done' }, { content: {} }, { content: [], isError: 'yes' }, { isError: 1 }]) {
    expect(readToolResult(result, undefined)).toMatchObject({
      state: 'failed',
      error: { code: 'invalid_tool_result' },
    });
  }
  expect(readToolResult({ content: null, isError: null }, undefined)).toEqual({
    state: 'completed',
    blocks: [],
    durationMs: 0,
  });
});

test('structured content keeps what its tool promised, where it promised something', () => {
  const check = (value: Json) => (isJsonObject(value) && 'sum' in value ? undefined : 'sum is required');
  expect(readToolResult({ content: [], structuredContent: { sum: 1 } }, check)).toMatchObject({ state: 'completed' });
  for (const structuredContent of [{ other: 1 }, [1], 'text', undefined]) {
    expect(readToolResult({ content: [], structuredContent }, check)).toMatchObject({
      state: 'failed',
      error: { code: 'invalid_tool_result' },
    });
  }
  // A failure promises nothing.
  expect(readToolResult({ content: [], isError: true }, check)).toMatchObject({ error: { code: 'tool_failed' } });
  expect(readToolResult({ content: [], structuredContent: { any: 1 } }, undefined)).toMatchObject({
    state: 'completed',
  });
});

verifies('tools.results-as-text', 'structured content without a text beside it', () => {
  const reported = (result: object) => readToolResult(result, undefined).blocks;
  for (const [structuredContent, text] of [
    [{ sum: 3, none: null }, '{"sum":3,"none":null}'],
    [[1, 'two'], '[1,"two"]'],
    ['three', '"three"'],
    [0, '0'],
    [false, 'false'],
  ]) {
    const expected = { state: 'completed', blocks: [{ type: 'text', text }], structuredContent, durationMs: 0 };
    for (const content of [[], undefined, null, [{ type: 'text', text: ' ' }]]) {
      expect(readToolResult({ content, structuredContent }, undefined)).toEqual(expected);
    }
  }
  const image = { type: 'image', data: png, mimeType: 'image/png' };
  expect(reported({ content: [image], structuredContent: { a: 1 } })).toEqual([
    { type: 'text', text: '{"a":1}' },
    image,
  ]);
  expect(reported({ content: [{ type: 'text', text: 'one' }], structuredContent: { a: 1 } })).toEqual([
    { type: 'text', text: 'one' },
  ]);
  expect(reported({ content: [], structuredContent: null })).toEqual([]);
});

verifies('tools.results-as-text', 'a failure that is only structured', () => {
  const failed = readToolResult({ isError: true, structuredContent: { why: 'full' } }, undefined);
  expect(failed).toMatchObject({
    state: 'failed',
    blocks: [{ type: 'text', text: '{"why":"full"}' }],
    structuredContent: { why: 'full' },
    error: { code: 'tool_failed', message: '{"why":"full"}' },
  });
});

test('structured content of any kind is held to its schema', () => {
  const check = (value: Json) => (Array.isArray(value) ? undefined : 'it is no list');
  expect(readToolResult({ structuredContent: [1] }, check)).toMatchObject({
    state: 'completed',
    structuredContent: [1],
  });
  expect(readToolResult({ structuredContent: 1 }, check)).toMatchObject({ error: { code: 'invalid_tool_result' } });
});
