// Channels on top of a carrier. Many may share a physical one; the envelope names a message's channel.
import type { Logger } from '#libs/logging/logger.js';
import { Batch } from '#libs/concurrency/batch.js';
import { storeUnavailable, withinDeadline } from '#libs/store-error/store-error.js';
import type { Channels } from '../channels.js';
import type { CarriedMessage, Carrier } from './carrier.js';
import { fromPayload, toChannelPayload } from './channel-envelope.js';
import { ListenConnection } from './listen-connection.js';

type Listener = (message: string) => void;

/** Upper bound of waiting messages, in a process that publishes faster than the store accepts. */
const bounds = { maxWaiting: 10_000, maxWaitingSize: 64 * 1024 * 1024, maxItems: 256 };

interface Outgoing extends CarriedMessage {
  /** The publisher has got an error, so the message must not be sent later. */
  abandoned: boolean;
}

export class CarriedChannels implements Channels {
  readonly maxMessageBytes: number;
  private readonly connection: ListenConnection;
  /** Sends one batch at a time, so that messages arrive in the order of publishing. */
  private readonly batch: Batch<Outgoing>;
  private readonly listeners = new Map<string, Set<{ listener: Listener }>>();
  /** How many subscriptions a physical channel has. */
  private readonly subscribed = new Map<string, number>();
  private readonly reconnectListeners = new Set<() => void>();
  private number = 0;

  constructor(
    private readonly carrier: Carrier,
    private readonly logger: Logger,
  ) {
    this.maxMessageBytes = carrier.limits.messageBytes;
    this.connection = new ListenConnection(carrier, logger, {
      onPayload: (payload) => this.receive(payload),
      onReconnect: () => this.notify([...this.reconnectListeners]),
    });
    this.batch = new Batch({
      flush: (messages) => this.send(messages) as Promise<void>,
      schedule: queueMicrotask,
      oneByOne: true,
      sizeOf: ({ payload }) => payload.length,
      ...bounds,
      refusal: (why) =>
        storeUnavailable(why === 'closed' ? 'The channels are closed' : 'Too many messages wait to be published'),
    });
  }

  open(): Promise<void> {
    return this.connection.open();
  }

  get isConnected(): boolean {
    return this.connection.isOpen;
  }

  publish(channel: string, message: string, signal?: AbortSignal): Promise<void> {
    this.number += 1;
    const payload = toChannelPayload({ channel, message }, this.number, this.carrier.limits);
    const outgoing = { name: this.carrier.physicalName(channel), payload, abandoned: false };
    return withinDeadline(this.carrier.timeoutMs, signal, () => this.batch.submit(outgoing)).catch((error: unknown) => {
      outgoing.abandoned = true;
      throw error;
    });
  }

  private send(messages: readonly Outgoing[]): Promise<unknown> {
    const wanted = messages.filter(({ abandoned }) => !abandoned);
    return wanted.length > 0 ? this.carrier.send(wanted) : Promise.resolve();
  }

  async subscribe(channel: string, listener: Listener): Promise<() => Promise<void>> {
    const name = this.carrier.physicalName(channel);
    const subscription = { listener };
    const listeners = this.listeners.get(channel) ?? new Set();
    listeners.add(subscription);
    this.listeners.set(channel, listeners);
    this.subscribed.set(name, (this.subscribed.get(name) ?? 0) + 1);
    const end = async () => {
      if (!listeners.delete(subscription)) return;
      if (listeners.size === 0 && this.listeners.get(channel) === listeners) this.listeners.delete(channel);
      const left = this.subscribed.get(name)! - 1;
      if (left > 0) {
        this.subscribed.set(name, left);
        return;
      }
      this.subscribed.delete(name);
      this.connection.unlisten(name);
    };
    try {
      await this.connection.listen(name);
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
    this.notify(
      [...listeners].map(
        ({ listener }) =>
          () =>
            listener(envelope.message),
      ),
    );
  }

  private notify(calls: readonly (() => void)[]): void {
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
    // Waiting messages are still sent, within the deadline of a call.
    await withinDeadline(this.carrier.timeoutMs, undefined, () => this.batch.close()).catch(() => undefined);
    await this.connection.close();
  }
}
