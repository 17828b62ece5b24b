// Counters in unlogged tables. Exact while the server lives: sums by row locks, places by a lock on their key.
// Times are the server's, so that gateways' clocks need not agree.
import type { Counters, PlaceShare, WindowState, WindowUse } from '../counters.js';
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

const useStatement = `
select place::int, taken::float8 as taken, room::float8 as left, wait_ms::float8 as "waitMs"
from rows from (
  unnest($1::text[]), unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[])
) with ordinality as use (key, take, extra, bound, window_ms, place)
cross join lateral signalbox_backing.use_window(key, take, extra, bound, window_ms)`;

const shareStatement = `
select place::int, places::float8 as places
from rows from (
  unnest($1::text[]), unnest($2::text[]), unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[]), unnest($6::bigint[])
) with ordinality as share (key, holder, used, wanted, bound, ttl_ms, place)
cross join lateral signalbox_backing.share_places(key, holder, used, wanted, bound, ttl_ms)`;

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

  async useWindows(uses: readonly WindowUse[], signal: AbortSignal): Promise<WindowState[]> {
    const sorted = byKey(uses);
    const { rows } = await this.database.run<WindowState & { place: number }>(
      useStatement,
      [
        sorted.map(({ key }) => key),
        sorted.map(({ take }) => take),
        sorted.map(({ add }) => add),
        sorted.map(({ limit }) => limit),
        sorted.map(({ windowMs }) => windowMs),
      ],
      signal,
    );
    const states: WindowState[] = [];
    for (const { place, ...state } of rows) states[sorted[place - 1]!.index] = state;
    return states;
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

  async sharePlaces(shares: readonly PlaceShare[], signal: AbortSignal): Promise<number[]> {
    const sorted = byKey(shares);
    const { rows } = await this.database.run<{ places: number; place: number }>(
      shareStatement,
      [
        sorted.map(({ key }) => key),
        sorted.map(({ holder }) => storedKey(holder)),
        sorted.map(({ used }) => used),
        sorted.map(({ wanted }) => wanted),
        sorted.map(({ limit }) => limit),
        sorted.map(({ ttlMs }) => ttlMs),
      ],
      signal,
    );
    const granted: number[] = [];
    for (const { place, places } of rows) granted[sorted[place - 1]!.index] = places;
    return granted;
  }

  /** The connections belong to the backing. */
  async close(): Promise<void> {}
}

/** In the order of their keys: two statements that want the same rows never wait for each other. */
function byKey<Use extends { key: string }>(uses: readonly Use[]): (Use & { index: number })[] {
  return uses
    .map((use, index) => ({ ...use, index, key: storedKey(use.key) }))
    .sort((left, right) => (left.key < right.key ? -1 : 1));
}
