import { expect } from 'vitest';
import { verifies } from '../../../test/verifies.js';
import { readServerAnswer } from './read-answer.js';

const bounds = { maxReadBytes: 1_000 };
const codeOf = (...given: Parameters<typeof readServerAnswer>) => readServerAnswer(...given).error?.code;

verifies('tools.offers-answers', 'the contents of a resource are kept as the server gave them', async () => {
  const contents = [
    { uri: 'doc:a', text: '', _meta: { ui: { csp: [] } } },
    { uri: 'doc:b', mimeType: 'image/png', blob: 'AAEC' },
  ];
  const { state, blocks } = readServerAnswer('resources/read', { contents }, bounds);
  expect(state).toBe('completed');
  expect(blocks).toEqual(contents.map((resource) => ({ type: 'resource', resource })));
});

verifies('tools.offers-answers', 'an answer of another shape, or above the limit, is refused', async () => {
  for (const result of [
    {},
    { contents: {} },
    { contents: [{ uri: 'a' }] },
    { contents: [{ uri: 'a', blob: 'no base64' }] },
  ])
    expect(codeOf('resources/read', result, bounds)).toBe('invalid_tool_result');
  const content = { type: 'text', text: 'x' };
  for (const messages of [undefined, [{ role: 'system', content }], [{ role: 'user', content: { type: 'other' } }]])
    expect(codeOf('prompts/get', { messages }, bounds)).toBe('invalid_tool_result');
  expect(codeOf('completion/complete', { completion: { values: [1] } }, bounds)).toBe('invalid_tool_result');
  const large = { contents: [{ uri: 'doc:a', text: 'x'.repeat(2_000) }] };
  expect(codeOf('resources/read', large, bounds)).toBe('result_too_large');
});

verifies('tools.offers-answers', 'a completion has at most the hundred values of the protocol', async () => {
  const values = Array.from({ length: 150 }, (_, at) => String(at));
  const { structuredContent } = readServerAnswer(
    'completion/complete',
    { completion: { values, total: 150 } },
    { maxReadBytes: 10_000 },
  );
  expect(structuredContent).toEqual({ completion: { values: values.slice(0, 100), total: 150 } });
});
