// Counters in unlogged tables. Exact while the server lives: each key is a row, which a statement locks.
// Times are the server's, so that gateways' clocks need not agree.
import type { Counters, PlaceShare, WindowState, WindowUse } from '../counters.js';
import { storedKey } from '../stored-key.js';
import type { BackingDatabase } from './database.js';

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
  constructor(private readonly database: BackingDatabase) {}

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

/** Sorts uses by key, so that two statements never deadlock over the same rows. */
function byKey<Use extends { key: string }>(uses: readonly Use[]): (Use & { index: number })[] {
  return uses
    .map((use, index) => ({ ...use, index, key: storedKey(use.key) }))
    .sort((left, right) => (left.key < right.key ? -1 : 1));
}
