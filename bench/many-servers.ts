// So many tool servers in one process, a path each, made with the SDK: the catalog that is measured is theirs. Their definitions are those
// of real servers under other names. Says where it listens, and ends with its parent.
import { readdirSync, readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createMcpHandler, Server, type Tool } from '@modelcontextprotocol/server';
import { installedPath } from '#libs/process/find-installed.js';
import { httpServerOf } from '../test/support/serve-sdk-server.js';

const [servers, toolsOfEach] = process.argv.slice(2).map(Number) as [number, number];
const definitions = realDefinitions();

function realDefinitions(): Tool[] {
  const directory = installedPath('test/fixtures/tool-definitions');
  return readdirSync(directory)
    .sort()
    .flatMap((file) => (JSON.parse(readFileSync(join(directory, file), 'utf8')) as { tools: Tool[] }).tools);
}

/** Each server has its own stretch of the definitions; what it adds to a name keeps all names different. */
function toolsOf(server: number): Tool[] {
  return Array.from({ length: toolsOfEach }, (_none, at) => {
    const definition = definitions[(server * toolsOfEach + at) % definitions.length]!;
    return { ...definition, name: `${definition.name}_${server}_${at}` };
  });
}

const handlers = Array.from({ length: servers }, (_none, at) => {
  const tools = toolsOf(at);
  return createMcpHandler(() => {
    const server = new Server({ name: `many-${at}`, version: '1' }, { capabilities: { tools: {} } });
    server.setRequestHandler('tools/list', () => ({ tools }));
    server.setRequestHandler('tools/call', () => ({ content: [{ type: 'text', text: 'done' }] }));
    return server;
  });
});

const http = httpServerOf((path) => handlers[Number(path.slice(1))]!);
http.keepAliveTimeout = 60_000;
http.listen(0, '127.0.0.1', () => process.send!({ port: (http.address() as AddressInfo).port }));
process.once('disconnect', () => process.exit(0));
