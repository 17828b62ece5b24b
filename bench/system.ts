// One Signalbox as `npm start` runs it (embedded PostgreSQL with everything durable, a gateway, a worker), but with a fake
// upstream for its only provider and a directory that is removed afterwards. Of this checkout, or of another that is built.
import type { ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import pg from 'pg';
import { installedPath } from '#libs/process/find-installed.js';
import { countingEnvironment } from '../test/support/services/counted-costs.js';
import type { LoadResult } from './keep-busy.js';
import type { Load } from './load.js';
import { answerOf, ask, type Service, startPart, startRedisServer, startService } from './processes.js';

/** What is outside of every system and peer that is measured, and the same for all. */
export interface Fakes {
  upstreamUrl: string;
  put(load: Load): Promise<LoadResult>;
  close(): void;
}

export interface System {
  gateway: Service;
  worker: Service;
  postgresPid: number;
  databaseUrl: string;
  /** Where the backing services are in Redis. */
  redisPid: number | undefined;
  redisUrl: string | undefined;
  /** Until PostgreSQL, new on the disk, took connections, ms. */
  postgresStartMs: number;
  /** What processes with `counting` are asked in; removed with the system. */
  directory: string;
  /** Settings that differ from the defaults, without secrets. */
  settings: Record<string, string>;
  put(load: Omit<Load, 'url'>): Promise<LoadResult>;
  /** Another gateway, or worker, of the same settings, which ends with the system. */
  startGateway(): Promise<Service>;
  startWorker(): Promise<Service>;
  /** Writes the file of a system with `servers` again. */
  configure(servers: object): Promise<void>;
  /** So many sessions of the one principal, `bench-0` and on, as if each had been used just now. */
  addSessions(count: number): Promise<void>;
  rowCounts(): Promise<{ runs: number; calls: number; audit: number; open: number }>;
  close(): Promise<void>;
}

export interface SystemOptions {
  fakes: Fakes;
  /** Absent: this one. */
  checkout?: string | undefined;
  /** Where CPU profiles of gateway and worker go. */
  profileDirectory?: string | undefined;
  /** Queue, channels, counters and cache in a Redis of the bench's own. */
  redis: boolean;
  /** Beside those that every run has. */
  settings?: Record<string, string>;
  /** The tool servers of a configuration file, which can be written again; absent: the bench's own, in the environment. */
  servers?: object;
  /** Gateway and worker count what they make, which takes time of its own. */
  counting?: boolean;
}

/** The bench's own MCP server, on standard input and output. */
export const toolServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL('./tool-server.js', import.meta.url))],
};

const bench = { ...toolServer, trusted: true, concurrency: 64 };

export async function startFakes(): Promise<Fakes> {
  const [upstream, load] = [startPart('fake-upstream'), startPart('load')] as [ChildProcess, ChildProcess];
  const { port } = await answerOf<{ port: number }>(upstream);
  const close = () => [upstream, load].forEach((part) => part.kill());
  return { upstreamUrl: `http://127.0.0.1:${port}`, put: (what) => ask(load, what), close };
}

export async function startSystem(given: SystemOptions): Promise<System> {
  const { fakes, checkout = installedPath('.'), profileDirectory, counting = false } = given;
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
  const closing: (() => unknown)[] = [() => rm(directory, { recursive: true, force: true })];
  const close = async () => {
    for (const step of closing.reverse()) await step();
  };
  try {
    const began = performance.now();
    const postgres = await startPostgres(checkout, directory);
    const postgresStartMs = performance.now() - began;
    closing.push(() => postgres.stop());
    const pidFile = await readFile(join(postgres.directory, 'cluster', 'postmaster.pid'), 'utf8');
    const redis = given.redis ? await startRedisServer(directory) : undefined;
    closing.push(() => redis?.stop());
    const settings: Record<string, string> = {
      NODE_ENV: 'production',
      MODELS_PROVIDERS: JSON.stringify({ bench: { kind: 'openai', base_url: `${fakes.upstreamUrl}/v1` } }),
      DEFAULT_MODEL: 'bench/model',
      ...(given.servers === undefined ? { MCP_SERVERS: JSON.stringify({ bench }) } : {}),
      ...given.settings,
    };
    const environment = {
      ...settings,
      DATABASE_URL: postgres.url,
      DATA_DIR: directory,
      ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
      ...(counting ? countingEnvironment(directory) : {}),
    };
    if (profileDirectory !== undefined) await mkdir(profileDirectory, { recursive: true });
    const home = join(directory, 'home');
    await mkdir(home);
    const configure = (mcpServers: object) => writeFile(join(home, 'signalbox.yaml'), JSON.stringify({ mcpServers }));
    if (given.servers !== undefined) await configure(given.servers);
    const profile = profileDirectory !== undefined;
    const options = { checkout, environment, directory: profileDirectory ?? directory, home, profile };
    const start = async (app: 'gateway' | 'worker') => {
      const service = await startService({ app, ...options });
      closing.push(() => service.stop());
      return service;
    };
    const [startGateway, startWorker] = [() => start('gateway'), () => start('worker')];
    const worker = await startWorker();
    const gateway = await startGateway();
    const servers = given.servers ?? (JSON.parse(settings['MCP_SERVERS']!) as object);
    await untilOffered(gateway.url, Object.keys(servers));
    return {
      gateway,
      worker,
      postgresPid: Number(pidFile.split('\n', 1)[0]),
      redisPid: redis?.pid,
      redisUrl: redis?.url,
      databaseUrl: postgres.url,
      postgresStartMs,
      directory,
      settings,
      put: (what) => fakes.put({ ...what, url: gateway.url }),
      startGateway,
      startWorker,
      configure,
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

/** By the code of the checkout, which may have another version of it. */
async function startPostgres(checkout: string, dataDir: string) {
  const module = pathToFileURL(join(checkout, 'dist/libs/embedded-postgres/embedded-postgres.js')).href;
  const { startEmbeddedPostgres } = (await import(module)) as EmbeddedPostgresModule;
  return startEmbeddedPostgres({ dataDir });
}
type EmbeddedPostgresModule = typeof import('#libs/embedded-postgres/embedded-postgres.js');

const offeredMs = 120_000;

/** Resolves when tools of each server are offered: those of a command server are there a moment after its worker is. */
export async function untilOffered(url: string, servers: readonly string[]): Promise<void> {
  for (const until = performance.now() + offeredMs; performance.now() < until; await delay(50)) {
    const listed = (await (await fetch(`${url}/api/servers`)).json()) as { servers: { name: string; tools: number }[] };
    const offering = new Set(listed.servers.filter(({ tools }) => tools > 0).map(({ name }) => name));
    if (servers.every((server) => offering.has(server))) return;
  }
  throw new Error(`no tool of some of ${servers.length} servers is offered`);
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
        (select count(*)::int from audit_events where success and kind = 'tool_call') as audit,
        (select count(*)::int from runs where state <> 'done')
          + (select count(*)::int from tool_calls where state <> 'completed') as open`,
    ),
  );
  return rows[0]!;
}

export async function querying<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
