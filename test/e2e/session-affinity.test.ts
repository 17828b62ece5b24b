// A server with state per session, three workers, two gateways: all calls of a session run where its lease is.
import { readdirSync, readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { commonQueueName } from '#libs/backing/bullmq/job-id.js';
import { queuePrefix } from '#libs/backing/redis/keys.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { post } from '../support/scripts.js';
import { offeredTools } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

/** The promise is for 1,000 calls of 50 sessions; each run checks fewer. */
const loadSize = {
  calls: Number(process.env['AFFINITY_CALLS'] ?? 120),
  sessions: Number(process.env['AFFINITY_SESSIONS'] ?? 10),
};
const loadMs = 120_000 + loadSize.calls * 500;

let box: Signalbox;
let web: HeldWeb;
let database: pg.Pool;

beforeAll(async () => {
  web = await openHeldWeb();
  box = await startSignalbox({
    gateways: 2,
    workers: 3,
    scripted: false,
    environment: {
      LOG_LEVEL: 'debug',
      TOOLS_FETCH_ALLOW: '127.0.0.1',
      WORKSPACES_SWEEP_INTERVAL_MS: '500',
      MCP_SERVERS: JSON.stringify({
        workspace: { builtin: 'workspace' },
        own: { builtin: 'workspace', scope: 'session' },
        memory: {
          command: 'npx',
          args: ['-y', '@modelcontextprotocol/server-memory'],
          env: { MEMORY_FILE_PATH: '${WORKSPACE}/memory.jsonl' },
          max_instances: Math.max(32, loadSize.sessions),
        },
      }),
    },
  });
  // A pool, because tests run queries concurrently.
  database = new pg.Pool({ connectionString: box.databaseUrl, max: 1 });
  // The pool counts as ended before its connection is closed, which the end of the database may do first.
  database.on('error', () => undefined);
  // The gateways are ready before the server, which is listed by its bare name and called below by the longer one.
  const patient = { timeout: 60_000, interval: 100 };
  for (const { url } of box.gateways) {
    await vi.waitUntil(async () => (await offeredTools(url)).has('read_graph'), patient);
  }
});
afterAll(async () => {
  await database?.end();
  await box?.close();
  web?.close();
});

interface Ran {
  id: string;
  worker: string;
  /** The queues that held it under its own id; known for recent calls only. */
  queues: string[];
}

/** Calls through either gateway; resolves on success. */
async function call(session: string, name: string, args: object = {}, gateway = 0): Promise<void> {
  const body = { name, arguments: args, session_id: session };
  const answer = await post(box.gateways[gateway]!.url, '/api/tools/call', body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
}

async function ranIn(session: string): Promise<Ran[]> {
  const text = 'select id, worker from tool_calls where session_id = $1 order by planned_at, id';
  const { rows } = await database.query<Omit<Ran, 'queues'>>(text, [session]);
  return Promise.all(rows.map(async (row) => ({ ...row, queues: await queuesOf(row.id) })));
}

/** Uses the events that BullMQ keeps for each queue. */
async function queuesOf(id: string): Promise<string[]> {
  if (box.redis !== undefined) {
    const { client } = box.redis;
    const keys = await client.keys(`${queuePrefix}:${commonQueueName}*:events`);
    const logs = await Promise.all(keys.map((key) => client.xrange(key, '-', '+')));
    return keys.filter((_key, at) => logs[at]!.flat(2).includes(id)).map((key) => key.split(':')[1]!);
  }
  const text = `select distinct queue from bullmq.event where data->>'jobId' = $1 order by queue`;
  return (await database.query<{ queue: string }>(text, [id])).rows.map(({ queue }) => queue);
}

async function leaseOf(session: string): Promise<{ worker: string; fence: bigint } | undefined> {
  const text = 'select worker, fence from session_leases where session_id = $1';
  const { rows } = await database.query<{ worker: string; fence: string }>(text, [session]);
  return rows[0] && { worker: rows[0].worker, fence: BigInt(rows[0].fence) };
}

/** The process that ran the session's calls so far, according to the logs. */
async function processOf(session: string): Promise<StartedProcess> {
  const logged = ({ log }: StartedProcess) =>
    log.some((line) => line['message'] === 'tool call run' && line['sessionId'] === session);
  // The log line is written after the answer.
  return vi.waitFor(
    () => {
      const found = box.workers.find(logged);
      if (found === undefined) throw new Error(`nobody logged ${session}`);
      return found;
    },
    { timeout: 10_000 },
  );
}

verifies('tools.session-affinity', 'four sessions, both gateways, calls at once and after one another', async () => {
  const sessions = ['a', 'b', 'c', 'd'];
  await Promise.all(
    sessions.flatMap((session) => [0, 1, 0, 1].map((gateway) => call(session, 'own__get_time', {}, gateway))),
  );
  for (const session of sessions) await call(session, 'own__get_time', {}, 1);
  for (const session of sessions) {
    const ran = await ranIn(session);
    expect(new Set(ran.map(({ worker }) => worker))).toEqual(new Set([(await leaseOf(session))!.worker]));
    // By now the gateway sends calls directly to the worker.
    expect(ran.at(-1)!.queues).toEqual([`tools-${ran[0]!.worker}`]);
  }
});

verifies('tools.stateless-anywhere', 'shared calls take no lease and the common queue', async () => {
  await Promise.all(Array.from({ length: 12 }, () => call('free', 'get_time')));
  expect(await leaseOf('free')).toBeUndefined();
  // Combined calls are not in the queue under their own ids; in a worker's queue they would be.
  expect((await ranIn('free')).flatMap(({ queues }) => queues).filter((queue) => queue !== 'tools')).toEqual([]);
});

verifies('sessions.deleted-everywhere', 'used at one gateway, deleted at the other, used again at once', async () => {
  const files = (gateway: number, path: string) => `${box.gateways[gateway]!.url}/api/sessions/renewed/files/${path}`;
  const put = async (path: string) => (await fetch(files(1, path), { method: 'PUT', body: path })).status;
  const write = (name: string, path: string) => call('renewed', name, { path, content: path }, 1);
  await Promise.all([put('before'), write('write_file', 'before-shared'), write('own__write_file', 'before-own')]);
  expect((await fetch(files(0, '').replace(/\/files.*/, ''), { method: 'DELETE' })).status).toBe(204);
  expect(await put('put')).toBe(201);
  await write('write_file', 'shared');
  await write('own__write_file', 'own');
  const listed = await fetch(files(0, '').replace(/\/$/, ''));
  const { files: found } = (await listed.json()) as { files?: { path: string }[] };
  expect(found?.map(({ path }) => path)).toEqual(['own', 'put', 'shared']);
});

/** Processes that run in the directory, even if it has been removed or renamed. */
function processesIn(directory: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, 'utf8').includes(directory);
    } catch {
      // It has ended, or belongs to another user.
      return false;
    }
  });
}

async function directoryOf(session: string): Promise<string> {
  const { rows } = await database.query<{ directory: string }>('select directory from sessions where id = $1', [
    session,
  ]);
  return rows[0]!.directory;
}

verifies('sessions.deleted-ends-servers', 'at every worker, before the answer', async () => {
  const sessions = Array.from({ length: 6 }, (_each, at) => `doomed-${at}`);
  await Promise.all(sessions.map((session, at) => call(session, 'memory__read_graph', {}, at % 2)));
  const directories = await Promise.all(sessions.map(directoryOf));
  for (const directory of directories) expect(processesIn(directory)).not.toEqual([]);
  const workers = new Set(await Promise.all(sessions.map(async (session) => (await leaseOf(session))!.worker)));
  expect(workers.size).toBeGreaterThan(1);
  await Promise.all(
    sessions.map(async (session, at) => {
      const url = `${box.gateways[(at + 1) % 2]!.url}/api/sessions/${session}`;
      expect((await fetch(url, { method: 'DELETE' })).status).toBe(204);
      expect(processesIn(directories[at]!)).toEqual([]);
      expect(await leaseOf(session)).toBeUndefined();
    }),
  );
  for (const directory of directories) expect(readdirSync(box.workspacesDir)).not.toContain(directory);
});

verifies('sessions.deleted-ends-servers', 'expired', async () => {
  await call('expiring', 'memory__read_graph');
  const directory = await directoryOf('expiring');
  expect(processesIn(directory)).not.toEqual([]);
  await database.query(`update sessions set expires_at = now() - interval '1 hour' where id = 'expiring'`);
  await expect.poll(() => readdirSync(box.workspacesDir), { timeout: 20_000 }).not.toContain(directory);
  expect(processesIn(directory)).toEqual([]);
  expect(await leaseOf('expiring')).toBeUndefined();
});

verifies('reliability.session-moves-in-order', 'its worker is told to stop while a call of it runs', async () => {
  await call('moving', 'own__get_time');
  const before = (await leaseOf('moving'))!;
  const holder = await processOf('moving');
  const held = call('moving', 'own__fetch', { url: `${web.url}/held`, method: 'POST' });
  await web.reached('/held');
  const ended = holder.stop();
  await holder.logged((line) => line['message'] === 'stopping: SIGTERM');
  // Both ways: directly to the stopping worker, and through the common queue.
  const next = [call('moving', 'own__get_time', {}, 0), call('moving', 'own__get_time', {}, 1)];
  await box.startWorker();
  expect((await ranIn('moving')).filter(({ worker }) => worker !== null && worker !== before.worker)).toEqual([]);
  web.answer('/held');
  await Promise.all([held, ...next]);
  expect(await ended).toBe(0);
  await call('moving', 'own__get_time');
  const after = (await leaseOf('moving'))!;
  expect(after.worker).not.toBe(before.worker);
  expect(after.fence).toBeGreaterThan(before.fence);
  const workers = (await ranIn('moving')).map(({ worker }) => worker);
  expect([workers[0], workers[1], workers.at(-1)]).toEqual([before.worker, before.worker, after.worker]);
  // The stopping worker finishes what it took before the stop.
  for (const worker of workers.slice(2, -1)) expect([before.worker, after.worker]).toContain(worker);
});

verifies('reliability.session-taken-over', 'its worker is killed', async () => {
  await call('lost', 'own__get_time');
  const before = (await leaseOf('lost'))!;
  const holder = await processOf('lost');
  holder.kill('SIGKILL');
  await holder.ended;
  await Promise.all([
    call('lost', 'own__write_file', { path: 'x', content: '1' }, 0),
    call('lost', 'own__get_time', {}, 1),
  ]);
  const after = (await leaseOf('lost'))!;
  expect(after.worker).not.toBe(before.worker);
  expect(after.fence).toBeGreaterThan(before.fence);
  expect((await ranIn('lost')).slice(1).map(({ worker }) => worker)).toEqual([after.worker, after.worker]);
  await expect
    .poll(
      async () => (await database.query('select from session_leases where worker = $1', [before.worker])).rowCount,
      {
        timeout: 20_000,
        interval: 100,
      },
    )
    .toBe(0);
});

/** The contents of a session's memory, as entity names. */
async function remembered(session: string, gateway: number): Promise<string[]> {
  const body = { name: 'memory__read_graph', arguments: {}, session_id: session };
  const { entities } = JSON.parse(await answered(body, gateway)) as { entities: { name: string }[] };
  return entities.map(({ name }) => name);
}

/** @throws Error with the code of a failed call */
async function answered(body: object, gateway: number): Promise<string> {
  const answer = await fetch(`${box.gateways[gateway]!.url}/api/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { content, error } = (await answer.json()) as { content?: string; error?: { code: string } };
  if (answer.status === 200) return content!;
  throw new Error(error?.code);
}

verifies(
  'tools.session-state-apart',
  'each of many sessions has a memory, a worker is killed and one added meanwhile',
  async () => {
    const { calls, sessions } = loadSize;
    const names = Array.from({ length: sessions }, (_each, index) => `mind-${index}`);
    const rounds = Math.max(6, Math.ceil(calls / sessions / 2));
    await box.startWorker();
    const offered = async () => (await offeredTools(box.url)).get('read_graph')?.available;
    await expect.poll(offered, { timeout: 60_000, interval: 100 }).toBe(true);
    /** Calls that were running when their worker was killed, with an unknown effect. */
    const unknown: string[] = [];
    let killed: StartedProcess | undefined;
    const live = async (session: string) => {
      const known: string[] = [];
      const perhaps: string[] = [];
      for (let round = 0; round < rounds; round += 1) {
        if (session === names[0] && round === Math.floor(rounds / 3)) {
          killed = await processOf(session);
          killed.kill('SIGKILL');
        }
        if (session === names[0] && round === Math.floor((rounds * 2) / 3)) await box.startWorker();
        const name = `${session}: fact ${round}`;
        const entities = [{ name, entityType: 'fact', observations: [`of ${session}`] }];
        const body = { name: 'memory__create_entities', arguments: { entities }, session_id: session };
        try {
          await answered(body, round % 2);
          known.push(name);
        } catch (error) {
          expect((error as Error).message, session).toBe('tool_outcome_unknown');
          unknown.push(name);
          perhaps.push(name);
        }
        const graph = await remembered(session, (round + 1) % 2).catch((error: Error) => error.message);
        if (graph === 'tool_outcome_unknown') unknown.push(`${session}: look ${round}`);
        else {
          expect(graph, session).toEqual(expect.arrayContaining(known));
          expect([...known, ...perhaps], session).toEqual(expect.arrayContaining(graph as string[]));
        }
      }
    };
    await Promise.all(names.map(live));
    await killed!.ended;
    // At most the one call that each session was running in that worker.
    expect(unknown.length).toBeLessThanOrEqual(sessions);
    const workers = new Set<string>();
    for (const session of names) {
      const ran = await ranIn(session);
      expect(ran).toHaveLength(rounds * 2);
      for (const { worker } of ran) workers.add(worker);
      // A worker that has the session keeps it to the end.
      const moves = ran.filter(({ worker }, index) => index > 0 && worker !== ran[index - 1]!.worker);
      expect(moves.length, session).toBeLessThanOrEqual(1);
    }
    expect(workers.size).toBeGreaterThan(1);
  },
  loadMs,
);
