// The peers that are programs with an HTTP port of their own: how each is started, and what is put to it.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Load } from './load.js';
import type { Scenario } from './scenarios.js';
import { toolServer } from './system.js';

export interface PeerProgram {
  peer: string;
  serves(scenario: Scenario): boolean;
  /** Of Node, by the port that it is to listen on; `directory` has the packages. */
  argumentsIn(directory: string, upstreamUrl: string): Promise<(port: number) => string[]>;
  load(url: string, scenario: Scenario, upstreamUrl: string): Promise<Pick<Load, 'path' | 'body' | 'headers'>>;
}

const say = { name: 'say', arguments: { text: 'hello' } };
const startMs = 10_000;

/** The scenarios that a proxy can serve. */
const throughToUpstream = ({ beside, path }: Scenario) => beside === 'upstream' && path !== undefined;
/** The scenarios whose way ends in the bench's own MCP server. */
const callsToolServer = ({ beside }: Scenario) => beside === 'tool server';

const portkey: PeerProgram = {
  peer: 'Portkey',
  serves: throughToUpstream,
  argumentsIn: async (directory) => (port) => [
    join(directory, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
    '--headless',
    `--port=${port}`,
  ],
  load: async (_, { path, body }, upstreamUrl) => ({
    path: path!,
    body,
    headers: {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${upstreamUrl}/v1`,
      authorization: 'Bearer none',
    },
  }),
};

/** No peer, but what stands in every peer's way: the yardstick of this machine. */
const bareProxy: PeerProgram = {
  peer: 'Fastify and undici alone',
  serves: throughToUpstream,
  argumentsIn: async (_, upstreamUrl) => (port) => [
    fileURLToPath(new URL('./bare-proxy.js', import.meta.url)),
    String(port),
    upstreamUrl,
  ],
  load: async (_, { path, body }) => ({ path: path!, body }),
};

const mcpHub: PeerProgram = {
  peer: 'mcp-hub (REST)',
  serves: callsToolServer,
  async argumentsIn(directory) {
    const config = join(directory, 'mcp-hub.json');
    await writeFile(config, JSON.stringify({ mcpServers: { bench: toolServer } }));
    const main = join(directory, 'node_modules/mcp-hub/dist/cli.js');
    return (port) => [main, '--port', String(port), '--config', config];
  },
  async load(url) {
    const path = '/api/servers/tools';
    const body = { server_name: 'bench', tool: say.name, arguments: say.arguments };
    const call = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    // It answers before its servers do.
    const until = performance.now() + startMs;
    while (!(await fetch(url + path, call)).ok) {
      if (performance.now() > until) throw new Error('mcp-hub did not reach its server');
      await delay(50);
    }
    return { path, body };
  },
};

const mcpProxy: PeerProgram = {
  peer: 'mcp-proxy (/mcp)',
  serves: callsToolServer,
  argumentsIn: async (directory) => (port) => [
    join(directory, 'node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs'),
    '--host=127.0.0.1',
    `--port=${port}`,
    '--server=stream',
    '--',
    toolServer.command,
    ...toolServer.args,
  ],
  load: (url) => openSession(url),
};

const supergateway: PeerProgram = {
  peer: 'supergateway (/mcp)',
  serves: callsToolServer,
  argumentsIn: async (directory) => (port) => [
    join(directory, 'node_modules/supergateway/dist/index.js'),
    `--stdio=${[toolServer.command, ...toolServer.args].join(' ')}`,
    '--outputTransport=streamableHttp',
    '--stateful',
    `--port=${port}`,
    '--logLevel=none',
  ],
  load: (url) => openSession(url),
};

export const peerPrograms: readonly PeerProgram[] = [bareProxy, portkey, mcpHub, mcpProxy, supergateway];

/** A session of the older era, which is what these programs serve; a program may need a moment for its server. */
async function openSession(url: string): Promise<Pick<Load, 'path' | 'body' | 'headers'>> {
  const path = '/mcp';
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const post = (body: object, more: Record<string, string> = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      headers: { ...headers, ...more },
      body: JSON.stringify({ jsonrpc: '2.0', ...body }),
      signal: AbortSignal.timeout(startMs),
    });
  const clientInfo = { name: 'bench', version: '1.0.0' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
  const answer = await post({ id: 0, method: 'initialize', params });
  await answer.text();
  const session = { 'mcp-session-id': answer.headers.get('mcp-session-id') ?? '' };
  await (await post({ method: 'notifications/initialized' }, session)).text();
  return {
    path,
    body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: say },
    headers: { accept: headers.accept, ...session },
  };
}
