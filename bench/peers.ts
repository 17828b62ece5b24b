// `npm run bench -- --peers`: the same scenarios put to what a user would take instead, on the same machine and in the
// same run. Their packages go into a temporary directory, only when this is asked for.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { AiSdkLoops } from './ai-sdk.js';
import type { Load } from './load.js';
import type { Subject } from './measure.js';
import { ask, cpuMs, startPart, startProgram } from './processes.js';
import type { Scenario } from './scenarios.js';
import { openEnds } from './subjects.js';
import { type Fakes, toolServer } from './system.js';

const packages = {
  private: true,
  dependencies: {
    '@portkey-ai/gateway': '1.15.2',
    ai: '6.0.326',
    '@ai-sdk/openai-compatible': '2.0.91',
    'mcp-hub': '4.2.1',
    'mcp-proxy': '6.7.19',
    supergateway: '4.0.0',
  },
  // With a later one, every stream of this Portkey ends with 500: it changes headers that are immutable there.
  overrides: { '@portkey-ai/gateway': { '@hono/node-server': '1.3.3' } },
};
const installMs = 300_000;
const startMs = 10_000;

export interface Peers {
  /** Those that can do it, up and ready; `redisUrl` is that of the system under measure. */
  open(scenario: Scenario, redisUrl: string | undefined): Promise<Subject[]>;
  close(): Promise<void>;
}

/** Installs them. @throws Error when a package cannot be had */
export async function installPeers(fakes: Fakes): Promise<Peers> {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-peers-'));
  const close = () => rm(directory, { recursive: true, force: true });
  try {
    await writeFile(join(directory, 'package.json'), JSON.stringify(packages));
    const install = ['install', '--prefix', directory, '--no-audit', '--no-fund', '--ignore-scripts'];
    await promisify(execFile)('npm', install, { cwd: directory, timeout: installMs });
    return { open: (scenario, redisUrl) => openPeers({ directory, fakes, scenario, redisUrl }), close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface Opening {
  directory: string;
  fakes: Fakes;
  scenario: Scenario;
  redisUrl: string | undefined;
}

async function openPeers(opening: Opening): Promise<Subject[]> {
  const { scenario, redisUrl } = opening;
  const opened: Subject[] = [];
  try {
    for (const program of programs) {
      if (program.beside === scenario.beside && scenario.path !== undefined)
        opened.push(await openProgram(program, opening));
    }
    if (scenario.unit === 'loop') opened.push(openAiSdk(opening));
    if (scenario.unit === 'trip' && redisUrl !== undefined)
      opened.push({ name: 'BullMQ with QueueEvents', ...(await openEnds('bullmq-part', redisUrl)) });
    return opened;
  } catch (error) {
    for (const each of opened) await each.close?.();
    throw error;
  }
}

function openAiSdk({ directory, fakes: { upstreamUrl }, scenario }: Opening): Subject {
  const { messages } = scenario.body as Pick<AiSdkLoops, 'messages'>;
  const part = startPart('ai-sdk');
  return {
    name: 'AI SDK',
    cpuMs: { process: () => cpuMs(part.pid!) },
    put: (busy) => ask(part, { ...busy, directory, upstreamUrl, messages } satisfies AiSdkLoops),
    close: () => part.kill(),
  };
}

/** A peer that is a program with an HTTP port of its own. */
interface Program {
  name: string;
  beside: Scenario['beside'];
  /** Of Node, by the port that it is to listen on; `directory` has the packages. */
  argumentsIn(directory: string): Promise<(port: number) => string[]>;
  load(url: string, opening: Opening): Promise<Pick<Load, 'path' | 'body' | 'headers'>>;
}

async function openProgram(program: Program, opening: Opening): Promise<Subject> {
  const { url, pid, stop } = await startProgram(await program.argumentsIn(opening.directory));
  try {
    const load = await program.load(url, opening);
    return {
      name: program.name,
      cpuMs: { process: () => cpuMs(pid) },
      put: (busy) => opening.fakes.put({ ...load, ...busy, url }),
      close: stop,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

const say = { name: 'say', arguments: { text: 'hello' } };

const portkey: Program = {
  name: 'Portkey',
  beside: 'upstream',
  argumentsIn: async (directory) => (port) => [
    join(directory, 'node_modules/@portkey-ai/gateway/build/start-server.js'),
    '--headless',
    `--port=${port}`,
  ],
  load: async (_, { scenario: { path, body }, fakes }) => ({
    path: path!,
    body,
    headers: {
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `${fakes.upstreamUrl}/v1`,
      authorization: 'Bearer none',
    },
  }),
};

const mcpHub: Program = {
  name: 'mcp-hub (REST)',
  beside: 'tool server',
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

const mcpProxy: Program = {
  name: 'mcp-proxy (/mcp)',
  beside: 'tool server',
  argumentsIn: async (directory) => (port) => [
    join(directory, 'node_modules/mcp-proxy/dist/bin/mcp-proxy.mjs'),
    '--host=127.0.0.1',
    `--port=${port}`,
    '--server=stream',
    '--',
    toolServer.command,
    ...toolServer.args,
  ],
  load: openSession,
};

const supergateway: Program = {
  name: 'supergateway (/mcp)',
  beside: 'tool server',
  argumentsIn: async (directory) => (port) => [
    join(directory, 'node_modules/supergateway/dist/index.js'),
    `--stdio=${[toolServer.command, ...toolServer.args].join(' ')}`,
    '--outputTransport=streamableHttp',
    '--stateful',
    `--port=${port}`,
    '--logLevel=none',
  ],
  load: openSession,
};

const programs: readonly Program[] = [portkey, mcpHub, mcpProxy, supergateway];

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
