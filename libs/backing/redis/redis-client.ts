// Opens ioredis clients for a target. A command in progress when its connection breaks fails at once, and the driver
// never sends it again; a command without a connection waits for the next attempt, and fails with it.
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { RedisNode, RedisTarget } from '#libs/config/addresses/redis-url.js';

export type RedisClient = Redis | Cluster;

export interface ClientSettings {
  connectTimeoutMs: number;
  /** Absent if commands may block (the queue's wait for a job). */
  commandTimeoutMs?: number;
  /** Shown by the server. */
  name: string;
}

const mostRetryMs = 500;
const retryDelayMs = (attempt: number): number => Math.min(mostRetryMs, 10 * 2 ** Math.min(attempt, 10));

/** The client is not connected: listen to `error`, then call `connect()`. Reconnects until `disconnect()`. */
export function createClient(target: RedisTarget, settings: ClientSettings): RedisClient {
  const options = optionsOf(target, settings);
  switch (target.kind) {
    case 'server':
      return new Redis({ ...options, ...target.node, db: target.database, retryStrategy: retryDelayMs });
    case 'sentinel':
      return new Redis({ ...options, ...masterOf(target), retryStrategy: retryDelayMs });
    case 'cluster':
      return new Cluster(target.nodes, {
        redisOptions: options,
        lazyConnect: true,
        clusterRetryStrategy: retryDelayMs,
        slotsRefreshTimeout: settings.connectTimeoutMs,
        // Keeps host names unresolved: certificates name hosts. The connection resolves them itself.
        ...(target.tls ? { dnsLookup: (address, callback) => callback(null, address) } : {}),
        // Otherwise the driver resends commands in progress: a message would be published twice.
        retryDelayOnFailover: 0,
      });
  }
}

/** A connection to one server (with sentinels, the master) that does not reconnect: its owner opens the next one. */
export function createSingleClient(target: RedisTarget, settings: ClientSettings, node?: RedisNode): Redis {
  const options = { ...optionsOf(target, settings), retryStrategy: () => null };
  return target.kind === 'sentinel'
    ? new Redis({ ...options, ...masterOf(target), sentinelRetryStrategy: () => null })
    : new Redis({ ...options, ...node, ...(target.kind === 'server' ? { db: target.database } : {}) });
}

/** The servers that were configured; none for sentinels, which know the master. */
export function seedsOf(target: RedisTarget): RedisNode[] {
  if (target.kind === 'server') return [target.node];
  return target.kind === 'cluster' ? target.nodes : [];
}

function optionsOf(target: RedisTarget, settings: ClientSettings): RedisOptions {
  return {
    lazyConnect: true,
    connectionName: settings.name,
    connectTimeout: settings.connectTimeoutMs,
    ...(settings.commandTimeoutMs === undefined ? {} : { commandTimeout: settings.commandTimeoutMs }),
    ...({ disconnectTimeout: 200 } satisfies { disconnectTimeout: number }),
    maxRetriesPerRequest: 0,
    autoResubscribe: false,
    keepAlive: 10_000,
    disableClientInfo: true,
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
    ...(target.tls ? { tls: {} } : {}),
  };
}

function masterOf(target: RedisTarget & { kind: 'sentinel' }): RedisOptions {
  return {
    sentinels: target.sentinels,
    name: target.name,
    db: target.database,
    enableTLSForSentinelMode: target.tls,
    ...(target.tls ? { sentinelTLS: {} } : {}),
    ...(target.sentinelPassword === undefined ? {} : { sentinelPassword: target.sentinelPassword }),
  };
}
