// Counters in unlogged tables. Exact while the server lives: sums by row locks, places by a lock on their key.
// Times are the server's, so that gateways' clocks need not agree.
import type { Counters } from '../counters.js';
import { storedKey } from '../stored-key.js';
import type { Database } from './database.js';

const addStatement = `
insert into signalbox_backing.counter as c (key, total, expires_at)
values ($1, $2, clock_timestamp() + $3::bigint * interval '1 millisecond')
on conflict (key) do update set
  total = case when c.expires_at <= clock_timestamp() then excluded.total else c.total + excluded.total end,
  expires_at = case when c.expires_at <= clock_timestamp() then excluded.expires_at else c.expires_at end
returning total::float8 as total,
  greatest(0, ceil(extract(epoch from expires_at - clock_timestamp()) * 1000))::float8 as "resetInMs"`;

export class PostgresCounters implements Counters {
  constructor(private readonly database: Database) {}

  async add(
    key: string,
    by: number,
    windowMs: number,
    signal: AbortSignal,
  ): Promise<{ total: number; resetInMs: number }> {
    const { rows } = await this.database.run<{ total: number; resetInMs: number }>(
      addStatement,
      [storedKey(key), Math.round(by), Math.ceil(windowMs)],
      signal,
    );
    return rows[0]!;
  }

  // eslint-disable-next-line max-params -- the port's own shape
  async acquire(key: string, holder: string, limit: number, ttlMs: number, signal: AbortSignal): Promise<boolean> {
    const { rows } = await this.database.run<{ taken: boolean }>(
      'select signalbox_backing.acquire_place($1, $2, $3, $4) as taken',
      [storedKey(key), storedKey(holder), limit, Math.ceil(ttlMs)],
      signal,
    );
    return rows[0]!.taken;
  }

  async release(key: string, holder: string, signal: AbortSignal): Promise<void> {
    await this.database.run(
      'delete from signalbox_backing.place where key = $1 and holder = $2',
      [storedKey(key), storedKey(holder)],
      signal,
    );
  }

  /** The connections belong to the backing. */
  async close(): Promise<void> {}
}
