// Three gateways and three workers, sixty concurrent turns, and every process replaced in order.
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { effectFiles, expectOneRecordEach } from '../support/joined-records.js';
import { KeyedClients, sharedAndOwnServer, twoEffects } from '../support/keyed-clients.js';
import { verifies } from '../verifies.js';

const atOnce = 60;
/** Upstreams answer slowly, so that stops hit turns in progress. */
const thinkingMs = 1_000;
/** A lease lasts 6 s, and is judged after watching for 6 s; doubled for busy machines. */
const recoveryMs = 30_000;

let box: Signalbox;
let connections: Connections;
const replaced: StartedProcess[] = [];

beforeAll(async () => {
  box = await startSignalbox({
    gateways: 3,
    workers: 3,
    script: async (request) => {
      await new Promise((resolve) => setTimeout(resolve, thinkingMs));
      return twoEffects(request);
    },
    environment: {
      // A busy machine must not fail this test.
      DATABASE_TIMEOUT_MS: '10000',
      MCP_SERVERS: sharedAndOwnServer,
    },
  });
  connections = await watchConnections(box.databaseUrl);
}, 90_000);
afterAll(async () => {
  await connections?.stop();
  await box?.close();
});

interface Connections {
  /** The maximum of open connections of any process. */
  most(): number;
  stop(): Promise<void>;
}

async function watchConnections(url: string): Promise<Connections> {
  const client = new pg.Client({ connectionString: url, application_name: 'watch' });
  await client.connect();
  const text = `select application_name as name, count(*)::int as count from pg_stat_activity
    where datname = current_database() and application_name <> 'watch' group by 1`;
  const most = new Map<string, number>();
  const stopping = new AbortController();
  const watching = (async () => {
    while (!stopping.signal.aborted) {
      const { rows } = await client.query<{ name: string; count: number }>(text);
      for (const { name, count } of rows) most.set(name, Math.max(count, most.get(name) ?? 0));
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  return {
    most: () => Math.max(...most.values()),
    stop: async () => {
      stopping.abort();
      await watching;
      await client.end();
    },
  };
}

/** Starts the replacement only after the old one has ended, because the database has no room for both. */
async function replace(kind: 'gateway' | 'worker', old: StartedProcess): Promise<number | null> {
  const code = await old.stop();
  const list = kind === 'gateway' ? box.gateways : box.workers;
  const started = await (kind === 'gateway' ? box.startGateway() : box.startWorker());
  if (kind === 'gateway') await toolsReady(started.url);
  list.splice(list.indexOf(old), 1);
  replaced.push(old);
  return code;
}

/** A busy machine may miss the store's deadline; the turn is refused, or continues with its next attempt. */
const busy = 'store_unavailable';

/** How the turns of a process ended, according to its log. */
const outcomesIn = ({ log }: StartedProcess) =>
  log
    .filter((line) => line['message'] === 'chat')
    .map((line) => (line['metadata'] as { outcome: string }).outcome)
    .filter((outcome) => outcome !== busy);

const errorsIn = ({ log }: StartedProcess) =>
  log
    .filter((line) => line['level'] === 'error')
    .map((line) => JSON.stringify(line))
    .filter((text) => !text.includes(busy));

verifies(
  'reliability.rolling-restart',
  'three gateways and three workers, one after the other',
  async () => {
    const clients = new KeyedClients({
      prefix: 'rolled-',
      // A stopping gateway stays on the list until it is replaced, as for a client that does not know.
      gateways: box.gateways,
      atOnce,
      sessions: 20,
      patienceMs: 90_000,
    });
    const codes: (number | null)[] = [];
    for (const [gateway, worker] of box.gateways.map((each, at) => [each, box.workers[at]!] as const)) {
      codes.push(...(await Promise.all([replace('worker', worker), replace('gateway', gateway)])));
    }
    await clients.stop();
    expect(codes).toEqual(Array(6).fill(0));
    expect(clients.failures).toEqual([]);
    const everyone = [...replaced, ...box.gateways, ...box.workers];
    expect(everyone.flatMap(errorsIn)).toEqual([]);
    // No turn ran twice: each accepted turn was answered by the gateway that accepted it.
    // The log line is written after the answer.
    const reported = () => everyone.flatMap(outcomesIn);
    await expect.poll(() => reported().length, { timeout: 10_000 }).toBeGreaterThanOrEqual(clients.answers.length);
    expect(reported()).toEqual(clients.answers.map(() => 'ok'));
    expect(clients.answers.length).toBeGreaterThan(2 * atOnce);
    for (const { name, body } of clients.answers) {
      expect(body.choices[0]!.message.content).toBe(`done ${name}`);
      expect(body.tool_execution!.calls.map(({ success }) => success)).toEqual(Array(4).fill(true));
    }
    await expectOneRecordEach(box, recoveryMs);
    const files = await effectFiles(box);
    expect(files).toHaveLength(clients.answers.length);
    for (const { path, effects, lost } of files) expect([path, effects, lost]).toEqual([path, ['0', '1'], 0]);
  },
  180_000,
);

verifies('reliability.few-connections', 'the most that one process had, from its start to its end', async () => {
  expect(connections.most()).toBeGreaterThan(3);
  expect(connections.most()).toBeLessThanOrEqual(12);
});
