import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { createMockContext } from '#libs/testing/mock-context.js';
import { verifies } from '../../../test/verifies.js';
import { FetchTool } from './fetch-tool.js';

const routes: Record<string, RequestListener> = {};
let http: Server;
let port: number;

beforeAll(async () => {
  http = createServer((request, response) => routes[request.url!]!(request, response)).listen(0, '127.0.0.1');
  await once(http, 'listening');
  port = (http.address() as AddressInfo).port;
});
afterAll(() => {
  http.closeAllConnections();
  http.close();
});

const at = (path: string) => `http://127.0.0.1:${port}${path}`;
const to = (path: string): RequestListener => {
  return (_request, response) => response.writeHead(302, { location: at(path) }).end();
};
const tool = () => new FetchTool({ allow: ['127.0.0.1'], maxTextBytes: 10_000, maxBytes: 500_000, timeoutMs: 5_000 });

verifies('tools.fetch-validates', 'a page that has not changed is not sent again, one that has is', async () => {
  let etag = '"one"';
  const conditions: unknown[] = [];
  routes['/page'] = (request, response) => {
    const condition = request.headers['if-none-match'];
    conditions.push(condition);
    if (condition === etag) response.writeHead(304, { etag }).end();
    else response.writeHead(200, { 'content-type': 'text/plain', etag }).end(`page ${etag}`);
  };
  const context = createMockContext();
  const page = async (headers: Record<string, string> = {}) => {
    const { content, structuredContent } = await tool().fetch({ method: 'GET', headers, url: at('/page') }, context);
    return [content[0]!.text, 'not_modified' in structuredContent];
  };
  expect(await page()).toEqual(['page "one"', false]);
  expect(await page()).toEqual(['page "one"', true]);
  etag = '"two"';
  expect(await page()).toEqual(['page "two"', false]);
  // A caller's own conditions, and other headers, are other requests.
  expect(await page({ 'cache-control': 'no-cache' })).toEqual(['page "two"', false]);
  expect(await page({ accept: 'text/html' })).toEqual(['page "two"', false]);
  expect(conditions).toEqual([undefined, '"one"', '"one"', undefined, undefined]);
});

verifies(
  'tools.fetch-validates',
  'by its date; never what must not be stored, nor that of another address',
  async () => {
    const lastModified = 'Tue, 03 Nov 2026 10:00:00 GMT';
    const asked: unknown[] = [];
    const dated: RequestListener = (request, response) => {
      const since = request.headers['if-modified-since'];
      asked.push([request.url, since]);
      if (since === lastModified) response.writeHead(304).end();
      else response.writeHead(200, { 'content-type': 'text/plain', 'last-modified': lastModified }).end(request.url);
    };
    Object.assign(routes, { '/dated': dated, '/a': dated, '/b': dated, '/go': to('/a') });
    const noStore = { etag: '"x"', 'cache-control': 'no-store' };
    routes['/secret'] = (request, response) => {
      asked.push([request.url, request.headers['if-none-match']]);
      response.writeHead(200, { 'content-type': 'text/plain', ...noStore }).end('secret');
    };
    const context = createMockContext();
    const read = async (path: string) =>
      (await tool().fetch({ method: 'GET', headers: {}, url: at(path) }, context)).content[0]!.text;
    expect([await read('/dated'), await read('/dated')]).toEqual(['/dated', '/dated']);
    expect([await read('/secret'), await read('/secret')]).toEqual(['secret', 'secret']);
    expect(await read('/go')).toBe('/a');
    routes['/go'] = to('/b');
    expect(await read('/go')).toBe('/b');
    expect(asked).toEqual([
      ['/dated', undefined],
      ['/dated', lastModified],
      ['/secret', undefined],
      ['/secret', undefined],
      ['/a', undefined],
      ['/b', lastModified],
      ['/b', undefined],
    ]);
  },
);
