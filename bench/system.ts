// One Signalbox as `npm start` runs it (embedded PostgreSQL with everything durable, a gateway, a worker), but with a fake
// upstream for its only provider and a directory that is removed afterwards.
import { type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { startEmbeddedPostgres } from '#libs/embedded-postgres/embedded-postgres.js';
import type { Busy, LoadResult } from './keep-busy.js';
import type { Load } from './load.js';
import { answerOf, type Service, startPart, startRedisServer, startService } from './processes.js';
import type { BackingAddress } from './queue-part.js';

export interface System {
  gateway: Service;
  worker: Service;
  postgresPid: number;
  databaseUrl: string;
  /** Where the backing services are in Redis. */
  redisPid?: number;
  redisUrl?: string;
  /** Until PostgreSQL, new on the disk, took connections, ms. */
  postgresStartMs: number;
  upstreamPid: number;
  upstreamUrl: string;
  /** Settings that differ from the defaults, without secrets. */
  settings: Record<string, string>;
  put(load: Load): Promise<LoadResult>;
  /** The calls of the MCP scenario, put to its server by the SDK's client alone. */
  putBare(busy: Busy): Promise<LoadResult>;
  /** Two processes that meet in the queue, with no store behind: who asks and who answers. */
  startQueueParts(): Promise<QueueParts>;
  /** Another gateway of the same settings, which ends with the system. */
  startGateway(): Promise<Service>;
  /** So many sessions of the one principal, `bench-0` and on, as if each had been used just now. */
  addSessions(count: number): Promise<void>;
  rowCounts(): Promise<{ runs: number; calls: number; audit: number; open: number }>;
  close(): Promise<void>;
}

export interface QueueParts {
  trips: ChildProcess;
  echo: ChildProcess;
  put(busy: Busy): Promise<LoadResult>;
  close(): void;
}

export interface SystemOptions {
  /** Where CPU profiles of gateway and worker go. */
  profileDirectory?: string | undefined;
  /** Queue, channels, counters and cache in a Redis of the bench's own. */
  redis: boolean;
  /** Beside those that every run has. */
  settings?: Record<string, string>;
}

/** The bench's own MCP server, on standard input and output. */
export const toolServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL('./tool-server.js', import.meta.url))],
};

export async function startSystem({
  profileDirectory,
  redis: withRedis,
  settings: more,
}: SystemOptions): Promise<System> {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
  const closing: (() => unknown)[] = [() => rm(directory, { recursive: true, force: true })];
  const close = async () => {
    for (const step of closing.reverse()) await step();
  };
  try {
    const began = performance.now();
    const postgres = await startEmbeddedPostgres({ dataDir: directory });
    const postgresStartMs = performance.now() - began;
    closing.push(() => postgres.stop());
    const pidFile = await readFile(join(postgres.directory, 'cluster', 'postmaster.pid'), 'utf8');
    const upstream = startPart('fake-upstream');
    const load = startPart('load');
    closing.push(
      () => upstream.kill(),
      () => load.kill(),
    );
    const redis = withRedis ? await startRedisServer(directory) : undefined;
    const upstreamUrl = `http://127.0.0.1:${(await answerOf<{ port: number }>(upstream)).port}`;
    const settings = {
      NODE_ENV: 'production',
      MODELS_PROVIDERS: JSON.stringify({ bench: { kind: 'openai', base_url: `${upstreamUrl}/v1` } }),
      DEFAULT_MODEL: 'bench/model',
      MCP_SERVERS: JSON.stringify({ bench: { ...toolServer, trusted: true, concurrency: 64 } }),
      ...more,
    };
    const environment = {
      ...settings,
      DATABASE_URL: postgres.url,
      DATA_DIR: directory,
      ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
    };
    if (profileDirectory !== undefined) await mkdir(profileDirectory, { recursive: true });
    const home = join(directory, 'home');
    await mkdir(home);
    const profile = profileDirectory !== undefined;
    const options = { environment, directory: profileDirectory ?? directory, home, profile };
    const worker = await startService({ app: 'worker', ...options });
    closing.push(() => worker.stop());
    const startGateway = async () => {
      const gateway = await startService({ app: 'gateway', ...options });
      closing.push(() => gateway.stop());
      return gateway;
    };
    const gateway = await startGateway();
    const servers = Object.keys(JSON.parse(settings.MCP_SERVERS) as object);
    await Promise.all(servers.map((server) => untilOffered(gateway.url, server)));
    const backing = { databaseUrl: postgres.url, ...(redis === undefined ? {} : { redisUrl: redis.url }) };
    return {
      gateway,
      worker,
      postgresPid: Number(pidFile.split('\n', 1)[0]),
      ...(redis === undefined ? {} : { redisPid: redis.pid, redisUrl: redis.url }),
      databaseUrl: postgres.url,
      postgresStartMs,
      upstreamPid: upstream.pid!,
      upstreamUrl,
      settings,
      put: (what) => ask(load, what),
      async putBare(busy) {
        const bare = startPart('bare-client');
        try {
          return await ask(bare, busy);
        } finally {
          bare.kill();
        }
      },
      startQueueParts: () => startQueueParts(backing),
      startGateway,
      addSessions: async (count) => {
        await querying(postgres.url, (client) => client.query(addSessions, [count]));
      },
      rowCounts: () => rowCounts(postgres.url),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function ask(part: ChildProcess, what: object): Promise<LoadResult> {
  const result = answerOf<LoadResult>(part);
  part.send(what);
  return result;
}

async function startQueueParts(backing: BackingAddress): Promise<QueueParts> {
  const [echo, trips] = [
    startPart('queue-echo', JSON.stringify(backing)),
    startPart('queue-trips', JSON.stringify(backing)),
  ];
  const close = () => [echo, trips].forEach((part) => part.kill());
  try {
    await Promise.all([echo, trips].map((part) => answerOf(part)));
  } catch (error) {
    close();
    throw error;
  }
  return { echo, trips, put: (busy) => ask(trips, busy), close };
}

const offeredMs = 60_000;

/** Tools of a command server are there a moment after its worker is. */
async function untilOffered(url: string, server: string): Promise<void> {
  for (const until = performance.now() + offeredMs; performance.now() < until; await delay(50)) {
    const { data } = (await (await fetch(`${url}/api/tools`)).json()) as { data: { server: string }[] };
    if (data.some((tool) => tool.server === server)) return;
  }
  throw new Error(`no tool of ${server} is offered`);
}

const addSessions = `insert into sessions (principal, id, directory, metadata, expires_at)
  select 'local', 'bench-' || number, md5('bench-' || number), '{}', clock_timestamp() + interval '1 day'
  from generate_series(0, $1::int - 1) as number
  on conflict do nothing`;

async function rowCounts(url: string) {
  const { rows } = await querying(url, (client) =>
    client.query<Awaited<ReturnType<System['rowCounts']>>>(
      `select (select count(*)::int from runs where state = 'done') as runs,
        (select count(*)::int from tool_calls where state = 'completed') as calls,
        (select count(*)::int from audit_events where success) as audit,
        (select count(*)::int from runs where state <> 'done')
          + (select count(*)::int from tool_calls where state <> 'completed') as open`,
    ),
  );
  return rows[0]!;
}

async function querying<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
