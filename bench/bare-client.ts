// The same calls put to the same MCP server by the SDK's client alone: what the way through Signalbox is compared with.
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { answerTheBench, keepBusy } from './keep-busy.js';

const server = fileURLToPath(new URL('./tool-server.js', import.meta.url));
const client = new Client({ name: 'bench', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } });
await client.connect(new StdioClientTransport({ command: process.execPath, args: [server] }));

answerTheBench((busy) =>
  keepBusy(busy, async () => {
    const { isError } = await client.callTool({ name: 'say', arguments: { text: 'hello' } });
    if (isError === true) throw new Error('the tool failed');
  }),
);
process.send!('ready');
