// Sends messages in batches: those of one tick, and those that arrived during the last send. One send at a time, so the
// order of publishing is the order of arrival. Never sends twice.
import { storeUnavailable, toStoreError, withinDeadline } from '#libs/store-error/store-error.js';
import type { CarriedMessage, Carrier } from './carrier.js';

export interface BatchBounds {
  maxWaiting: number;
  maxWaitingCharacters: number;
  maxAtOnce: number;
}

interface Waiting extends CarriedMessage {
  abandoned: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

export class MessageBatch {
  private waiting: Waiting[] = [];
  private waitingCharacters = 0;
  private sending: Promise<void> | undefined;
  private closed = false;

  constructor(
    private readonly carrier: Carrier,
    private readonly bounds: BatchBounds,
  ) {}

  async send(message: CarriedMessage, signal?: AbortSignal): Promise<void> {
    if (this.closed) throw storeUnavailable('The channels are closed');
    const { maxWaiting, maxWaitingCharacters } = this.bounds;
    if (this.waiting.length >= maxWaiting || this.waitingCharacters >= maxWaitingCharacters) {
      throw storeUnavailable('Too many messages wait to be published');
    }
    let entry: Waiting | undefined;
    try {
      await withinDeadline(
        this.carrier.timeoutMs,
        signal,
        () =>
          new Promise<void>((resolve, reject) => {
            entry = { ...message, abandoned: false, resolve, reject };
            this.waiting.push(entry);
            this.waitingCharacters += message.payload.length;
            this.sending ??= this.flush().finally(() => (this.sending = undefined));
          }),
      );
    } catch (error) {
      // Its publisher already got an error: it must not be sent later.
      if (entry !== undefined) entry.abandoned = true;
      throw error;
    }
  }

  private async flush(): Promise<void> {
    // What else this tick publishes goes into the first batch.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const taken = this.waiting.splice(0, this.bounds.maxAtOnce);
      for (const { payload } of taken) this.waitingCharacters -= payload.length;
      const batch = taken.filter((entry) => !entry.abandoned);
      if (batch.length === 0) continue;
      try {
        await this.carrier.send(batch);
        for (const entry of batch) entry.resolve();
      } catch (error) {
        for (const entry of batch) entry.reject(toStoreError(error));
      }
    }
  }

  /** Waiting messages are still sent, within the deadline of a call. */
  async close(): Promise<void> {
    this.closed = true;
    const { sending } = this;
    if (sending !== undefined) {
      await withinDeadline(this.carrier.timeoutMs, undefined, () => sending).catch(() => undefined);
    }
  }
}
