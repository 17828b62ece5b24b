// BullMQ's Redis backend on our connections. Commands go by the one that all share; each consumed queue waits on its own.
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

/** What is thrown is said in BullMQ's words when Redis is away. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw inItsWords(toRedisError(error));
  }
}

/** One of our clients as BullMQ sees it: it neither ends it nor asks it for its version (check-server.ts did). */
class OpenedConnection extends RedisConnection {
  constructor(client: RedisClient, blocking: boolean) {
    super(createIORedisClient(client), { shared: true, blocking, skipVersionCheck: true });
    // Fractions of a second, which every version that is accepted here knows; unasked, BullMQ would round up.
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

/** Of a worker: waits for jobs on a connection of its own, which it ends. */
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

  /** For good: a worker that was told to stop taking jobs takes none again. Never waits for a server that is away. */
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
  // A connection tells its loss to each command; the store's own listener logs it.
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
