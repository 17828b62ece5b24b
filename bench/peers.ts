// `npm run bench -- --peers`: the same scenarios put to what a user would take instead, on the same machine and in the
// same run. Their packages go into a temporary directory, only when this is asked for.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { AiSdkLoops } from './ai-sdk.js';
import type { Busy, LoadResult } from './keep-busy.js';
import { type PeerProgram, peerPrograms } from './peer-programs.js';
import { answerOf, cpuMs, residentMegabytes, startPart, startProgram } from './processes.js';
import { chunksAStream, type Scenario, warmingUp } from './scenarios.js';
import type { System } from './system.js';

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

export interface PeerFigures {
  peer: string;
  perSecond: number;
  p50Ms: number;
  /** Median, to the first bytes. */
  firstBytesMs: number;
  /** CPU time a unit of the scenario, of the process that asks and, in a queue, of the one that answers. */
  micros: number;
  /** Resident, after the load. */
  megabytes: number;
}

export interface Measuring {
  system: System;
  scenario: Scenario;
  warmMs: number;
  measureMs: number;
}

export interface Peers {
  /** One after another; none where the scenario is nothing that a peer does. */
  measure(what: Measuring): AsyncIterable<PeerFigures>;
  close(): Promise<void>;
}

/** A peer that is up: what is put to it, and the processes whose time counts. */
interface Subject {
  pids: number[];
  put(busy: Busy): Promise<LoadResult>;
  close(): Promise<void> | void;
}

/** Installs them. @throws Error when a package cannot be had */
export async function installPeers(): Promise<Peers> {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-peers-'));
  const close = () => rm(directory, { recursive: true, force: true });
  try {
    await writeFile(join(directory, 'package.json'), JSON.stringify(packages));
    const install = ['install', '--prefix', directory, '--no-audit', '--no-fund', '--ignore-scripts'];
    await promisify(execFile)('npm', install, { cwd: directory, timeout: installMs });
    return { measure: (what) => measurePeers(directory, what), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function* measurePeers(directory: string, what: Measuring): AsyncGenerator<PeerFigures> {
  const { system, scenario } = what;
  for (const program of peerPrograms) {
    if (program.serves(scenario)) {
      yield await figuresOf(program.peer, await openProgram(program, directory, what), what);
    }
  }
  if (scenario.unit === 'loop') yield await figuresOf('AI SDK', openAiSdk(directory, what), what);
  if (scenario.unit === 'trip' && system.redisUrl !== undefined) {
    yield await figuresOf('BullMQ with QueueEvents', await openQueue(system.redisUrl), what);
  }
}

async function figuresOf(
  peer: string,
  subject: Subject,
  { scenario, warmMs, measureMs }: Measuring,
): Promise<PeerFigures> {
  try {
    const spent = () => subject.pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
    await subject.put(warmingUp(scenario, warmMs));
    const before = spent();
    const { requests, elapsedMs, p50Ms, firstBytesMs, failures } = await subject.put({
      inFlight: scenario.inFlight,
      forMs: measureMs,
    });
    const spentMs = spent() - before;
    if (failures.length > 0) throw new Error(`not everything put to ${peer} succeeded: ${failures.join('\n')}`);
    const units = requests * (scenario.unit === 'chunk' ? chunksAStream : 1);
    const megabytes = subject.pids.reduce((sum, pid) => sum + residentMegabytes(pid), 0);
    return {
      peer,
      perSecond: (units * 1_000) / elapsedMs,
      p50Ms,
      firstBytesMs,
      micros: (spentMs * 1_000) / units,
      megabytes,
    };
  } finally {
    await subject.close();
  }
}

async function openProgram(program: PeerProgram, directory: string, { system, scenario }: Measuring): Promise<Subject> {
  const { url, pid, stop } = await startProgram(await program.argumentsIn(directory, system.upstreamUrl));
  try {
    const load = await program.load(url, scenario, system.upstreamUrl);
    return { pids: [pid], put: (busy) => system.put({ ...load, ...busy, url }), close: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function openAiSdk(directory: string, { system: { upstreamUrl }, scenario }: Measuring): Subject {
  const { messages } = scenario.body as Pick<AiSdkLoops, 'messages'>;
  const part = startPart('ai-sdk');
  return {
    pids: [part.pid!],
    put(busy) {
      const result = answerOf<LoadResult>(part);
      part.send({ ...busy, directory, upstreamUrl, messages } satisfies AiSdkLoops);
      return result;
    },
    close: () => void part.kill(),
  };
}

async function openQueue(redisUrl: string): Promise<Subject> {
  const [trips, echo] = [startPart('bullmq-trips', redisUrl), startPart('bullmq-echo', redisUrl)];
  const close = () => [trips, echo].forEach((part) => part.kill());
  try {
    await Promise.all([trips, echo].map((part) => answerOf(part)));
  } catch (error) {
    close();
    throw error;
  }
  return {
    pids: [trips.pid!, echo.pid!],
    put(busy) {
      const result = answerOf<LoadResult>(trips);
      trips.send(busy);
      return result;
    },
    close,
  };
}
