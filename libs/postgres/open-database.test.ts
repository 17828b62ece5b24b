import net from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { sqlStateOf } from '#libs/store-error/store-error.js';
import { openDatabase, type Database } from './open-database.js';

const settings = { poolSize: 2, timeoutMs: 500, applicationName: 'signalbox test' };

describe('openDatabase', () => {
  let testDatabase: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    testDatabase = await createTestDatabase();
    database = openDatabase({ ...settings, url: testDatabase.url });
  });
  afterAll(async () => {
    await database.close();
    await testDatabase.drop();
  });

  const failing = async (
    database: Database,
    sql = 'select 1',
  ): Promise<{ code: string; ms: number; cause: unknown }> => {
    const start = performance.now();
    try {
      await database.call((prisma) => prisma.$queryRawUnsafe(sql));
    } catch (error) {
      const { code, cause } = error as { code: string; cause: unknown };
      return { code, ms: performance.now() - start, cause };
    }
    throw new Error('did not fail');
  };

  verifies('store.away-answers-in-time', 'refused, silent, slow, terminated, full pool, closed', async () => {
    const refused = openDatabase({ ...settings, url: 'postgres://nobody@127.0.0.1:9/none' });
    expect(await failing(refused)).toMatchObject({ code: 'store_unavailable' });
    await refused.close();

    const sockets = new Set<net.Socket>();
    const silent = net.createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    const { port } = silent.address() as net.AddressInfo;
    const hanging = openDatabase({ ...settings, url: `postgres://nobody@127.0.0.1:${port}/none` });
    const hung = await failing(hanging);
    expect(hung.code).toBe('store_unavailable');
    expect(hung.ms).toBeLessThan(1_500);
    await hanging.close();
    for (const socket of sockets) socket.destroy();
    silent.close();

    const slow = await failing(database, 'select pg_sleep(5)');
    expect(slow.code).toBe('store_unavailable');
    expect(slow.ms).toBeLessThan(1_500);
    const terminated = await failing(database, 'select pg_terminate_backend(pg_backend_pid())');
    expect(terminated).toMatchObject({ code: 'store_unavailable' });

    const crowd = await Promise.all([1, 2, 3, 4].map(() => failing(database, 'select pg_sleep(5)')));
    expect(crowd.map(({ code }) => code)).toEqual(Array.from({ length: 4 }, () => 'store_unavailable'));
    expect(Math.max(...crowd.map(({ ms }) => ms))).toBeLessThan(1_500);
    await database.ping();

    const closed = openDatabase({ ...settings, url: testDatabase.url });
    await closed.ping();
    await closed.close();
    await closed.close();
    expect(await failing(closed)).toMatchObject({ code: 'store_unavailable' });
  });

  test('statements by the driver alone: named, in time, on a connection that broke while idle', async () => {
    const own = openDatabase({ ...settings, poolSize: 1, url: testDatabase.url });
    const backend = async () => {
      const rows = await own.query<{ pid: number; names: string[] }>(
        `/* test.backend */ select pg_backend_pid() as pid, array(select name from pg_prepared_statements) as names
         where $1 = 1`,
        [1],
      );
      return rows[0]!;
    };
    const first = await backend();
    expect(first.names).toEqual(['test.backend']);
    expect(await database.query('select pg_terminate_backend($1)', [first.pid])).toHaveLength(1);
    const other = async () => (await backend().catch(() => first)).pid;
    await expect.poll(other, { timeout: 10_000 }).not.toBe(first.pid);
    await expect(own.query('select pg_sleep(5)', [])).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(own.query('select nonsense', [])).rejects.toMatchObject({ code: 'internal_error' });
    await own.close();
    await expect(backend()).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('a bug of ours is internal_error, with its SQLSTATE for the log only', async () => {
    const failure = await failing(database, 'select nonsense');
    expect(failure.code).toBe('internal_error');
    expect(sqlStateOf(failure.cause)).toBe('42703');
    expect(sqlStateOf(await failing(database, `select 'x'::jsonb`))).toBe('22P02');
  });

  test('connections are named and in UTC', async () => {
    const rows = await database.call(
      (prisma) => prisma.$queryRaw`select current_setting('TimeZone') zone, current_setting('application_name') name`,
    );
    expect(rows).toEqual([{ zone: 'UTC', name: 'signalbox test' }]);
  });

  test('an abort ends the wait with its reason', async () => {
    const stop = new AbortController();
    const waiting = database.call((prisma) => prisma.$queryRaw`select pg_sleep(5)`, stop.signal);
    stop.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
  });
});
