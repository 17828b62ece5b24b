// One Signalbox as `npm start` runs it (embedded PostgreSQL with everything durable, a gateway, a worker), but with a fake
// upstream for its only provider and a directory that is removed afterwards.
import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '#libs/embedded-postgres/embedded-postgres.js';
import { type Service, startPart, startRedisServer, startService } from './processes.js';
import type { Load, LoadResult } from './load.js';

export interface System {
  gateway: Service;
  worker: Service;
  postgresPid: number;
  /** Where the backing services are in Redis. */
  redisPid?: number;
  upstreamPid: number;
  upstreamUrl: string;
  /** Settings that differ from the defaults, without secrets. */
  settings: Record<string, string>;
  put(load: Load): Promise<LoadResult>;
  /** So many sessions of the one principal, `bench-0` and on, as if each had been used just now. */
  addSessions(count: number): Promise<void>;
  rowCounts(): Promise<{ runs: number; calls: number; audit: number; open: number }>;
  close(): Promise<void>;
}

export interface SystemOptions {
  /** Where CPU profiles of gateway and worker go. */
  profileDirectory?: string | undefined;
  /** Queue, channels, counters and cache in a Redis of the bench's own. */
  redis: boolean;
}

export async function startSystem({ profileDirectory, redis: withRedis }: SystemOptions): Promise<System> {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-bench-'));
  const closing: (() => unknown)[] = [() => rm(directory, { recursive: true, force: true })];
  const close = async () => {
    for (const step of closing.reverse()) await step();
  };
  try {
    const postgres = await startEmbeddedPostgres({ dataDir: directory });
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
    };
    const environment = {
      ...settings,
      DATABASE_URL: postgres.url,
      DATA_DIR: directory,
      ...(redis === undefined ? {} : { REDIS_URL: redis.url }),
    };
    if (profileDirectory !== undefined) await mkdir(profileDirectory, { recursive: true });
    const options = { environment, directory: profileDirectory ?? directory, profile: profileDirectory !== undefined };
    const worker = await startService({ app: 'worker', ...options });
    closing.push(() => worker.stop());
    const gateway = await startService({ app: 'gateway', ...options });
    closing.push(() => gateway.stop());
    return {
      gateway,
      worker,
      postgresPid: Number(pidFile.split('\n', 1)[0]),
      ...(redis === undefined ? {} : { redisPid: redis.pid }),
      upstreamPid: upstream.pid!,
      upstreamUrl,
      settings,
      async put(what) {
        const result = answerOf<LoadResult>(load);
        load.send(what);
        return result;
      },
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

async function answerOf<T>(part: ChildProcess): Promise<T> {
  const settled = new AbortController();
  const { signal } = settled;
  const ended = once(part, 'exit', { signal }).then(() => {
    throw new Error('a part of the bench has ended');
  });
  try {
    const [message] = (await Promise.race([once(part, 'message', { signal }), ended])) as [T];
    return message;
  } finally {
    ended.catch(() => undefined);
    settled.abort();
  }
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
