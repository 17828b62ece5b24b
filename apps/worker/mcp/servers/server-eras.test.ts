// Servers that do not understand the newer greeting, each in a way of its own, and servers that do not come to an end of
// their start.
import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { httpServer } from '../../../../test/support/http-server.js';
import { hostile, openToolServers, type ToolServers } from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';
import { countToolProcesses } from '../../sandbox/tool-process.js';

type Rpc = { id?: unknown; method?: string };
type Refusal = (response: ServerResponse, id: unknown) => unknown;

const json = (response: ServerResponse, value: object) =>
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
const parseError = { jsonrpc: '2.0', id: null, error: { code: -32_700, message: 'Parse error' } };

/** What each answers to a greeting that it does not know. */
const refusals: Record<string, Refusal> = {
  unreadable: (response) => json(response, parseError),
  badRequest: (response) => response.writeHead(400).end(JSON.stringify(parseError)),
  notFound: (response) => response.writeHead(404).end(),
  notAllowed: (response) => response.writeHead(405).end(),
  broken: (response) => response.writeHead(500).end('<h1>Internal error</h1>'),
  away: (response) => response.writeHead(503).end(),
  page: (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Welcome</h1>'),
  empty: (response) => response.writeHead(200, { 'content-type': 'application/json' }).end(),
  untyped: (response) => response.writeHead(200).end(),
  accepted: (response) => response.writeHead(202).end(),
  noEvents: (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(),
  cut: (response) => response.socket?.resetAndDestroy(),
  never: () => undefined,
  nullResult: (response, id) => json(response, { jsonrpc: '2.0', id, result: null }),
};
const asked: string[] = [];
const server = httpServer((request, response, body) => {
  const { id, method = '' } = body as Rpc;
  if (request.method !== 'POST') return response.writeHead(405).end();
  if (id === undefined) return response.writeHead(202).end();
  const name = request.url!.slice(1);
  asked.push(`${name} ${method}`);
  if (method === 'server/discover') return refusals[name]!(response, id);
  const said = method === 'initialize' ? { protocolVersion: '2025-06-18' } : { content: [] };
  return json(response, { jsonrpc: '2.0', id, result: said });
});
const deaf = httpServer(() => undefined);

let servers: ToolServers;
beforeAll(async () => {
  await Promise.all([server.start(), deaf.start()]);
  const web = Object.keys(refusals).map((name) => {
    const url = `${new URL(server.url).origin}/${name}`;
    return [name, { url, start_timeout_ms: 8_000, ...(name === 'broken' ? { transport: 'http' } : {}) }] as const;
  });
  servers = await openToolServers({
    ...Object.fromEntries(web),
    silentAboutIt: { ...hostile('--discover=never'), start_timeout_ms: 8_000 },
    unreadableInPipe: hostile('--discover=unreadable'),
    leaving: hostile('--exit-on-discover'),
    stuck: { ...hostile('--discover=stuck', '--ignore-term'), start_timeout_ms: 4_000 },
    slow: { ...hostile('--start-after=7000'), start_timeout_ms: 60_000 },
    slowAndNew: { ...hostile('--only-newer', '--start-after=4500'), start_timeout_ms: 16_000 },
    hanging: { ...hostile('--hang-in-initialize', '--ignore-term'), start_timeout_ms: 2_000 },
    hangingLong: hostile('--hang-in-initialize', '--ignore-term'),
    deaf: { url: deaf.url, start_timeout_ms: 2_000 },
  });
});
afterAll(async () => {
  await servers?.close();
  await Promise.all([server.stop(), deaf.stop()]);
});

for (const name of Object.keys(refusals)) {
  verifies('tools.older-greeting', `over HTTP: ${name}`, async () => {
    expect(await servers.call(name, 'any')).toEqual({ content: [] });
    expect(asked.filter((each) => each.startsWith(`${name} `))).toContain(`${name} initialize`);
  });
}

for (const name of ['silentAboutIt', 'unreadableInPipe', 'leaving', 'slow']) {
  verifies('tools.older-greeting', `a program: ${name}`, async () => {
    expect(await servers.call(name, 'echo', { args: { text: 'here' } })).toMatchObject({
      content: [{ type: 'text', text: 'here' }],
    });
  });
}

verifies(
  'tools.older-greeting',
  'a program that the newer greeting has made deaf is not sent it next time',
  async () => {
    await expect(servers.call('stuck', 'echo')).rejects.toMatchObject({ code: 'tool_unavailable' });
    expect(await servers.call('stuck', 'echo', { args: { text: 'here' } })).toMatchObject({
      content: [{ type: 'text', text: 'here' }],
    });
  },
);

verifies('tools.older-greeting', 'a slow program that speaks only the newer era is given its time', async () => {
  const startOf = async (session: string) => {
    const startedAt = performance.now();
    const result = await servers.call('slowAndNew', 'echo', { args: { text: 'here' }, session });
    expect(result).toMatchObject({ content: [{ type: 'text', text: 'here' }] });
    return performance.now() - startedAt;
  };
  const first = await startOf('sess_1');
  // It is known now: one start is enough.
  expect(await startOf('sess_2')).toBeLessThan(first - 2_000);
});

verifies('tools.hanging-start', 'the error names the setting, and nothing is left', async () => {
  const before = await countToolProcesses();
  for (const name of ['hanging', 'deaf']) {
    await expect(servers.call(name, 'echo'), name).rejects.toMatchObject({
      code: 'tool_unavailable',
      message: expect.stringContaining('start_timeout_ms'),
    });
  }
  await expect.poll(countToolProcesses, { timeout: 8_000 }).toBe(before);
});

verifies('tools.hanging-start', 'a call whose time is over before says so, and nothing is left', async () => {
  const before = await countToolProcesses();
  const user = { principal: 'local', sessionId: 'sess_h', directory: 'ws_h' };
  const deadline = Date.now() + 500;
  const called = servers.pool.use('hangingLong', { user, signal: AbortSignal.timeout(700), deadline }, async () => 1);
  await expect(called).rejects.toMatchObject({
    code: 'tool_unavailable',
    message: expect.stringMatching(/still starting: .* 60000 ms \(start_timeout_ms\)/),
  });
  await expect.poll(countToolProcesses, { timeout: 12_000 }).toBe(before);
});

test('a server that cannot be reached is reported without its address', async () => {
  const gone = httpServer((_request, response) => response.end());
  await gone.start();
  const { origin } = new URL(gone.url);
  await gone.stop();
  const opened = await openToolServers({ gone: { url: `${origin}/mcp` } });
  try {
    await expect(opened.call('gone', 'echo')).rejects.toThrow(
      'Could not connect to the tool server: it cannot be reached (ECONNREFUSED)',
    );
  } finally {
    await opened.close();
  }
});
