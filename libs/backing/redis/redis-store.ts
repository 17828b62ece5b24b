// The Redis connections of one process: one for commands, one for each queue that it takes jobs from, one for
// channels. Every command has a deadline; a silent connection is detected and replaced.
import { Cluster, type Redis } from 'ioredis';
import type { RedisNode, RedisTarget } from '#libs/config/addresses/redis-url.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Store } from '../opened-backing.js';
import { type Answering, storeUnavailable, withinDeadline } from '#libs/store-error/store-error.js';
import { gatherWrites } from './gather-writes.js';
import { writableKey } from './keys.js';
import { createClient, createSingleClient, type RedisClient, seedsOf } from './redis-client.js';
import { toRedisError } from './redis-error.js';

export interface RedisStoreOptions {
  target: RedisTarget;
  /** Deadline of one port call. */
  timeoutMs: number;
  /** Shown by the server for each of our connections. */
  applicationName: string;
  logger: Logger;
}

const heartbeatMs = 5_000;
const writableMs = 60_000;

export class RedisStore implements Store, Answering {
  readonly timeoutMs: number;
  answeredAt = 0;
  private readonly commands: RedisClient;
  private readonly blocking = new Set<RedisClient>();
  private readonly heartbeat: NodeJS.Timeout;
  private nextNode = 0;
  private closed = false;

  constructor(private readonly options: RedisStoreOptions) {
    this.timeoutMs = options.timeoutMs;
    this.commands = gatherWrites(this.create(options.timeoutMs * 2));
    this.heartbeat = setInterval(() => void this.beat(), heartbeatMs).unref();
  }

  /** The client for all commands that do not block; throws ioredis' own errors. */
  get client(): RedisClient {
    return this.commands;
  }

  /** @throws the reason why the first connection failed, if it is known */
  async connect(): Promise<void> {
    let reason: unknown;
    const note = (error: unknown) =>
      (reason = error instanceof Error && 'lastNodeError' in error ? error.lastNodeError : error);
    this.commands.on('error', note);
    try {
      await withinDeadline(this.timeoutMs, undefined, () => this.commands.connect());
    } catch (error) {
      throw reason ?? error;
    } finally {
      this.commands.off('error', note);
    }
    this.logLosses();
  }

  /** Runs commands within the deadline. */
  run<T>(work: (client: RedisClient) => Promise<T>, signal?: AbortSignal): Promise<T> {
    return withinDeadline(this.timeoutMs, signal, () => this.runRaw(work));
  }

  /** Runs without the port's deadline, for callers with their own. The driver's deadline applies. */
  runRaw<T>(work: (client: RedisClient) => Promise<T>): Promise<T> {
    if (this.closed) return Promise.reject(storeUnavailable('The store is closed'));
    return work(this.commands).then(
      (result) => {
        this.answeredAt = performance.now();
        return result;
      },
      (error: unknown) => {
        throw toRedisError(error);
      },
    );
  }

  /** Writes, since a full server still answers PING. */
  async ping(signal: AbortSignal): Promise<void> {
    await this.run((client) => client.set(writableKey, '', 'PX', writableMs), signal);
  }

  /** A separate client for waiting on a queue. The client is connecting; `endBlocking` closes it. */
  openBlocking(): RedisClient {
    if (this.closed) throw storeUnavailable('The store is closed');
    const client = this.create(undefined);
    this.blocking.add(client);
    client.connect().catch((error: unknown) => this.options.logger.debug({ error }, 'Redis is not reachable'));
    return client;
  }

  endBlocking(client: RedisClient): void {
    client.disconnect();
    this.blocking.delete(client);
  }

  /** A connection for listening, not connected yet; in a cluster to a different server each time. */
  createListener(): Redis {
    if (this.closed) throw storeUnavailable('The store is closed');
    const nodes = this.nodes();
    const node = nodes[this.nextNode++ % Math.max(1, nodes.length)];
    const client = createSingleClient(this.options.target, this.settings(this.timeoutMs), node);
    this.watch(client);
    return client;
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.heartbeat);
    for (const client of [this.commands, ...this.blocking]) client.disconnect();
    this.blocking.clear();
  }

  private nodes(): RedisNode[] {
    const known = this.commands instanceof Cluster ? this.commands.nodes() : [];
    if (known.length === 0) return seedsOf(this.options.target);
    return known.map(({ options }) => ({ host: options.host!, port: options.port! }));
  }

  private create(commandTimeoutMs: number | undefined): RedisClient {
    const client = createClient(this.options.target, this.settings(commandTimeoutMs));
    this.watch(client);
    return client;
  }

  private settings(commandTimeoutMs: number | undefined) {
    const { applicationName, timeoutMs } = this.options;
    return {
      connectTimeoutMs: timeoutMs,
      // The server rejects names with spaces.
      name: applicationName.replaceAll(/[^!-~]/g, '-'),
      ...(commandTimeoutMs === undefined ? {} : { commandTimeoutMs }),
    };
  }

  private watch(client: RedisClient): void {
    // Each command reports to its caller; without a listener the error would be printed.
    client.on('error', (error) => this.options.logger.debug({ error }, 'A Redis connection was lost'));
  }

  private logLosses(): void {
    let away = false;
    const { logger } = this.options;
    this.commands.on('close', () => {
      if (away || this.closed) return;
      away = true;
      logger.warn({}, 'Redis is not reachable');
    });
    this.commands.on('ready', () => {
      if (away) logger.info({}, 'Redis is reachable again');
      away = false;
    });
  }

  /** Detects suspended servers and lost routes, which do not close connections. */
  private async beat(): Promise<void> {
    const connections = this.commands instanceof Cluster ? this.commands.nodes() : [this.commands];
    await Promise.all(
      connections
        .filter((connection) => connection.status === 'ready' || connection.status === 'connect')
        .map((connection) =>
          withinDeadline(this.timeoutMs, undefined, () => connection.ping()).catch(() => {
            // A cluster client reconnects by itself.
            if (!this.closed) connection.disconnect(connection === this.commands);
          }),
        ),
    );
  }
}
