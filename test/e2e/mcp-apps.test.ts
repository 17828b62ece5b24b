// Apps of tool servers through the gateway's MCP endpoint: what their tools, pages and results say reaches clients unchanged. With
// real queue, journal, worker and tool servers on the official SDK.
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { z } from 'zod';
import { configSchema } from '#libs/config/schema.js';
import { appCapability } from '#libs/mcp-server/tool-app.js';
import { offerTools } from '../../apps/gateway/turn/offer-tools.js';
import type { TurnRequest } from '../../apps/gateway/turn/turn-request.js';
import { appPage, appPageMeta, type AppServer, startAppServer } from '../support/app-server.js';
import { type CallResult, mcpClients, withClients } from '../support/mcp-clients.js';
import { type OpenMcpServer, openMcpServer } from '../support/open-mcp-server.js';
import {
  openGateway,
  openServices,
  openWorker,
  type Services,
  type TestGateway,
  type TestWorker,
} from '../support/queue-path.js';
import { verifies } from '../verifies.js';

let sales: AppServer;
let branch: AppServer;
let services: Services;
let worker: TestWorker;
let gateway: TestGateway;
let server: OpenMcpServer;

beforeAll(async () => {
  sales = await startAppServer('sales');
  branch = await startAppServer('branch');
  const mcpServers = { sales: { url: sales.url }, branch: { url: branch.url } };
  services = await openServices({ TOOLS_MAX_RESULT_BYTES: '2000' }, JSON.stringify({ mcpServers }));
  worker = await openWorker(services);
  gateway = await openGateway(services);
  server = await openMcpServer(services, gateway);
  await vi.waitUntil(() => gateway.catalog.offering().length === 3, { timeout: 20_000 });
}, 60_000);
afterAll(async () => {
  await server?.close();
  await gateway?.close();
  await worker?.close();
  await services?.close();
  await sales?.close();
  await branch?.close();
});

const rewritten = 'ui://signalbox/branch/sales/board';

for (const mode of ['auto', 'legacy'] as const) {
  const withAppClient = async (body: (client: Client) => Promise<void>) => {
    const client = new Client(
      { name: 'host', version: '1' },
      { capabilities: { extensions: appCapability }, versionNegotiation: { mode } },
    );
    await client.connect(new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`)));
    try {
      expect(client.getProtocolEra()).toBe(mode === 'auto' ? 'modern' : 'legacy');
      await body(client);
    } finally {
      await client.close();
    }
  };
  const pageOf = async (client: Client, uri: string) =>
    (await client.request({ method: 'resources/read', params: { uri } }, z.looseObject({})))['contents'];

  verifies('mcp.apps', `${mode}: tools and pages, also of two servers with the same page`, () =>
    withAppClient(async (client) => {
      const { tools } = await client.listTools();
      const metaOf = (name: string) => tools.find((tool) => tool.name === name)?._meta;
      expect(metaOf('sales')).toEqual({
        ui: { resourceUri: appPage },
        'ui/resourceUri': appPage,
        'signalbox/server': 'sales',
      });
      expect(metaOf('plain')).toEqual({ 'signalbox/server': 'sales' });
      expect(metaOf('branch__sales')).toMatchObject({ ui: { resourceUri: rewritten }, 'ui/resourceUri': rewritten });
      expect(metaOf('branch__refresh')).toMatchObject({ ui: { resourceUri: rewritten, visibility: ['app'] } });
      const page = { uri: appPage, mimeType: 'text/html;profile=mcp-app', _meta: appPageMeta };
      expect(await pageOf(client, appPage)).toEqual([{ ...page, text: '<p>sales</p>' }]);
      expect(await pageOf(client, rewritten)).toEqual([{ ...page, text: '<p>branch</p>' }]);
    }),
  );

  verifies('mcp.app-results', `${mode}: of a tool with an app, and of one without`, () =>
    withAppClient(async (client) => {
      const call = (name: string): Promise<CallResult> => client.callTool({ name, arguments: {} });
      const result = await call('sales');
      expect(result).toMatchObject({
        content: [{ type: 'text', text: 'Sales of May' }],
        structuredContent: { month: 'May', total: 12 },
        _meta: { rows: [1, 2], 'signalbox/call_id': expect.stringMatching(/^call_(?!.*forged)/) },
      });
      expect(sales.declared.at(-1)).toMatchObject(appCapability);
      expect((await call('plain'))._meta).not.toHaveProperty('rows');
      expect(await call('lengthy')).toMatchObject({ structuredContent: { short: true } });
      const huge = await call('huge');
      expect(huge).toMatchObject({ content: [{ text: 'short' }] });
      expect(huge.structuredContent).toBeUndefined();
      expect(huge._meta).not.toHaveProperty('rows');
    }),
  );

  verifies('mcp.app-tools', `${mode}: a client that shows apps is listed the tools for them, and calls one`, () =>
    withAppClient(async (client) => {
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(['refresh', 'branch__refresh', 'forget']));
      const before = sales.refreshed;
      expect(await client.callTool({ name: 'refresh', arguments: {} })).toMatchObject({
        structuredContent: { times: before + 1 },
      });
    }),
  );
}

for (const name of Object.keys(mcpClients) as (keyof typeof mcpClients)[]) {
  verifies('mcp.app-tools', `${name}, which shows no apps`, () =>
    withClients(server.url, [name], async (client) => {
      const names = (await client.listTools()).map((tool) => tool.name);
      expect(names).toEqual(expect.arrayContaining(['sales', 'forget', 'branch__sales']));
      expect(names).not.toContain('refresh');
    }),
  );
}

const settings = configSchema.parse({});

verifies('mcp.app-tools', 'a chat is not offered them, by server or by name', () => {
  const offer = (given: object) => {
    const request = { dialect: 'openai', toolMode: 'auto', tools: [{ type: 'mcp', deniedTools: [], ...given }] };
    return [
      ...offerTools(
        request as unknown as TurnRequest,
        gateway.policy.catalogOf({ principal: 'local' }),
        settings,
      ).tools.keys(),
    ];
  };
  expect(offer({ serverLabel: 'sales' })).toEqual(['sales', 'forget', 'lengthy', 'huge', 'plain']);
  expect(() => offer({ serverLabel: 'sales', allowedTools: ['refresh'] })).toThrow("Tool 'refresh' not found");
  const own = { type: 'function', definition: { name: 'refresh' } };
  const request = { dialect: 'openai', toolMode: 'auto', tools: [own] } as unknown as TurnRequest;
  expect(
    offerTools(request, gateway.policy.catalogOf({ principal: 'local' }), settings).tools.get('refresh'),
  ).not.toHaveProperty('tool');
});

verifies('mcp.skills', 'listed and read as other resources', () =>
  withClients(server.url, ['the 2.x client, 2026-07-28'], async (client) => {
    const { resources } = await client.request('resources/list', {});
    expect(resources).toEqual(
      expect.arrayContaining([expect.objectContaining({ uri: 'skill://reports/SKILL.md', mimeType: 'text/markdown' })]),
    );
    const { contents } = await client.request('resources/read', { uri: 'skill://reports/SKILL.md' });
    expect(contents).toEqual([{ uri: 'skill://reports/SKILL.md', mimeType: 'text/markdown', text: '# Reports' }]);
  }),
);
