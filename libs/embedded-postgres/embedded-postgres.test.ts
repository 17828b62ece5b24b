import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { verifies } from '../../test/verifies.js';
import { isAlive, readParent } from '../process/process-identity.js';
import type { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { startEmbeddedPostgres, type EmbeddedPostgres, type EmbeddedPostgresOptions } from './embedded-postgres.js';

const isRoot = process.getuid?.() === 0;
/** Making a cluster takes a second: tests that need no fresh one share this. */
let dataDir: string;
let running: EmbeddedPostgres[] = [];
let fresh: string[] = [];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'signalbox-embedded-'));
});

afterAll(() => rm(dataDir, { recursive: true, force: true }));

afterEach(async () => {
  await Promise.all(running.map((postgres) => postgres.stop()));
  await Promise.all(fresh.map((directory) => rm(directory, { recursive: true, force: true })));
  running = [];
  fresh = [];
});

async function freshDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'signalbox-embedded-'));
  fresh.push(directory);
  return directory;
}

async function start(options: Partial<EmbeddedPostgresOptions> = {}): Promise<EmbeddedPostgres> {
  const postgres = await startEmbeddedPostgres({ dataDir, ...options });
  running.push(postgres);
  return postgres;
}

async function query(url: string, text: string): Promise<unknown[][]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<unknown[]>({ text, rowMode: 'array' })).rows;
  } finally {
    await client.end();
  }
}

const serverPid = async () => Number.parseInt(await readFile(pidFile(), 'utf8'), 10);
const pidFile = () => join(dataDir, 'postgres', 'cluster', 'postmaster.pid');

verifies('operations.postgres-restart-keeps-data', 'a row is there after a stop and a start', async () => {
  const first = await start();
  await query(first.url, 'create table kept (value text)');
  await query(first.url, `insert into kept values ('a row')`);
  await first.stop();
  const second = await start();
  expect(await query(second.url, 'select value from kept')).toEqual([['a row']]);
});

verifies('operations.postgres-second-start', 'on the same data directory', async () => {
  const first = await start();
  const refusal = (await start().catch((error: unknown) => error)) as EmbeddedPostgresError;
  expect(refusal.code).toBe('already_running');
  expect(refusal.message).toMatch(new RegExp(`already running.*process ${process.pid}.*DATA_DIR`));
  expect(await query(first.url, 'select 1')).toEqual([[1]]);
});

verifies('operations.postgres-two-first-starts', 'at the same moment', async () => {
  const directory = await freshDirectory();
  const results = await Promise.allSettled([start({ dataDir: directory }), start({ dataDir: directory })]);
  const refusals = results.filter((result) => result.status === 'rejected');
  expect(refusals.map(({ reason }) => (reason as EmbeddedPostgresError).code)).toEqual(['already_running']);
  expect(await query(running[0]!.url, 'select 1')).toEqual([[1]]);
});

verifies('operations.postgres-crash-blocks-nothing', 'its pid file names another program by now', async () => {
  const first = await start();
  const left = await readFile(pidFile(), 'utf8');
  await first.stop();
  await writeFile(pidFile(), left.replace(/^\d+/, String(process.ppid)));
  expect(await query((await start()).url, 'select 1')).toEqual([[1]]);
});

verifies('operations.postgres-crash-reported', 'the server is killed; its next start has the data', async () => {
  let reported: (error: EmbeddedPostgresError) => void = () => undefined;
  const end = new Promise<EmbeddedPostgresError>((resolve) => {
    reported = resolve;
  });
  const first = await start({ onUnexpectedEnd: (error) => reported(error) });
  await query(first.url, 'create table crashed as select 1 as value');
  process.kill(await serverPid(), 'SIGKILL');
  expect((await end).code).toBe('ended');
  const second = await start({ preferredPort: first.port });
  expect(second.port).toBe(first.port);
  expect(await query(second.url, 'select value from crashed')).toEqual([[1]]);
});

verifies('operations.postgres-crash-reported', 'the shell that watches it is killed: the server ends too', async () => {
  let reported: (error: EmbeddedPostgresError) => void = () => undefined;
  const end = new Promise<EmbeddedPostgresError>((resolve) => {
    reported = resolve;
  });
  await start({ onUnexpectedEnd: (error) => reported(error) });
  const pid = await serverPid();
  process.kill(readParent(pid)!, 'SIGKILL');
  expect((await end).code).toBe('ended');
  // Its new parent has to notice too.
  await expect.poll(() => isAlive(pid)).toBe(false);
});

verifies('operations.postgres-taken-port', 'the preferred one is in use', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  try {
    const { port } = other.address() as AddressInfo;
    const postgres = await start({ preferredPort: port });
    expect(postgres.port).not.toBe(port);
    expect(await query(postgres.url, 'select 1')).toEqual([[1]]);
  } finally {
    other.close();
  }
});

verifies('operations.postgres-locked-down', 'role, password, address, files', async () => {
  const { url } = await start();
  const facts = `select current_user::text, usesuper, usecreatedb, current_setting('listen_addresses'),
    current_setting('fsync'), current_setting('server_encoding') from pg_user where usename = current_user`;
  expect(await query(url, facts)).toEqual([['signalbox', false, false, '127.0.0.1', 'on', 'UTF8']]);
  for (const [user, password] of [
    ['postgres', new URL(url).password],
    ['signalbox', 'wrong'],
  ] as const) {
    const other = new URL(url);
    Object.assign(other, { username: user, password });
    await expect(query(other.href, 'select 1')).rejects.toThrow(/no pg_hba.conf entry|password authentication failed/);
  }
  const { mode } = await stat(join(dataDir, 'postgres', 'password'));
  expect(mode & 0o777).toBe(0o600);
  const { mode: directoryMode } = await stat(join(dataDir, 'postgres'));
  expect(directoryMode & 0o777).toBe(0o700);
});

verifies('operations.data-dir-unusable', 'a file stands where a directory should', async () => {
  const directory = await freshDirectory();
  await writeFile(join(directory, 'file'), '');
  const error = (await start({ dataDir: join(directory, 'file', 'data') }).catch((error: unknown) => error)) as Error;
  expect(error).toMatchObject({ code: 'data_dir_unusable' });
  expect(error.message).toContain('DATA_DIR');
});

verifies('operations.data-dir-unusable', 'a place where no directory can be made', async () => {
  await expect(start({ dataDir: '/proc/signalbox/data' })).rejects.toMatchObject({ code: 'data_dir_unusable' });
});

test('data that another major version wrote is left alone', async () => {
  const directory = await freshDirectory();
  await (await start({ dataDir: directory })).stop();
  await writeFile(join(directory, 'postgres', 'cluster', 'PG_VERSION'), '12\n');
  await expect(start({ dataDir: directory })).rejects.toMatchObject({ code: 'wrong_version' });
});

test('an aborted start leaves nothing', async () => {
  const directory = await freshDirectory();
  const controller = new AbortController();
  const starting = start({ dataDir: directory, signal: controller.signal });
  setTimeout(() => controller.abort(new Error('enough')), 300);
  await expect(starting).rejects.toThrow();
  expect((await readdir(directory)).filter((name) => name.startsWith('postgres.new-'))).toEqual([]);
  expect(await query((await start({ dataDir: directory })).url, 'select 1')).toEqual([[1]]);
});

test('a disposable one may create databases and takes its directory with it', async () => {
  const directory = await freshDirectory();
  const postgres = await start({ dataDir: directory, disposable: true });
  await query(postgres.url, 'create database another');
  await postgres.stop();
  await expect(stat(directory)).rejects.toMatchObject({ code: 'ENOENT' });
});

if (isRoot) {
  verifies('operations.postgres-root', 'below directories that only root, or another user, can enter', async () => {
    const directory = await freshDirectory();
    for (const owner of [0, 12_345]) {
      const closed = join(directory, `of-${owner}`);
      await mkdir(closed);
      await chown(closed, owner, owner);
      await chmod(closed, 0o700);
      const postgres = await start({ dataDir: join(closed, 'data') });
      expect(await query(postgres.url, 'select 1')).toEqual([[1]]);
      const { uid } = await stat(join(closed, 'data', 'postgres', 'cluster'));
      expect(uid).toBe(65_534);
    }
  });
} else {
  test.skip('operations.postgres-root: run the tests as root to see it', () => undefined);
}
