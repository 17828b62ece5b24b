// What the scenarios are put to, peers aside: a Signalbox, the bare proxy, and what is behind both; and what a request makes in a
// Signalbox.
import { fileURLToPath } from 'node:url';
import { countCosts } from '../test/support/services/counted-costs.js';
import type { Busy } from './keep-busy.js';
import type { Subject } from './measure.js';
import {
  answerOf,
  ask,
  cpuMs,
  cpuMsOfTree,
  type PartName,
  type Service,
  startPart,
  startProgram,
} from './processes.js';
import { bareRequest, type Scenario } from './scenarios.js';
import { type Fakes, startSystem, type System, type SystemOptions } from './system.js';

/** A Signalbox whose rows are counted at the end: what was put to it must be what is stored. */
export interface Measured {
  name: string;
  system: System;
  put: { loops: number; calls: number };
  /** By scenario, what its path makes. */
  counts: Map<Scenario, string>;
}

export async function putTo({ system, put }: Measured, scenario: Scenario, busy: Busy, sessions?: number) {
  const { path, body, unit, calls } = scenario;
  const result = await system.put({ path: path!, body, ...busy, ...(sessions === undefined ? {} : { sessions }) });
  if (result.failures.length > 0) throw new Error(`not every request succeeded: ${result.failures.join('\n')}`);
  if (unit === 'loop') put.loops += result.requests;
  put.calls += result.requests * calls;
  return result;
}

export function signalbox(measured: Measured, scenario: Scenario, sessions?: number): Subject {
  const { gateway, worker, postgresPid, redisPid } = measured.system;
  const queued = scenario.calls > 0;
  return {
    name: measured.name,
    cpuMs: { gateway: () => cpuMs(gateway.pid), ...(queued ? { worker: () => cpuMs(worker.pid) } : {}) },
    storeCpuMs: queued ? stores(postgresPid, redisPid) : {},
    put: (busy) => putTo(measured, scenario, busy, sessions),
  };
}

const stores = (postgresPid: number, redisPid: number | undefined): Record<string, () => number> => ({
  postgres: () => cpuMsOfTree(postgresPid),
  ...(redisPid === undefined ? {} : { redis: () => cpuMs(redisPid) }),
});

/** Two processes that meet in the queue, with no store behind: who asks and who answers. */
export async function queueAlone({ databaseUrl, redisUrl, postgresPid, redisPid }: System): Promise<Subject> {
  const ends = await openEnds('queue-part', JSON.stringify({ databaseUrl, redisUrl }));
  return { name: 'this', ...ends, storeCpuMs: stores(postgresPid, redisPid) };
}

/** Both ends of a queue. */
export async function openEnds(part: PartName, address: string): Promise<Omit<Subject, 'name'>> {
  const [trips, echo] = (['trips', 'echo'] as const).map((end) => startPart(part, end, address));
  const close = () => [trips!, echo!].forEach((each) => each.kill());
  try {
    await Promise.all([trips!, echo!].map((each) => answerOf(each)));
  } catch (error) {
    close();
    throw error;
  }
  return {
    cpuMs: { 'who asks': () => cpuMs(trips!.pid!), 'who answers': () => cpuMs(echo!.pid!) },
    put: (busy) => ask(trips!, busy),
    close,
  };
}

/** No peer, but what stands in every peer's way: the yardstick of this machine. */
export const startBareProxy = ({ upstreamUrl }: Fakes): Promise<Service> =>
  startProgram((port) => [fileURLToPath(new URL('./bare-proxy.js', import.meta.url)), String(port), upstreamUrl]);

/** Of streams it passes the stream, of everything else a plain chat. */
export function bareProxy(fakes: Fakes, { pid, url }: Service, scenario: Scenario): Subject {
  const { path, body } = bareRequest(scenario);
  return {
    name: 'Fastify and undici alone',
    cpuMs: { process: () => cpuMs(pid) },
    put: (busy) => fakes.put({ path, body, ...busy, url }),
  };
}

/** What is behind a Signalbox, asked without it. */
export async function directly(fakes: Fakes, { beside, path, body }: Scenario): Promise<Subject> {
  if (beside === 'upstream') {
    const put = (busy: Busy) => fakes.put({ path: path!, body, ...busy, url: fakes.upstreamUrl });
    return { name: 'the upstream, directly', cpuMs: {}, put };
  }
  const bare = startPart('bare-client');
  await answerOf(bare);
  return { name: "the SDK's client alone", cpuMs: {}, put: (busy) => ask(bare, busy), close: () => bare.kill() };
}

/** Promises and kilobytes that each path makes, one request at a time, in processes that do nothing else. */
export async function countPaths(options: SystemOptions, scenarios: readonly Scenario[]) {
  const counts = new Map<Scenario, string>();
  if (scenarios.length === 0) return counts;
  const system = await startSystem({ ...options, counting: true });
  try {
    const paths = scenarios.filter(
      ({ path, body }, at) => path !== undefined && scenarios.findIndex((each) => each.body === body) === at,
    );
    const { gateway, worker, directory } = system;
    const counted = async ({ path, body }: Scenario, what: 'bytes' | 'promises') => {
      const repeat = (times: number) => system.put({ path: path!, body, inFlight: 1, forMs: 600_000, atMost: times });
      return countCosts({ pids: [gateway.pid, worker.pid], directory, repeat }, what);
    };
    const bytes = new Map<Scenario, number[]>();
    for (const scenario of paths) bytes.set(scenario, await counted(scenario, 'bytes'));
    for (const scenario of paths) {
      const promises = await counted(scenario, 'promises');
      const texts = ['gateway', 'worker']
        .slice(0, scenario.calls > 0 ? 2 : 1)
        .map(
          (name, at) =>
            `${name} ${Math.ceil(promises[at]!)} promises, ${Math.ceil(bytes.get(scenario)![at]! / 1_024)} kB`,
        );
      counts.set(scenario, texts.join('; '));
    }
    return counts;
  } finally {
    await system.close();
  }
}
