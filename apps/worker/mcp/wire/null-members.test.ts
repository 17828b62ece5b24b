// Servers that write null where a member is optional, or answer in a shape that cannot be read, over each transport.
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { httpServer } from '../../../../test/support/http-server.js';
import { hostile, openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { readMessage, readServerResult } from './read-message.js';

type Rpc = { id?: unknown; method?: string; params?: { arguments?: { message?: object } } };

const greeting = {
  error: null,
  result: { protocolVersion: null, capabilities: null, instructions: null, _meta: null },
};
const answerTo = ({ id, method, params }: Rpc) => {
  if (method === 'initialize') return { jsonrpc: '2.0', id, ...greeting };
  if (method === 'tools/call') return { jsonrpc: '2.0', id, ...params?.arguments?.message };
  return { jsonrpc: '2.0', id: null, result: null, error: { code: -32_700, message: 'Parse error', data: null } };
};
const json = (response: ServerResponse, value: object) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
/** Leaves its streams open: who waits for their end waits for long. */
const events = (response: ServerResponse) => response.writeHead(200, { 'content-type': 'text/event-stream' });

const jsonServer = httpServer((request, response, body) => {
  if (request.method !== 'POST') return response.writeHead(405).end();
  return (body as Rpc).id === undefined ? response.writeHead(202).end() : json(response, answerTo(body as Rpc));
});
const eventServer = httpServer((request, response, body) => {
  if (request.method !== 'POST') return response.writeHead(405).end();
  if ((body as Rpc).id === undefined) return response.writeHead(202).end();
  // In pieces, with all ends of lines that there are.
  const data = JSON.stringify(answerTo(body as Rpc));
  events(response).write(`: hello\r\rid: 1\r\ndata: ${data.slice(0, 9)}`);
  return setTimeout(() => response.write(`${data.slice(9)}\r\n\r\n`), 5);
});
let stream: ServerResponse | undefined;
const oldServer = httpServer((request, response, body) => {
  if (request.method === 'GET') {
    stream = events(response);
    return stream.write('event: endpoint\ndata: /mcp\n\n');
  }
  response.writeHead(202).end();
  if ((body as Rpc).id !== undefined) stream?.write(`data: ${JSON.stringify(answerTo(body as Rpc))}\n\n`);
});
const all = [jsonServer, eventServer, oldServer];

let servers: ToolServers;
beforeAll(async () => {
  await Promise.all(all.map((each) => each.start()));
  servers = await openToolServers({
    pipe: hostile(`--greeting=${JSON.stringify(greeting)}`, '--discover=unreadable'),
    newer: hostile('--only-newer'),
    json: { url: jsonServer.url },
    events: { url: eventServer.url, transport: 'http' },
    sse: { url: oldServer.url, transport: 'sse' },
  });
});
afterAll(async () => {
  await servers?.close();
  stream?.end();
  await Promise.all(all.map((each) => each.stop()));
});

const nulls = {
  error: null,
  params: null,
  result: {
    _meta: null,
    isError: null,
    nextCursor: null,
    content: [
      { type: 'text', text: 'a', annotations: null, _meta: null },
      { type: 'resource', resource: { uri: 'x:y', text: 'b', blob: null, mimeType: null } },
    ],
    structuredContent: { kept: null },
  },
};
const read = {
  content: [
    { type: 'text', text: 'a' },
    { type: 'resource', resource: { uri: 'x:y', text: 'b' } },
  ],
  structuredContent: { kept: null },
};
const unreadable: Record<string, object> = {
  'an error that is text': { error: 'it failed' },
  'a code that is text': { error: { code: 'E_BAD', message: 'it failed' } },
  'no result and no error': { result: null, error: null },
  'a result that is text': { result: 'done' },
  'a result and an error': { result: {}, error: { code: 1, message: 'x' } },
};

for (const name of ['pipe', 'newer', 'json', 'events', 'sse']) {
  const call = (message: object) => servers.call(name, 'raw', { args: { message } });

  verifies('tools.null-is-absent', `${name}: from the greeting to a result`, async () => {
    expect(await call(nulls)).toEqual(read);
    // What is said beside a result spoils none of it.
    expect(await call({ result: { ...read, _meta: 'text' } })).toMatchObject(read);
    expect(await call({ result: { ...read, _meta: { progressToken: null } }, more: 1 })).toMatchObject(read);
    expect(await call({ jsonrpc: null, error: null, result: read })).toEqual(read);
    await expect(call({ result: null, error: { code: 7, message: null } })).rejects.toMatchObject({
      code: 'tool_failed',
    });
  });

  verifies('tools.unreadable-at-once', name, async () => {
    for (const [what, message] of Object.entries(unreadable)) {
      await expect(call(message), what).rejects.toMatchObject({ code: 'invalid_tool_result' });
    }
    expect(await call({ result: read })).toEqual(read);
  });
}

verifies('tools.null-is-absent', 'newer: one odd tool or block costs nothing else', async () => {
  const listed = await servers.use('newer', (connection) => connection.listTools(AbortSignal.timeout(10_000)));
  expect(listed).toEqual(expect.arrayContaining([expect.objectContaining({ name: 'schemaless', inputSchema: true })]));
  const content = [null, { type: 'text', text: null }, { type: 'hologram' }, { type: 'text', text: 'a' }];
  const result = await servers.call('newer', 'raw', { args: { message: { result: { content } } } });
  expect(result.content).toEqual([null, { type: 'text' }, { type: 'hologram' }, { type: 'text', text: 'a' }]);
  const message = { result: { structuredContent: [1] } };
  expect(await servers.call('newer', 'raw', { args: { message } })).toEqual({ structuredContent: [1] });
});

test('a number that came back as text, in a pipe', async () => {
  expect(await servers.call('pipe', 'raw', { args: { textId: true, message: { result: read } } })).toEqual(read);
});

test('a message that needs no change stays what it is; data is not looked into', () => {
  const result = { content: [{ type: 'text', text: 'a' }], structuredContent: { deep: { no: null } } };
  expect(readServerResult(result, 'tools/call')).toBe(result);
  const tool = { name: 'a', inputSchema: { properties: { a: { default: null, enum: [null], const: null } } } };
  const listed = { tools: [{ ...tool, title: null, outputSchema: null, annotations: { title: null } }, tool] };
  expect(readServerResult(listed, 'tools/list')).toEqual({ tools: [{ ...tool, annotations: {} }, tool] });
  expect(readMessage({ jsonrpc: '2.0', id: null, method: 'notifications/x', params: null })).toEqual({
    jsonrpc: '2.0',
    method: 'notifications/x',
  });
  for (const noise of [5, null, [], {}, { id: 1 }, { level: 'info', id: 1, method: 'GET' }, { id: 1, error: 'x' }]) {
    expect(readMessage(noise)).toBeUndefined();
  }
});
