// Three gateways and three workers under constant load, while processes are killed and stopped and connections cut at
// random. Afterwards journal, audit and effects must agree. STORM_SECONDS=600 npm run test:faults --
// test/faults/storm.test.ts runs longer; STORM_SEED repeats an order.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, inject, onTestFailed } from 'vitest';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { type FaultProxy, openFaultProxy } from '../contract/fault-proxy.js';
import { effectFiles, expectEffectsAsRecorded, expectOneRecordEach } from '../support/joined-records.js';
import { KeyedClients, sharedAndOwnServer, twoEffects } from '../support/keyed-clients.js';
import { verifies } from '../verifies.js';

const whole = inject('extent') === 'whole';
const atOnce = whole ? 200 : 60;
const stormMs = 1_000 * Number(process.env['STORM_SECONDS'] ?? (whole ? 60 : 12));
const seed = Number(process.env['STORM_SEED'] ?? Date.now() % 1_000_000);
/** Upstreams answer slowly, so that faults hit turns in progress. */
const thinkingMs = 1_000;
const betweenMs = 2_000;
/** At most a little longer than a lease (6 s), so that some processes are given up and some are not. */
const longestStopMs = 9_000;
const recoveryMs = 60_000;

let box: Signalbox;
const proxies: FaultProxy[] = [];
/** Settings that put each process's stores behind the proxies. */
const proxied: Record<string, string> = {};
const startOne = (of: 'gateways' | 'workers') =>
  of === 'gateways' ? box.startGateway(proxied) : box.startWorker(proxied);

beforeAll(async () => {
  box = await startSignalbox({
    gateways: 0,
    workers: 0,
    script: async (request) => {
      await delay(thinkingMs);
      return twoEffects(request);
    },
    environment: {
      // A busy machine must not fail this test.
      DATABASE_TIMEOUT_MS: '10000',
      MCP_SERVERS: sharedAndOwnServer,
    },
  });
  for (const [name, url] of [
    ['DATABASE_URL', box.databaseUrl],
    ['REDIS_URL', box.redis?.url],
  ] as const) {
    if (url === undefined) continue;
    const address = new URL(url);
    const proxy = await openFaultProxy({ host: address.hostname, port: Number(address.port || 5432) });
    proxies.push(proxy);
    address.host = `127.0.0.1:${proxy.port}`;
    proxied[name] = address.href;
  }
  await Promise.all([1, 2, 3].flatMap(() => [startOne('workers'), startOne('gateways')]));
  await Promise.all(box.gateways.map(({ url }) => toolsReady(url)));
}, 120_000);
afterEach(() => {
  for (const each of [...box.gateways, ...box.workers]) each.kill('SIGCONT');
});
afterAll(async () => {
  await box?.close();
  await Promise.all(proxies.map((proxy) => proxy.close()));
});

class Storm {
  readonly reported: string[] = [];
  private readonly random = seededRandom(seed);
  private readonly stopped = new Set<StartedProcess>();
  private readonly under: Promise<unknown>[] = [];

  async rage(): Promise<void> {
    const end = performance.now() + stormMs;
    while (performance.now() < end) {
      await delay(betweenMs * (0.5 + this.random()));
      this.strike();
    }
    await Promise.all(this.under);
  }

  private strike(): void {
    const kinds = ['kill', 'kill', 'stop', 'stop', 'cut'] as const;
    const kind = kinds[this.below(kinds.length)]!;
    if (kind === 'cut') {
      this.reported.push('cut');
      proxies[this.below(proxies.length)]!.cut();
      return;
    }
    const of = this.below(2) === 0 ? 'gateways' : 'workers';
    const victims = box[of].filter((each) => !this.stopped.has(each));
    // At least one of each kind stays; a total outage is covered by another test.
    if (victims.length < 2) return;
    const victim = victims[this.below(victims.length)]!;
    this.reported.push(`${kind} ${of}`);
    this.under.push(kind === 'kill' ? this.replace(of, victim) : this.hold(victim, this.random() * longestStopMs));
  }

  private async replace(of: 'gateways' | 'workers', victim: StartedProcess): Promise<void> {
    box[of].splice(box[of].indexOf(victim), 1);
    victim.kill('SIGKILL');
    await victim.ended;
    await startOne(of);
  }

  private async hold(victim: StartedProcess, forMs: number): Promise<void> {
    this.stopped.add(victim);
    victim.kill('SIGSTOP');
    await delay(forMs);
    victim.kill('SIGCONT');
    this.stopped.delete(victim);
  }

  private below(bound: number): number {
    return Math.floor(this.random() * bound);
  }
}

/** Reproducible random numbers in [0, 1) from a seed (mulberry32). */
function seededRandom(from: number): () => number {
  let state = from;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

verifies(
  'reliability.killed-at-random',
  `${atOnce} turns at every moment, ${stormMs / 1_000} s of kills, stops and cuts`,
  async () => {
    const storm = new Storm();
    onTestFailed(() => console.error(`STORM_SEED=${seed}: ${storm.reported.join(', ')}`));
    const clients = new KeyedClients({
      prefix: 'storm-',
      gateways: box.gateways,
      atOnce,
      sessions: Math.ceil(atOnce / 3),
      patienceMs: stormMs + 3 * recoveryMs,
    });
    await storm.rage();
    await clients.stop();
    expect(clients.answers.length).toBeGreaterThanOrEqual(atOnce);
    for (const { name, body } of clients.answers) expect(body.choices[0]!.message.content).toBe(`done ${name}`);
    await expectOneRecordEach(box, recoveryMs);
    await expectEffectsAsRecorded(box);
    expect((await effectFiles(box)).length).toBeGreaterThanOrEqual(clients.answers.length);
  },
  2 * stormMs + 4 * recoveryMs,
);
