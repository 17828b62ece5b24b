import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect } from 'vitest';
import { verifies } from '../verifies.js';

const program = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../fixtures/tool-servers/own-clock.mjs', import.meta.url))],
  stderr: 'pipe' as const,
};

const clients = {
  '2026-07-28': async () => {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } });
    const transport = new StdioClientTransport(program);
    await client.connect(transport);
    return { client, transport };
  },
  'SDK 1.x': async () => {
    const client = new OldClient({ name: 'test', version: '1' });
    const transport = new OldTransport(program);
    await client.connect(transport);
    return { client, transport };
  },
};

for (const [era, connect] of Object.entries(clients)) {
  verifies('tools.own-server-stdio', era, async () => {
    const { client, transport } = await connect();
    try {
      let said = '';
      transport.stderr?.on('data', (data: Buffer) => (said += data.toString()));
      const { tools } = await client.listTools();
      expect(tools).toMatchObject([{ name: 'getTime', annotations: { readOnlyHint: true } }]);
      const result = await client.callTool({ name: 'getTime', arguments: { offset_ms: 5 } });
      expect(result).toMatchObject({ structuredContent: { timestamp: 1_005 } });
      // The log goes to standard error: standard output is the protocol's.
      await expect.poll(() => said, { timeout: 10_000 }).toContain('tool call getTime');
    } finally {
      await client.close();
    }
  });
}
