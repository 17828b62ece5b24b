// Names of tools and results that a strict client does not take, and arguments as models write them, over the gateway's MCP endpoint.
import { afterAll, beforeAll, expect } from 'vitest';
import { z } from 'zod';
import { mcpClients, withClients } from '../support/mcp-clients.js';
import { type OpenMcpServer, openMcpServer } from '../support/open-mcp-server.js';
import { queuePathOfFile } from '../support/queue-path.js';
import { verifies } from '../verifies.js';

const path = queuePathOfFile();
let server: OpenMcpServer;

beforeAll(async () => {
  server = await openMcpServer(path.services, path.gateway);
});
afterAll(() => server?.close());

for (const name of Object.keys(mcpClients) as (keyof typeof mcpClients)[]) {
  verifies('mcp.names', `${name}: listed, described and called by both names; a number as text`, async () => {
    const own = `odd/${name.replaceAll(/\W/g, '.')}`;
    const shown = own.replaceAll(/\W/g, '_');
    path.worker.server.register({
      name: own,
      place: 'this test',
      options: { description: 'Twice.', input: z.object({ n: z.int() }) },
      handler: ({ n }) => String(Number(n) * 2),
    });
    await withClients(server.url, [name], async (client) => {
      const find = async () => (await client.listTools()).find((tool) => tool.name === shown);
      await expect.poll(find, { timeout: 10_000 }).toBeDefined();
      const listed = await find();
      expect(listed).toMatchObject({ title: own, _meta: { 'signalbox/name': own } });
      for (const called of [shown, own]) {
        expect(await client.request('tools/describe', { name: called })).toMatchObject({ tool: listed! });
        const answered = await client.call({ name: called, arguments: { n: '21' } });
        expect(answered.content).toEqual([{ type: 'text', text: '42' }]);
        const id = answered._meta!['signalbox/call_id'];
        const rows = await path.services.rows(
          'select kind, name, arguments from audit_events where call_id = $1 order by kind',
          [id],
        );
        expect(rows).toEqual([
          { kind: 'arguments_converted', name: own, arguments: '{"n":"21"}' },
          { kind: 'tool_call', name: own, arguments: '{"n":21}' },
        ]);
      }
      expect(await client.call({ name: shown, arguments: { n: 'many' } })).toMatchObject({ isError: true });
    });
  });
}

verifies(
  'mcp.calls',
  'structured content that is no object, which older clients refuse, is returned as text',
  async () => {
    path.worker.server.register({
      name: 'list_numbers',
      place: 'this test',
      options: { description: 'Numbers.', input: z.object({}) },
      handler: () => ({ content: [], structuredContent: [1, 2] as never }),
    });
    await withClients(server.url, Object.keys(mcpClients) as (keyof typeof mcpClients)[], async (client) => {
      const find = async () => (await client.listTools()).find((tool) => tool.name === 'list_numbers');
      await expect.poll(find, { timeout: 10_000 }).toBeDefined();
      const answered = await client.call({ name: 'list_numbers', arguments: {} });
      expect(answered.content).toEqual([{ type: 'text', text: '[1,2]' }]);
      expect(answered).not.toHaveProperty('isError');
    });
  },
);
