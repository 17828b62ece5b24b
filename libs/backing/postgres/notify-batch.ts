// Sends messages with NOTIFY: those of one tick, and those that came while the last statement ran, in one statement.
// One statement at a time, so the order of publishing is the order of arrival. Never sends twice.
import { storeUnavailable, toStoreError, withinDeadline } from '../store-error.js';
import type { Database } from './database.js';

export interface NotifyBounds {
  maxWaiting: number;
  maxAtOnce: number;
}

interface Waiting {
  shard: string;
  payload: string;
  abandoned: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

const statement = 'select pg_notify(m.shard, m.payload) from unnest($1::text[], $2::text[]) as m(shard, payload)';

export class NotifyBatch {
  private waiting: Waiting[] = [];
  private sending: Promise<void> | undefined;
  private closed = false;

  constructor(
    private readonly database: Database,
    private readonly bounds: NotifyBounds,
  ) {}

  async send(shard: string, payload: string, signal?: AbortSignal): Promise<void> {
    if (this.closed) throw storeUnavailable('The channels are closed');
    if (this.waiting.length >= this.bounds.maxWaiting) throw storeUnavailable('Too many messages wait to be published');
    let entry: Waiting | undefined;
    try {
      await withinDeadline(
        this.database.timeoutMs,
        signal,
        () =>
          new Promise<void>((resolve, reject) => {
            entry = { shard, payload, abandoned: false, resolve, reject };
            this.waiting.push(entry);
            this.sending ??= this.flush().finally(() => (this.sending = undefined));
          }),
      );
    } catch (error) {
      // Its publisher was told that it failed: it must not be sent later.
      if (entry !== undefined) entry.abandoned = true;
      throw error;
    }
  }

  private async flush(): Promise<void> {
    // What else this tick publishes goes into the first statement.
    await Promise.resolve();
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, this.bounds.maxAtOnce).filter((entry) => !entry.abandoned);
      if (batch.length === 0) continue;
      try {
        await this.database.runRaw(statement, [batch.map((entry) => entry.shard), batch.map((entry) => entry.payload)]);
        for (const entry of batch) entry.resolve();
      } catch (error) {
        for (const entry of batch) entry.reject(toStoreError(error));
      }
    }
  }

  /** What waits is still sent, within the deadline of a call. */
  async close(): Promise<void> {
    this.closed = true;
    const { sending } = this;
    if (sending !== undefined) {
      await withinDeadline(this.database.timeoutMs, undefined, () => sending).catch(() => undefined);
    }
  }
}
