import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { readConfig } from '#libs/config/read-config.js';
import { silentLogger } from '#libs/logging/logger.js';
import { McpEndpoint } from '#libs/mcp-server/endpoint/mcp-endpoint.js';
import { ToolServer } from '#libs/mcp-server/tool-server.js';
import { type OpenHttpServer, openHttpServer } from '../../../../test/support/open-http-server.js';
import { rawRequest, type RawRequest } from '../../../../test/support/raw-request.js';
import { serveEndpoint } from '../../../../test/support/serve-endpoint.js';
import { verifies } from '../../../../test/verifies.js';
import { withClients } from '../../../../test/support/mcp-clients.js';
import { McpController } from './mcp.controller.js';
import { TurnAdmission } from '../../govern/turn-admission.js';

let http: OpenHttpServer;
let goOn: () => void;
const server = new ToolServer(
  { name: 'probe' },
  { authorize: () => true, around: (_call, run) => run() },
  { logger: silentLogger },
);

beforeAll(async () => {
  const input = z.object({});
  server.register({
    name: 'count',
    place: 'this test',
    options: { description: 'Tells how far it is.', input },
    // The old SDK may handle a result before progress that arrives with it, so the result waits for the progress.
    handler: async (_input, { reportProgress }) => {
      reportProgress(1, 2);
      await new Promise<void>((resolve) => (goOn = resolve));
      return 'done';
    },
  });
  const { endpoint } = serveEndpoint(server);
  const providers = [{ provide: McpEndpoint, useValue: endpoint }];
  http = await openHttpServer({ config: readConfig({ environment: {} }) }, [McpController], providers);
});
afterAll(async () => {
  await http?.app.get(McpController).close();
  await http?.close();
});

const messages = '/sse/messages?sessionId=sess_none';
const cases: [name: string, request: RawRequest, status: number, code: string][] = [
  ['a strange Host', { method: 'GET', path: '/sse', headers: { host: 'evil.example' } }, 403, 'host_forbidden'],
  [
    'a strange page',
    { method: 'GET', path: '/sse', headers: { origin: 'https://a.example' } },
    403,
    'origin_forbidden',
  ],
  ['a strange page that posts', { path: messages, headers: { origin: 'https://a.example' } }, 403, 'origin_forbidden'],
  ['a session that there is not', { path: messages }, 404, 'session_not_found'],
  ['no session', { path: '/sse/messages' }, 400, 'invalid_value'],
  ['no message', { path: messages, body: '{"jsonrpc":"1.0"}' }, 400, 'invalid_value'],
  ['no JSON', { path: messages, body: '{' }, 400, 'invalid_json'],
  ['another method', { path: '/sse' }, 405, 'method_not_allowed'],
];

for (const [name, request, status, code] of cases) {
  verifies('mcp.sse', `refused: ${name}`, async () => {
    const body = request.method === 'GET' ? {} : { body: '{"jsonrpc":"2.0","id":1,"method":"ping"}' };
    const answer = await rawRequest(http.url, { ...body, ...request });
    const reported: unknown = JSON.parse(answer.text);
    expect([answer.status, reported]).toMatchObject([status, { jsonrpc: '2.0', error: { data: { code } } }]);
  });
}

verifies('mcp.sse', 'the SDK 1.x client lists, calls with progress, and leaves nothing to wait for', () =>
  withClients(http.url, ['the 1.x client, HTTP+SSE'], async (client) => {
    expect((await client.listTools()).map((tool) => tool.name)).toEqual(['count']);
    const reported: number[] = [];
    const onprogress = ({ progress }: { progress: number }) => {
      reported.push(progress);
      goOn();
    };
    const { content } = await client.call({ name: 'count', arguments: {} }, { onprogress });
    expect([content, reported]).toEqual([[{ type: 'text', text: 'done' }], [1]]);
    await expect(client.call({ name: 'none' })).rejects.toMatchObject({ code: -32_602 });
    await expect(client.request('no/such', {})).rejects.toMatchObject({ code: -32_601 });
    // The calls no longer count as turns: a shutdown waits for nothing.
    await http.app.get(TurnAdmission).drain(60_000);
  }),
);

verifies('mcp.sse', 'a stop: the streams end, no new one begins', async () => {
  const stream = await fetch(`${http.url}/sse`);
  expect(stream.headers.get('content-type')).toBe('text/event-stream');
  http.app.get(McpController).stopWaiting();
  expect(await stream.text()).toMatch(/^: keep-alive\n\nevent: endpoint\ndata: \/sse\/messages\?sessionId=\w+\n\n$/);
  const late = await fetch(`${http.url}/sse`);
  expect([late.status, await late.json()]).toMatchObject([503, { error: { data: { code: 'shutting_down' } } }]);
});
