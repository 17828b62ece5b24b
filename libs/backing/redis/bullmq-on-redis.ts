// BullMQ's Redis backend on our connections. Commands share one connection; each consumed queue waits on its own.
import {
  createIORedisClient,
  type IQueueBackend,
  QueueKeys,
  RedisConnection,
  RedisQueueBackend,
  type QueueBaseOptions,
} from 'bullmq';
import type { BullmqSource } from '../bullmq/bullmq-source.js';
import { queueSettings } from '../bullmq/queue-settings.js';
import { inItsWords } from '../bullmq/store-away.js';
import { isStoreAway } from '#libs/store-error/store-error.js';
import { queuePrefix } from './keys.js';
import type { RedisClient } from './redis-client.js';
import { toRedisError } from './redis-error.js';
import type { RedisStore } from './redis-store.js';

/** Converts errors to those that BullMQ expects when Redis is unavailable. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw inItsWords(toRedisError(error));
  }
}

/** One of our clients as BullMQ sees it: BullMQ neither closes it nor asks for its version (check-server.ts did). */
class OpenedConnection extends RedisConnection {
  constructor(client: RedisClient, blocking: boolean) {
    super(createIORedisClient(client), { shared: true, blocking, skipVersionCheck: true });
    // Fractions of a second work in every accepted version; without this BullMQ would round up.
    this.client.then(
      () => (this.capabilities = { canDoubleTimeout: true, canBlockFor1Ms: false }),
      () => undefined,
    );
  }
}

class ToolQueueBackend extends RedisQueueBackend {
  // oxlint-disable-next-line typescript/no-explicit-any -- BullMQ's own signature
  override execCommand(...given: Parameters<RedisQueueBackend['execCommand']>): any {
    return told(async () => super.execCommand(...given) as unknown);
  }
}

/** For a worker: waits for jobs on a connection of its own, which it closes. */
class WaitingBackend extends ToolQueueBackend {
  private readonly interrupted: Promise<void>;
  private interrupt = () => {};

  constructor(
    private readonly store: RedisStore,
    private readonly waitingClient: RedisClient,
    ...given: ConstructorParameters<typeof RedisQueueBackend>
  ) {
    super(...given);
    this.interrupted = new Promise((resolve) => (this.interrupt = resolve));
  }

  override get maximumBlockTimeout(): number {
    return queueSettings.idlePollSeconds;
  }

  override waitForJob(blockTimeout: number): ReturnType<RedisQueueBackend['waitForJob']> {
    return told(() => super.waitForJob(blockTimeout));
  }

  /** Permanent: a stopped worker takes no jobs again. Never waits for an unavailable server. */
  override async disconnectBlocking(): Promise<void> {
    this.interrupt();
    this.store.endBlocking(this.waitingClient);
  }

  override reconnectBlocking(): Promise<void> {
    return Promise.race([super.reconnectBlocking(), this.interrupted]);
  }

  override async close(force?: boolean): Promise<void> {
    await this.disconnectBlocking();
    await super.close(force);
  }
}

export function bullmqOnRedis(store: RedisStore): BullmqSource {
  const keys = new QueueKeys(queuePrefix);
  const shared = new OpenedConnection(store.client, false);
  // A lost connection fails each command; the store's own listener logs the loss.
  shared.on('error', () => undefined);
  return {
    kind: 'redis',
    factory: (name, options, given): IQueueBackend => {
      const settings = { ...(options as QueueBaseOptions), prefix: queuePrefix };
      const toKey = (type: string) => keys.toKey(name, type);
      if (given?.withBlockingConnection !== true) {
        return new ToolQueueBackend(shared, name, keys.getKeys(name), toKey, settings, undefined, false);
      }
      const client = store.openBlocking();
      const waiting = new OpenedConnection(client, true);
      const commands = new OpenedConnection(store.client, false);
      return new WaitingBackend(store, client, commands, name, keys.getKeys(name), toKey, settings, waiting);
    },
    isAway: (error) => isStoreAway(toRedisError(error)),
  };
}
