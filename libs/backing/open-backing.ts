// The one place that chooses the set of backing services: Redis if it is configured, otherwise PostgreSQL alone.
import { type Logger, silentLogger } from '#libs/logging/logger.js';
import type { Backing } from './backing.js';
import type { CacheBounds } from './cache.js';

export interface OpenBackingOptions {
  databaseUrl: string;
  /** If absent, queue, channels, counters and cache are in PostgreSQL. */
  redisUrl?: string;
  /** Connections to PostgreSQL for statements, if that set is used; LISTEN takes up to three more. */
  poolSize?: number;
  /** Deadline of every call. */
  timeoutMs?: number;
  /** Shown by the server for each of our connections. */
  applicationName?: string;
  cache?: Partial<CacheBounds>;
  /** How often expired rows are removed. */
  sweepIntervalMs?: number;
  logger?: Logger;
}

const mebibyte = 1024 * 1024;
const cacheDefaults: CacheBounds = { maxRows: 20_000, maxBytes: 128 * mebibyte, maxValueBytes: mebibyte };

/** @throws AppError store_unavailable if the services do not answer within their deadline */
export async function openBacking(options: OpenBackingOptions): Promise<Backing> {
  return options.redisUrl === undefined ? openOnPostgres(options) : openOnRedis(options, options.redisUrl);
}

// Each set is loaded only if it is used: a process pays for one.

async function openOnPostgres(options: OpenBackingOptions): Promise<Backing> {
  const { openPostgresBacking } = await import('./postgres/postgres-backing.js');
  return openPostgresBacking({
    ...sharedOptions(options),
    databaseUrl: options.databaseUrl,
    poolSize: options.poolSize ?? 4,
    sweepIntervalMs: options.sweepIntervalMs ?? 30_000,
  });
}

async function openOnRedis(options: OpenBackingOptions, redisUrl: string): Promise<Backing> {
  const { openRedisBacking } = await import('./redis/redis-backing.js');
  return openRedisBacking({ ...sharedOptions(options), redisUrl });
}

function sharedOptions(options: OpenBackingOptions) {
  return {
    timeoutMs: options.timeoutMs ?? 2_000,
    applicationName: options.applicationName ?? 'signalbox-backing',
    cache: { ...cacheDefaults, ...options.cache },
    logger: options.logger ?? silentLogger,
  };
}
