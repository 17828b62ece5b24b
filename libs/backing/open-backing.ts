// The one place that chooses the set of backing services: Redis when it is configured, else PostgreSQL alone.
import { type Logger, silentLogger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Backing } from './backing.js';
import type { CacheBounds } from './cache.js';

export interface OpenBackingOptions {
  databaseUrl: string;
  /** Absent: queue, channels, counters and cache are in PostgreSQL. */
  redisUrl?: string;
  /** Connections for statements; LISTEN takes up to three more. */
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

/** @throws AppError store_unavailable when the services do not answer within their deadline */
export async function openBacking(options: OpenBackingOptions): Promise<Backing> {
  return options.redisUrl === undefined ? openOnPostgres(options) : openOnRedis();
}

async function openOnPostgres(options: OpenBackingOptions): Promise<Backing> {
  // Loaded here, so that a process pays for the set that it uses.
  const { openPostgresBacking } = await import('./postgres/postgres-backing.js');
  return openPostgresBacking({
    databaseUrl: options.databaseUrl,
    poolSize: options.poolSize ?? 8,
    timeoutMs: options.timeoutMs ?? 2_000,
    applicationName: options.applicationName ?? 'signalbox-backing',
    cache: { ...cacheDefaults, ...options.cache },
    sweepIntervalMs: options.sweepIntervalMs ?? 30_000,
    logger: options.logger ?? silentLogger,
  });
}

async function openOnRedis(): Promise<Backing> {
  throw new AppError('internal_error', 'This version has no Redis backing: leave the Redis URL unset');
}
