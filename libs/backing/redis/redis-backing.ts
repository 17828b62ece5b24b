// The set of backing services on Redis. Connections per process: one for commands (in a cluster one per server),
// one for channels, one for each queue it takes jobs from (at most two).
import { parseRedisUrl } from '#libs/config/addresses/redis-url.js';
import { atHosts } from '#libs/config/addresses/shown-hosts.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Backing } from '../backing.js';
import type { CacheBounds } from '../cache.js';
import { CarriedChannels } from '../messages/carried-channels.js';
import { OpenedBacking } from '../opened-backing.js';
import { storeUnavailable, withinDeadline } from '#libs/store-error/store-error.js';
import { bullmqOnRedis } from './bullmq-on-redis.js';
import { checkServer, startProblem } from './check-server.js';
import { RedisCache } from './redis-cache.js';
import { RedisCarrier } from './redis-carrier.js';
import { RedisCounters } from './redis-counters.js';
import { RedisJobQueue } from './redis-job-queue.js';
import { RedisStore } from './redis-store.js';

export interface RedisBackingOptions {
  redisUrl: string;
  /** Deadline of one port call. */
  timeoutMs: number;
  /** Shown by the server for each of our connections. */
  applicationName: string;
  cache: CacheBounds;
  logger: Logger;
}

/** @throws AppError store_unavailable if Redis cannot be reached, internal_error if it cannot be used */
export async function openRedisBacking(options: RedisBackingOptions): Promise<Backing> {
  const { logger } = options;
  const store = new RedisStore({ ...options, target: parseRedisUrl(options.redisUrl) });
  const channels = new CarriedChannels(new RedisCarrier(store), logger);
  let redisVersion: string | undefined;
  try {
    await store.connect();
    redisVersion = await withinDeadline(store.timeoutMs, undefined, () => checkServer(store.client, logger));
    await channels.open();
  } catch (error) {
    await channels.close();
    await store.close();
    throw error instanceof AppError && error.code === 'internal_error' ? error : toStartError(error, options.redisUrl);
  }
  const source = bullmqOnRedis(store);
  return new OpenedBacking({
    queue: new RedisJobQueue(store, source, (error) => logger.debug({ error }, 'The tool queue reports')),
    channels,
    counters: new RedisCounters(store),
    cache: new RedisCache(store, options.cache),
    source,
    store,
    others: [],
    redisVersion,
    logger,
  });
}

/** The error for the operator, logged with its cause. */
function toStartError(error: unknown, url: string): AppError {
  const known = startProblem(error);
  if (known !== undefined) return known;
  const code: unknown = error instanceof AppError ? undefined : (error as { code?: unknown }).code;
  const why = typeof code === 'string' && /^[A-Z_]{3,40}$/.test(code) ? ` (${code})` : '';
  return storeUnavailable(`Redis${atHosts(url)} (REDIS_URL) cannot be reached${why}`, error);
}
