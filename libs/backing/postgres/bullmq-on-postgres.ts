// BullMQ's PostgreSQL backend on our pool. LISTEN connections are opened outside of it, so that waiting cannot exhaust
// a small pool.
import { type IQueueBackend, PostgresConnection, PostgresQueueBackend, type QueueBaseOptions } from 'bullmq';
import type pg from 'pg';
import type { BullmqSource } from '../bullmq/bullmq-source.js';
import { isStoreAway } from '#libs/store-error/store-error.js';
import type { BackingDatabase } from './database.js';

type PgPool = Exclude<ConstructorParameters<typeof PostgresConnection>[0], string>;

/** Gives BullMQ our pool, which BullMQ neither ends nor listens to. */
class QueuePool {
  readonly options = { keepAlive: true };

  constructor(private readonly database: BackingDatabase) {}

  query(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    return this.database.runRaw(text, values);
  }

  async connect(): Promise<pg.Client & { release(): void }> {
    const client = await this.database.openClient();
    return Object.assign(client, { release: () => void this.database.endClient(client) });
  }

  async end(): Promise<void> {}

  on(): this {
    return this;
  }

  removeAllListeners(): this {
    return this;
  }
}

/** The schema was created when the backing opened; BullMQ would remember a first failure for ever. */
class OpenedConnection extends PostgresConnection {
  override waitUntilReady(): Promise<void> {
    return Promise.resolve();
  }
}

export function bullmqOnPostgres(database: BackingDatabase): BullmqSource {
  const pool = new QueuePool(database) as unknown as PgPool;
  const shared = new OpenedConnection(pool);
  return {
    kind: 'postgres',
    factory: (name, options, given): IQueueBackend => {
      const settings = options as QueueBaseOptions<never>;
      return given?.withBlockingConnection === true
        ? new PostgresQueueBackend(new OpenedConnection(pool), name, settings, true)
        : new PostgresQueueBackend(shared, name, settings, false);
    },
    isAway: isStoreAway,
  };
}
