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
import { isStoreAway } from '#libs/store-error/store-error.js';
import { queuePrefix } from './keys.js';
import type { RedisClient } from './redis-client.js';
import { toRedisError } from './redis-error.js';
import type { RedisStore } from './redis-store.js';

/** Gives BullMQ one of our clients, which BullMQ does not close or ask for the version (check-server.ts did). */
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

/** A worker's backend, which waits for jobs on a connection of its own and closes it. */
class WaitingBackend extends RedisQueueBackend {
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
        return new RedisQueueBackend(shared, name, keys.getKeys(name), toKey, settings, undefined, false);
      }
      const client = store.openBlocking();
      const waiting = new OpenedConnection(client, true);
      const commands = new OpenedConnection(store.client, false);
      return new WaitingBackend(store, client, commands, name, keys.getKeys(name), toKey, settings, waiting);
    },
    isAway: (error) => isStoreAway(toRedisError(error)),
  };
}
