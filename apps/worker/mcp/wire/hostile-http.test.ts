// Addresses that answer badly, or not at all: each failure has its code, comes in time and leads nowhere else.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect } from 'vitest';
import type { Json } from '#libs/schemas/json.js';
import { verifies } from '../../../../test/verifies.js';
import { httpServer } from '../../../../test/support/http-server.js';
import { openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { listServer } from '../catalog/list-server.js';
import { maxValues } from './value-counter.js';

type Answer = (request: { id: unknown; headers: IncomingMessage['headers'] }, response: ServerResponse) => void;

type Rpc = { id?: unknown; method?: string; params?: { name: string; protocolVersion: string } };
const notKnown = (id: unknown) => ({ jsonrpc: '2.0', id, error: { code: -32_601, message: 'no' } });
const json = (response: ServerResponse, value: object, headers = {}) =>
  response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value));
const result = (id: unknown, text: string) => ({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text }] } });
const greeting = (id: unknown, params?: { protocolVersion: string }) => {
  const serverInfo = { name: 'hostile', version: '1' };
  return {
    jsonrpc: '2.0',
    id,
    result: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo },
  };
};
const endless = (response: ServerResponse, piece: Buffer) => {
  const more = () =>
    void (response.destroyed || (response.write(piece) ? setImmediate(more) : response.once('drain', more)));
  more();
};

/** Fewer bytes than are read, and more values. */
const dense = Array.from({ length: maxValues + 1 }, () => 0);

const sentElsewhere: string[] = [];
let sessions = 0;
let oldest: unknown;

/** Streams that go on after their answer. */
const leftOpen = new Set<ServerResponse>();

/** What the tool of each name answers with. */
const tools: Record<string, Answer> = {
  echo: ({ id }, response) => json(response, result(id, 'hello')),
  unauthorized: (_request, response) => response.writeHead(401).end('who are you'),
  broken: (_request, response) => response.writeHead(500).end('a stack trace of theirs'),
  away: (_request, response) => response.writeHead(503).end(),
  redirect: (_request, response) => response.writeHead(307, { location: elsewhere.url }).end(),
  html: (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>login</p>'),
  untyped: (_request, response) => response.writeHead(200).end('{}'),
  accepted: (_request, response) => response.writeHead(202).end(),
  longHeader: (_request, response) => response.writeHead(200, { 'x-long': 'h'.repeat(64 * 1024) }).end('{}'),
  notJson: (_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{"a":'),
  endlessBody: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    endless(response, Buffer.alloc(64 * 1024, 'x'));
  },
  endlessEvent: (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('event: message\ndata: ');
    endless(response, Buffer.alloc(64 * 1024, 'x'));
  },
  dense: ({ id }, response) => json(response, { jsonrpc: '2.0', id, result: { content: dense } }),
  denseEvent: ({ id }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', method: 'x', params: {} })}\n\n`);
    response.end(`event: message\ndata: ${JSON.stringify({ jsonrpc: '2.0', id, result: { content: dense } })}\n\n`);
  },
  endedEvents: (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(': nothing follows\nretry: 1000000000000\n\n'),
  /** As servers on the examples of the SDK say it of a session that they do not know. */
  noSession: ({ id, headers }, response) => {
    oldest ??= headers['mcp-session-id'];
    if (headers['mcp-session-id'] !== oldest) return json(response, result(id, 'in a new session'));
    const error = { code: -32_000, message: 'Bad Request: No valid session ID provided' };
    response.writeHead(400).end(JSON.stringify({ jsonrpc: '2.0', id, error }));
  },
  badRequest: (_request, response) => response.writeHead(400).end('no'),
  leftOpen: ({ id }, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify(result(id, 'left open'))}\n\n`);
    leftOpen.add(response);
    response.once('close', () => leftOpen.delete(response));
  },
  reset: (_request, response) => void response.socket?.resetAndDestroy(),
  upgrade: (_request, response) =>
    void response.socket?.write(
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n',
    ),
  moreScope: (_request, response) =>
    response.writeHead(403, { 'www-authenticate': 'Bearer error="insufficient_scope", scope="all"' }).end(),
  trickle: (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => response.write(' '), 5);
    response.on('close', () => clearInterval(timer));
  },
};

const hostileServer = httpServer((request, response, body) => {
  const { id, method, params } = body as Rpc;
  if (request.method !== 'POST') return response.writeHead(405).end();
  if (id === undefined) return response.writeHead(202).end();
  if (method === 'initialize') {
    sessions += 1;
    return json(response, greeting(id, params), { 'mcp-session-id': `s${sessions}` });
  }
  if (method !== 'tools/call') return json(response, notKnown(id));
  return tools[params?.name ?? '']?.({ id, headers: request.headers }, response);
});
/** Of the newer era; asks something back, whatever the client has announced. */
const asking = httpServer((_request, response, body) => {
  const { id, method, params } = body as { id?: unknown; method?: string; params?: { arguments?: Json } };
  if (id === undefined) return response.writeHead(202).end();
  const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, resultType: 'complete' };
  const asked = { resultType: 'input_required', ...(params?.arguments as object) };
  const value = method === 'server/discover' ? { ttlMs: 0, cacheScope: 'public', ...discovered } : asked;
  return json(response, { jsonrpc: '2.0', id, result: value });
});
/** Of HTTP+SSE: answers on its stream, and leaves what is posted open. */
const posted: ServerResponse[] = [];
const openPosts = httpServer((request, response, body) => {
  const { id, method, params } = body as Rpc;
  if (request.method === 'GET') {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: endpoint\ndata: /mcp\n\n');
    report = (message) => void response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
    return;
  }
  if (method === 'tools/call') {
    posted.push(response);
    return report(result(id, 'told'));
  }
  response.writeHead(202).end();
  if (method === 'initialize') return report(greeting(id, params));
  if (id !== undefined) report(notKnown(id));
});
let report: (message: object) => void = () => undefined;
/** Speaks as `hostileServer` does, but for its listing, which never comes, and its news, which are a page without end. */
const slowLister = httpServer((request, response, body) => {
  const { id, method, params } = body as Rpc;
  if (request.method === 'GET') {
    response.once('close', () => (pagesLeft += 1));
    return endless(response.writeHead(200, { 'content-type': 'text/html' }), Buffer.alloc(64 * 1024, 'x'));
  }
  if (id === undefined) return response.writeHead(202).end();
  if (method === 'initialize') return json(response, greeting(id, params));
  if (method === 'tools/call') return json(response, result(id, 'beside'));
  if (method === 'tools/list') return listings.push(response);
  return json(response, notKnown(id));
});
let pagesLeft = 0;
const listings: ServerResponse[] = [];
/** Says how long it keeps a connection on which nothing is asked, and keeps it for longer. */
const keeper = httpServer((request, response, body) => {
  const { id, method, params } = body as Rpc;
  const kept = { connection: 'keep-alive', 'keep-alive': 'timeout=2' };
  if (request.method !== 'POST') return response.writeHead(405, kept).end();
  if (id === undefined) return response.writeHead(202, kept).end();
  if (method === 'initialize') return json(response, greeting(id, params), kept);
  return json(response, result(id, 'kept'), kept);
});
const elsewhere = httpServer((_request, response, body) => {
  sentElsewhere.push(JSON.stringify(body));
  return response.writeHead(200).end();
});
const locked = httpServer((_request, response) => response.writeHead(401).end());

const all = [hostileServer, asking, openPosts, slowLister, keeper, elsewhere, locked];

let servers: ToolServers;

beforeAll(async () => {
  await Promise.all(all.map((each) => each.start()));
  const silent = { url: hostileServer.url, transport: 'http' };
  servers = await openToolServers(
    {
      web: { url: hostileServer.url, headers: { 'x-key': 'secret-value' } },
      short: { ...silent, timeout_ms: 300, max_timeout_ms: 300 },
      locked: { url: locked.url },
      asking: { url: asking.url },
      openPosts: { url: openPosts.url, transport: 'sse', concurrency: 8 },
      slowLister: { url: slowLister.url, transport: 'http', concurrency: 1 },
      keeper: { url: keeper.url, transport: 'http' },
      nobody: { url: 'http://127.0.0.1:9/mcp' },
    },
    { environment: { TOOLS_MAX_READ_BYTES: String(1024 * 1024), TOOLS_MAX_RESULT_BYTES: '1024' } },
  );
});
afterAll(async () => {
  await servers?.close();
  await Promise.all(all.map((each) => each.stop()));
});

const codes: Record<string, string> = {
  unauthorized: 'tool_unavailable',
  broken: 'tool_failed',
  away: 'tool_unavailable',
  redirect: 'tool_unavailable',
  html: 'invalid_tool_result',
  untyped: 'invalid_tool_result',
  accepted: 'invalid_tool_result',
  longHeader: 'invalid_tool_result',
  badRequest: 'tool_failed',
  notJson: 'invalid_tool_result',
  endlessBody: 'result_too_large',
  endlessEvent: 'result_too_large',
  dense: 'result_too_large',
  denseEvent: 'result_too_large',
  endedEvents: 'tool_crashed',
  reset: 'tool_crashed',
  upgrade: 'tool_crashed',
  moreScope: 'tool_unavailable',
};

const bounds: Record<string, string> = {
  endlessBody: 'message_bytes',
  endlessEvent: 'message_bytes',
  dense: 'message_values',
  denseEvent: 'message_values',
};

for (const [tool, code] of Object.entries(codes)) {
  verifies('tools.hostile-http', `${tool}: ${code}`, async () => {
    const failure = await servers.call('web', tool).catch((error: Error) => error);
    expect(failure).toMatchObject({ code });
    expect(servers.bounds.splice(0)).toEqual(bounds[tool] === undefined ? [] : [`web: ${bounds[tool]}`]);
    expect((failure as Error).message).not.toMatch(/127\.0\.0\.1|stack|secret-value/);
    expect(sentElsewhere).toEqual([]);
    const { content } = await servers.call('web', 'echo');
    expect(content).toEqual([{ type: 'text', text: 'hello' }]);
  });
}

verifies('tools.hostile-http', 'a byte now and then: the exchange has an end of its own', async () => {
  await expect(servers.call('short', 'trickle')).rejects.toMatchObject({ code: 'tool_timeout' });
});

verifies('tools.hostile-http', 'a session that it does not know any more, with 400 instead of 404', async () => {
  await servers.call('web', 'echo');
  expect((await servers.call('web', 'noSession')).content).toEqual([{ type: 'text', text: 'in a new session' }]);
});

verifies('tools.hostile-http', 'streams that go on after their answer are ended', async () => {
  const answers = await Promise.all(Array.from({ length: 12 }, () => servers.call('web', 'leftOpen')));
  expect(answers.map(({ content }) => content)).toEqual(answers.map(() => [{ type: 'text', text: 'left open' }]));
  await expect.poll(() => leftOpen.size, { timeout: 10_000 }).toBe(0);
});

verifies('tools.hostile-http', 'requests that are never answered are bounded, and refused at once', async () => {
  // One exchange of them all is the stream that tells the answers.
  const room = 256 + 8 - 1;
  const call = () => servers.call('openPosts', 'any');
  for (let left = room; left > 0; left -= 8) await Promise.all(Array.from({ length: Math.min(8, left) }, call));
  expect([posted.length, servers.bounds]).toEqual([room, []]);
  await expect(call()).rejects.toMatchObject({
    code: 'tool_unavailable',
    message: 'The tool server leaves too many requests open',
  });
  expect(servers.bounds.splice(0)).toEqual(['openPosts: exchanges']);
  for (const response of posted.splice(0)) response.writeHead(202).end();
  await expect.poll(() => call().then(() => 'told', String), { timeout: 10_000 }).toBe('told');
  servers.bounds.length = 0;
});

verifies('tools.hostile-http', 'a listing that never comes holds up no call; a page as news is left', async () => {
  const leave = new AbortController();
  const server = servers.configured.servers.find(({ name }) => name === 'slowLister')!;
  const parts = { ...servers, timeoutMs: 60_000 };
  const hooks = { signal: leave.signal, onConnection: () => undefined };
  let ended = false;
  const listed = listServer(server, parts, hooks).catch(() => (ended = true));
  await expect.poll(() => listings.length, { timeout: 10_000 }).toBe(1);
  const { content } = await servers.call('slowLister', 'any');
  expect([content, ended]).toEqual([[{ type: 'text', text: 'beside' }], false]);
  await expect.poll(() => pagesLeft, { timeout: 10_000 }).toBe(1);
  expect(servers.bounds).toEqual([]);
  leave.abort();
  await listed;
});

verifies(
  'tools.hostile-http',
  'a connection is left before its server does, where nothing is asked on it',
  async () => {
    await servers.call('keeper', 'any');
    const connections = [...keeper.sockets];
    expect(connections.length).toBeGreaterThan(0);
    await expect.poll(() => connections.every(({ destroyed }) => destroyed), { timeout: 10_000 }).toBe(true);
    expect((await servers.call('keeper', 'any')).content).toEqual([{ type: 'text', text: 'kept' }]);
  },
);

verifies('tools.hostile-http', 'connecting: 401, nobody there', async () => {
  await expect(servers.call('locked', 'echo')).rejects.toMatchObject({
    code: 'tool_unavailable',
    message: expect.stringContaining('HTTP 401'),
  });
  await expect(servers.call('nobody', 'echo')).rejects.toMatchObject({
    code: 'tool_unavailable',
    message: expect.stringContaining('ECONNREFUSED'),
  });
});

verifies('tools.questions-refused', 'input_required ends the call, a thousand questions too', async () => {
  const question = (method: string) => ({
    method,
    params: { message: '?', messages: [], requestedSchema: { type: 'object', properties: {} } },
  });
  const many = (method: string) =>
    Object.fromEntries(Array.from({ length: 1_000 }, (_each, at) => [`q${at}`, question(method)]));
  const ask = (args: object) => servers.call('asking', 'ask', { args });
  for (const method of ['elicitation/create', 'sampling/createMessage', 'roots/list']) {
    for (const inputRequests of [{ one: question(method) }, many(method)]) {
      await expect(ask({ inputRequests }), method).rejects.toMatchObject({
        code: 'tool_failed',
        message: `The tool sent a request that is not supported here (${method})`,
      });
    }
  }
  const unreadable = { method: 'elicitation/create', params: { message: '?', requestedSchema: {} } };
  await expect(ask({ inputRequests: { one: unreadable } })).rejects.toMatchObject({ code: 'tool_failed' });
  for (const broken of [{}, { inputRequests: { one: question('made/up') } }, { inputRequests: { one: 5 } }]) {
    await expect(ask(broken)).rejects.toMatchObject({ code: 'invalid_tool_result' });
  }
  await expect(ask({ requestState: 'again' })).rejects.toMatchObject({
    code: 'tool_failed',
    message: 'The tool kept asking for the same input',
  });
});
