// Secrets of every kind, in every place where a tool server can put them, and nowhere where people read: the audit, its
// exports, the logs at their most talkative, and what is answered about a failure.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

/** Of the configuration, of the caller, and by their names in arguments. */
const canaries = {
  header: 'canary-header "4fa1b2',
  environment: 'canary-environment-9c3d',
  provider: 'canary-provider-77e0aa',
  caller: 'canary-caller-51d0c8',
  argument: 'canary-argument-e2f4',
};
const reported: string[] = [];
let http: Server;
let box: Signalbox;

/** Says everything that it was sent, in its result or as its failure. */
async function serve(request: IncomingMessage): Promise<object | undefined> {
  const { id, method, params } = JSON.parse(await text(request)) as {
    id?: number;
    method?: string;
    params?: { protocolVersion?: string; arguments?: { fail?: boolean } };
  };
  if (id === undefined) return undefined;
  const echo = JSON.stringify([request.headers, params, Object.values(canaries).slice(0, 4)]);
  if (method === 'tools/call') reported.push(echo);
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'web', version: '1' },
    },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: echo }], isError: params?.arguments?.fail === true },
  };
  const result = results[method ?? ''];
  return { jsonrpc: '2.0', id, ...(result === undefined ? { error: { code: -32_601, message: echo } } : { result }) };
}

beforeAll(async () => {
  http = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    void serve(request).then((answer) => {
      if (answer === undefined) return response.writeHead(202).end();
      return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const script = `console.error(process.env.TOKEN_OF_IT); process.exit(1)`;
  box = await startSignalbox({
    environment: {
      LOG_LEVEL: 'debug',
      MODELS_PROVIDERS: JSON.stringify({
        scripted: { kind: 'openai', base_url: 'http://127.0.0.1:9', api_key: canaries.provider },
      }),
      MCP_SERVERS: JSON.stringify({
        web: { url, headers: { 'x-authorization': `Bearer ${canaries.header}` }, forward_headers: ['x-caller'] },
        broken: { command: 'node', args: ['-e', script], env: { TOKEN_OF_IT: canaries.environment } },
      }),
    },
  });
});
afterAll(async () => {
  await box?.close();
  http?.closeAllConnections();
  http?.close();
});

const call = async (args: object) => {
  const answer = await fetch(`${box.url}/api/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-caller': `Token ${canaries.caller}` },
    body: JSON.stringify({ name: 'echo', arguments: { password: canaries.argument, ...args } }),
  });
  return { status: answer.status, body: await answer.text() };
};
/** In any form in which it may stand in a text. */
const found = (where: string, names: readonly (keyof typeof canaries)[]) =>
  names.filter((name) => where.includes(canaries[name]) || where.includes(JSON.stringify(canaries[name]).slice(1, -1)));
const all = Object.keys(canaries) as (keyof typeof canaries)[];
/** The argument is the caller's own: what the tool says of it is the caller's too. */
const ours = all.filter((name) => name !== 'argument');

verifies('audit.canaries', 'in answers to failures', async () => {
  expect((await call({})).status).toBe(200);
  expect(found(reported.join('\n'), ['header', 'caller', 'argument'])).toEqual(['header', 'caller', 'argument']);
  const failure = await call({ fail: true });
  expect(failure.body).toContain('[redacted]');
  expect(found(failure.body, ours)).toEqual([]);
  // A server is listed with the first heartbeat of the worker that has it.
  const servers = await vi.waitFor(
    async () => {
      const answer = await fetch(`${box.url}/api/servers`).then((response) => response.text());
      expect(answer).toContain('broken');
      return answer;
    },
    { timeout: 20_000, interval: 100 },
  );
  expect(found(servers, all)).toEqual([]);
});

verifies('audit.canaries', 'in the audit and its exports', async () => {
  const rows = await box.rows<{ row: string }>('select audit_events::text as row from audit_events');
  expect(rows.length).toBeGreaterThanOrEqual(2);
  expect(
    found(
      rows
        .map(({ row }) => row)
        .join('\n')
        .replaceAll('\\"', '"')
        .replaceAll('""', '"'),
      all,
    ),
  ).toEqual([]);
  for (const path of ['', '/export', '/export?format=csv']) {
    const shown = await fetch(`${box.url}/api/audit${path}`).then((answer) => answer.text());
    expect(shown).toContain('echo');
    expect(found(shown, all)).toEqual([]);
  }
});

verifies('audit.canaries', 'in the logs of gateway and worker', () => {
  const lines = JSON.stringify([...box.gateways, ...box.workers].map(({ log }) => log));
  expect(lines).toContain('stderr of a tool server');
  expect(found(lines.replaceAll('\\\\', '\\').replaceAll('\\"', '"'), all)).toEqual([]);
});
