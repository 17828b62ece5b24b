// `npm run bench -- --peers`: the same scenarios put to what a user would take instead, on the same machine and in the
// same run. Their packages go into a temporary directory, only when this is asked for.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { AiSdkLoops, AiSdkResult } from './ai-sdk.js';
import { answerOf, cpuMs, type Service, startPart, startProgram } from './processes.js';
import { CHUNKS_A_STREAM, type Scenario } from './scenarios.js';
import type { System } from './system.js';

const packages = {
  private: true,
  dependencies: { '@portkey-ai/gateway': '1.15.2', ai: '6.0.326', '@ai-sdk/openai-compatible': '2.0.91' },
  // With a later one, every stream of this Portkey ends with 500: it changes headers that are immutable there.
  overrides: { '@hono/node-server': '1.3.3' },
};
const installMs = 300_000;

export interface PeerFigures {
  peer: string;
  perSecond: number;
  p50Ms: number;
  /** CPU time a unit of the scenario. */
  micros: number;
}

export interface Peers {
  /** Undefined where this scenario is nothing that a peer does. */
  measure(
    system: System,
    scenario: Scenario,
    forMs: { warm: number; measure: number },
  ): Promise<PeerFigures | undefined>;
  close(): Promise<void>;
}

/** Installs and starts them. @throws Error when a package cannot be had */
export async function startPeers(): Promise<Peers> {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-peers-'));
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    await writeFile(join(directory, 'package.json'), JSON.stringify(packages));
    const install = ['install', '--prefix', directory, '--no-audit', '--no-fund', '--ignore-scripts'];
    await promisify(execFile)('npm', install, { cwd: directory, timeout: installMs });
    const main = join(directory, 'node_modules/@portkey-ai/gateway/build/start-server.js');
    const portkey = await startProgram((port) => [main, '--headless', `--port=${port}`]);
    return {
      measure(system, scenario, forMs) {
        const { beside, path } = scenario;
        if (beside === 'upstream' && path !== undefined) {
          return measurePortkey(portkey, system, { ...scenario, path }, forMs);
        }
        if (scenario.unit === 'loop') return measureAiSdk(directory, system, scenario, forMs);
        return Promise.resolve(undefined);
      },
      async close() {
        await portkey.stop();
        await remove();
      },
    };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function measurePortkey(
  portkey: Service,
  system: System,
  scenario: Scenario & { path: string },
  { warm, measure }: { warm: number; measure: number },
): Promise<PeerFigures> {
  const headers = {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${system.upstreamUrl}/v1`,
    authorization: 'Bearer none',
  };
  const load = { ...scenario, url: portkey.url, headers };
  await system.put({ ...load, forMs: warm });
  const before = cpuMs(portkey.pid);
  const { requests, elapsedMs, p50Ms, failures } = await system.put({ ...load, forMs: measure });
  const spentMs = cpuMs(portkey.pid) - before;
  if (failures.length > 0) throw new Error(`not every request to Portkey succeeded: ${failures.join('\n')}`);
  const units = requests * (scenario.unit === 'chunk' ? CHUNKS_A_STREAM : 1);
  return { peer: 'Portkey', perSecond: (units * 1_000) / elapsedMs, p50Ms, micros: (spentMs * 1_000) / units };
}

async function measureAiSdk(
  directory: string,
  { upstreamUrl }: System,
  scenario: Scenario,
  { warm, measure }: { warm: number; measure: number },
): Promise<PeerFigures> {
  const { messages } = scenario.body as Pick<AiSdkLoops, 'messages'>;
  const part = startPart('ai-sdk');
  const put = (forMs: number) => {
    const result = answerOf<AiSdkResult>(part);
    part.send({ directory, upstreamUrl, messages, inFlight: scenario.inFlight, forMs } satisfies AiSdkLoops);
    return result;
  };
  try {
    await put(warm);
    const { loops, elapsedMs, p50Ms, micros } = await put(measure);
    return { peer: 'AI SDK', perSecond: (loops * 1_000) / elapsedMs, p50Ms, micros };
  } finally {
    part.kill();
  }
}
