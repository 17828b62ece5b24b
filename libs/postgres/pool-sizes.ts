// How a process divides its PostgreSQL connections (`database.pool_size`). LISTEN connections are extra: one in a gateway,
// three in a worker. Servers usually allow a hundred connections in total, which many processes must share.
import type { Config } from '#libs/config/schema.js';

export interface PoolSizes {
  /** Runs, journal, sessions, leases. */
  store: number;
  /** Queue, channels, counters, cache; unused if these are in Redis. */
  backing: number;
}

export function poolSizes({ database, redis }: Pick<Config, 'database' | 'redis'>): PoolSizes {
  const { pool_size: size } = database;
  if (redis.url !== undefined) return { store: size, backing: 0 };
  const store = Math.max(1, Math.ceil(size / 2));
  return { store, backing: Math.max(1, size - store) };
}
