import { expect } from 'vitest';
import { holdSecrets } from '#libs/audit/known-secrets.js';
import { verifies } from '../../../../test/verifies.js';
import { readApi } from './read-api.js';
import { resultOfAnswer } from './result-of-answer.js';

const kept: string[] = [];
const query = (name: string) => ({ name, in: 'query', schema: {} });

function toolWith(...names: string[]) {
  const text = JSON.stringify({
    openapi: '3.0.0',
    paths: { '/x': { get: { operationId: 'it', parameters: names.map(query) } } },
  });
  const options = { baseUrl: 'https://x.example', setHeaders: [], limits: { maxBytes: 65_536, maxDepth: 32 } };
  return readApi(text, options).tools[0]!;
}

const result = (given: {
  status?: number;
  headers?: Record<string, string>;
  body?: string | Buffer;
  tool?: ReturnType<typeof toolWith>;
}) =>
  resultOfAnswer(
    given.tool ?? toolWith(),
    {
      status: given.status ?? 200,
      headers: new Headers(given.headers ?? { 'content-type': 'application/json' }),
      body: Buffer.from(given.body ?? ''),
      url: new URL('https://x.example/x?page=1'),
    },
    async (name, bytes) => `/mcp_workspaces/s/${kept.push(`${name} ${bytes.length}`)}`,
  );
const typed = (type: string) => ({ 'content-type': type });

verifies('openapi.answers', 'JSON is text, and structure if it is an object', async () => {
  expect(await result({ body: '{ "a": 1 }' })).toEqual({
    content: [{ type: 'text', text: '{"a":1}' }],
    structuredContent: { a: 1 },
  });
  expect(await result({ body: '[1]' })).toEqual({ content: [{ type: 'text', text: '[1]' }] });
  expect(await result({ body: '{', headers: typed('application/problem+json') })).toEqual({
    content: [{ type: 'text', text: '{' }],
  });
  expect(await result({ status: 204 })).toEqual({ content: [{ type: 'text', text: 'HTTP 204, without content' }] });
});

verifies(
  'openapi.answers',
  'numbers with more digits than a number of JavaScript, and where something was made',
  async () => {
    const body = '{"id": 9007199254740993, "name": "1234567890123456"}';
    expect(await result({ body })).toEqual({ content: [{ type: 'text', text: body }] });
    const made = await result({ status: 201, headers: { location: '/x/7' } });
    expect(made.content).toEqual([{ type: 'text', text: 'HTTP 201, without content; Location: /x/7' }]);
  },
);

verifies('openapi.answers', 'text, pictures, and files that are saved', async () => {
  const latin = await result({ body: Buffer.from([0xfc]), headers: typed('text/csv; charset=iso-8859-1') });
  expect(latin.content).toEqual([{ type: 'text', text: 'ü' }]);
  expect((await result({ body: 'GIF', headers: typed('image/gif; x=1') })).content).toEqual([
    { type: 'image', data: 'R0lG', mimeType: 'image/gif' },
  ]);
  const headers = { ...typed('application/pdf'), 'content-disposition': 'attachment; filename="../.Bill 1.pdf"' };
  expect((await result({ body: 'PDF', headers })).content).toEqual([
    { type: 'text', text: '[application/pdf, 3 bytes, saved as /mcp_workspaces/s/1]' },
  ]);
  expect((await result({ body: Buffer.from([0xff, 0]), headers: {} })).content[0]).toMatchObject({
    text: expect.stringContaining('saved as'),
  });
  expect(kept).toEqual(['_.Bill_1.pdf 3', 'it 2']);
});

verifies('openapi.answers', 'an error of HTTP, with what it says, bounded', async () => {
  const failed = await result({
    status: 429,
    headers: { ...typed('text/plain'), 'retry-after': '7' },
    body: 'x'.repeat(9_000),
  });
  const [{ text }] = failed.content as unknown as [{ text: string }];
  expect(failed.isError).toBe(true);
  expect(text).toMatch(/^HTTP 429\nRetry-After: 7\nx+…$/);
  expect(text.length).toBeLessThan(4_100);
  const led = await result({ status: 302, headers: { location: 'https://other.example/x' } });
  expect(led).toMatchObject({
    isError: true,
    content: [{ text: 'HTTP 302, which leads to https://other.example/x and is not followed' }],
  });
});

verifies('openapi.secrets', 'in JSON, text, errors and addresses', async () => {
  const secret = 'canary"key/1234';
  const forget = holdSecrets([secret]);
  try {
    const shown = await Promise.all([
      result({ body: JSON.stringify({ echo: secret, list: [`Bearer ${secret}`] }) }),
      result({ body: `you sent ${secret}`, headers: typed('text/plain') }),
      result({ status: 401, body: JSON.stringify(secret) }),
      result({ status: 307, headers: { location: `/x?key=${encodeURIComponent(secret)}` } }),
    ]);
    expect(shown[0].structuredContent).toEqual({ echo: '[redacted]', list: ['Bearer [redacted]'] });
    expect(JSON.stringify(shown)).not.toMatch(/canary/);
  } finally {
    forget();
  }
});

verifies('openapi.pages', 'which arguments choose a page', () => {
  const { description } = toolWith('page', 'per_page', 'color', 'page[size]', 'starting_after').definition;
  expect(description).toContain('The answer is a page, chosen by: page, per_page, page_size, starting_after.');
  expect(toolWith('color').definition.description).not.toContain('page');
});

const nexts: [names: string[], headers: Record<string, string>, body: object, told: string | undefined][] = [
  [
    ['page', 'q'],
    { link: '<https://x.example/x?page=1>; rel="prev", <https://x.example/x?page=2&q=a>; rel="next last"' },
    {},
    'call again with page: "2", q: "a".',
  ],
  [['page'], { link: '</other?z=1>; rel=next' }, {}, 'There is a next page: /other?z=1'],
  [['cursor', 'limit'], {}, { response_metadata: { next_cursor: 'dXN=' } }, 'call again with cursor: "dXN=".'],
  [['pageToken'], {}, { nextPageToken: 'abc' }, 'call again with pageToken: "abc".'],
  [['continue', 'limit'], {}, { metadata: { continue: 'tok' } }, 'call again with continue: "tok".'],
  [['after'], {}, { paging: { cursors: { after: 'QVFI' } } }, 'call again with after: "QVFI".'],
  [['offset'], {}, { next_page: { offset: 'eyJ0', path: '/x?offset=eyJ0' } }, undefined],
  [['page'], {}, { _links: { self: { href: '/x' }, next: { href: '/x?page=3' } } }, 'call again with page: "3".'],
  [['page'], {}, { next_page: 4 }, 'call again with page: "4".'],
  [['page'], {}, { next: null, after: 'a commit', results: [] }, undefined],
  [[], {}, { next: 'a step' }, undefined],
];
verifies('openapi.pages', 'and what an answer says of the next one', async () => {
  for (const [names, headers, body, told] of nexts) {
    const { content } = await result({
      tool: toolWith(...names),
      headers: { ...typed('application/json'), ...headers },
      body: JSON.stringify(body),
    });
    if (told === undefined) expect([body, content.length]).toEqual([body, 1]);
    else expect(content[0]).toMatchObject({ text: expect.stringContaining(told) });
  }
});
