// Channels on LISTEN/NOTIFY. Many channels share a few physical ones; the envelope says which a message is for.
import type { Logger } from '#libs/logging/logger.js';
import type { Channels } from '../channels.js';
import { fromPayload, maxMessageBytes, shardOf, toPayload } from './channel-envelope.js';
import type { Database } from './database.js';
import { ListenConnection } from './listen-connection.js';
import { NotifyBatch } from './notify-batch.js';

type Listener = (message: string) => void;

/** 10,000 messages of 8 kB: 80 MB at the worst, in a process that publishes faster than the database takes. */
const bounds = { maxWaiting: 10_000, maxAtOnce: 256 };

export class PostgresChannels implements Channels {
  readonly maxMessageBytes = maxMessageBytes;
  private readonly connection: ListenConnection;
  private readonly batch: NotifyBatch;
  private readonly listeners = new Map<string, Set<{ listener: Listener }>>();
  /** How many subscriptions a physical channel has. */
  private readonly shards = new Map<string, number>();
  private readonly reconnectListeners = new Set<() => void>();
  private number = 0;

  constructor(
    database: Database,
    private readonly logger: Logger,
  ) {
    this.connection = new ListenConnection(database, logger, {
      onNotification: (payload) => this.receive(payload),
      onReconnect: () => this.tell([...this.reconnectListeners]),
    });
    this.batch = new NotifyBatch(database, bounds);
  }

  open(): Promise<void> {
    return this.connection.open();
  }

  get isConnected(): boolean {
    return this.connection.isOpen;
  }

  async publish(channel: string, message: string, signal?: AbortSignal): Promise<void> {
    this.number += 1;
    await this.batch.send(shardOf(channel), toPayload({ channel, message }, this.number), signal);
  }

  async subscribe(channel: string, listener: Listener): Promise<() => Promise<void>> {
    const shard = shardOf(channel);
    const subscription = { listener };
    const listeners = this.listeners.get(channel) ?? new Set();
    listeners.add(subscription);
    this.listeners.set(channel, listeners);
    this.shards.set(shard, (this.shards.get(shard) ?? 0) + 1);
    const end = async () => {
      if (!listeners.delete(subscription)) return;
      if (listeners.size === 0 && this.listeners.get(channel) === listeners) this.listeners.delete(channel);
      const left = this.shards.get(shard)! - 1;
      this.shards.set(shard, left);
      if (left === 0) this.connection.unlisten(shard);
    };
    try {
      await this.connection.listen(shard);
    } catch (error) {
      await end();
      throw error;
    }
    return end;
  }

  onReconnect(listener: () => void): () => void {
    this.reconnectListeners.add(listener);
    return () => this.reconnectListeners.delete(listener);
  }

  private receive(payload: string): void {
    const envelope = fromPayload(payload);
    if (envelope === undefined) return;
    const listeners = this.listeners.get(envelope.channel);
    if (listeners === undefined) return;
    this.tell(
      [...listeners].map(
        ({ listener }) =>
          () =>
            listener(envelope.message),
      ),
    );
  }

  private tell(calls: readonly (() => void)[]): void {
    for (const call of calls) {
      try {
        call();
      } catch (error) {
        this.logger.error({ error }, 'A listener of a channel failed');
      }
    }
  }

  async close(): Promise<void> {
    this.listeners.clear();
    this.reconnectListeners.clear();
    await this.batch.close();
    await this.connection.close();
  }
}
