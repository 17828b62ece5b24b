// The one connection of a process that LISTENs for channels. Comes back by itself after a loss, with everything that
// was listened to, and then says so. Finds a silent server with a heartbeat.
import type pg from 'pg';
import type { Logger } from '#libs/logging/logger.js';
import { withinDeadline } from '../store-error.js';
import { type Database, destroy } from './database.js';

const heartbeatMs = 5_000;
const retryMs = { first: 100, most: 1_000 };

export interface ListenEvents {
  onNotification(payload: string): void;
  onReconnect(): void;
}

export class ListenConnection {
  private client: pg.Client | undefined;
  private connecting: Promise<void> | undefined;
  private retryTimer: NodeJS.Timeout | undefined;
  private retryDelayMs = retryMs.first;
  private closed = false;
  /** What should be listened to, and what the server has taken on this connection. */
  private readonly wanted = new Set<string>();
  private listened = new Set<string>();
  /** The statement under way: a connection takes one at a time. */
  private syncing: Promise<void> | undefined;
  private readonly waiting = new Set<() => void>();
  private readonly heartbeat: NodeJS.Timeout;

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly events: ListenEvents,
  ) {
    this.heartbeat = setInterval(() => this.beat(), heartbeatMs);
    this.heartbeat.unref();
  }

  get isOpen(): boolean {
    return this.client !== undefined;
  }

  /** The first connection; later ones are made without being asked. */
  open(): Promise<void> {
    return this.connect(false);
  }

  /** Resolves once the server has taken it; waits for a lost connection to be back, within the deadline. */
  async listen(name: string): Promise<void> {
    this.wanted.add(name);
    let wake: (() => void) | undefined;
    try {
      await withinDeadline(this.database.timeoutMs, undefined, async () => {
        while (this.wanted.has(name) && !this.listened.has(name)) {
          if (this.client === undefined) await new Promise<void>((resolve) => this.waiting.add((wake = resolve)));
          else await this.sync(this.client);
        }
      });
    } finally {
      if (wake !== undefined) this.waiting.delete(wake);
    }
  }

  /** Takes effect in the background: what still arrives is for nobody. */
  unlisten(name: string): void {
    this.wanted.delete(name);
    // A lost connection listens to nothing; a failure here is a loss, which the next connection makes good.
    if (this.client !== undefined) this.sync(this.client).catch(() => undefined);
  }

  /** Tells the server what changed since the last statement, all at once. */
  private sync(client: pg.Client): Promise<void> {
    this.syncing ??= this.tell(client).finally(() => (this.syncing = undefined));
    return this.syncing;
  }

  private async tell(client: pg.Client): Promise<void> {
    // What else this tick subscribes goes into the same statement.
    await Promise.resolve();
    for (;;) {
      const added = [...this.wanted].filter((name) => !this.listened.has(name));
      const ended = [...this.listened].filter((name) => !this.wanted.has(name));
      if (added.length + ended.length === 0) return;
      // Before the server does it: who wants one back now must wait for the next statement.
      for (const name of ended) this.listened.delete(name);
      try {
        await client.query(
          [...added.map((name) => `listen ${name}`), ...ended.map((name) => `unlisten ${name}`)].join(';'),
        );
      } catch (error) {
        // What this connection listens to is not known any more.
        this.lost(client);
        throw error;
      }
      for (const name of added) this.listened.add(name);
    }
  }

  private connect(again: boolean): Promise<void> {
    this.connecting ??= this.establish(again).finally(() => (this.connecting = undefined));
    return this.connecting;
  }

  private async establish(again: boolean): Promise<void> {
    const client = await this.database.openClient();
    const lost = () => this.lost(client);
    client.once('error', lost);
    client.once('end', lost);
    client.on('notification', ({ payload }) => this.events.onNotification(payload ?? ''));
    try {
      // The last statement of the old connection, which cannot succeed any more.
      await this.syncing?.catch(() => undefined);
      this.listened = new Set();
      await this.sync(client);
    } catch (error) {
      destroy(client);
      throw error;
    }
    if (this.closed) {
      await this.database.endClient(client);
      return;
    }
    this.client = client;
    this.retryDelayMs = retryMs.first;
    for (const wake of this.waiting) wake();
    this.waiting.clear();
    if (again) {
      this.logger.info({}, 'The channels are connected again');
      this.events.onReconnect();
    }
  }

  private lost(client: pg.Client): void {
    if (this.client !== client || this.closed) return;
    this.client = undefined;
    destroy(client);
    this.logger.warn({}, 'The channels lost their connection');
    this.connectLater(0);
  }

  private connectLater(delayMs: number): void {
    this.retryTimer = setTimeout(() => {
      if (this.closed) return;
      this.connect(true).catch((error: unknown) => {
        this.logger.debug({ error }, 'The channels could not connect');
        this.retryDelayMs = Math.min(retryMs.most, this.retryDelayMs * 2);
        this.connectLater(this.retryDelayMs);
      });
    }, delayMs);
  }

  private beat(): void {
    const client = this.client;
    // A statement under way tells as much.
    if (client === undefined || this.syncing !== undefined) return;
    const question = client.query('select 1').then(() => undefined);
    this.syncing = question.finally(() => (this.syncing = undefined));
    this.syncing.catch(() => undefined);
    withinDeadline(this.database.timeoutMs, undefined, () => question).catch(() => this.lost(client));
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.heartbeat);
    clearTimeout(this.retryTimer);
    const client = this.client;
    this.client = undefined;
    await this.connecting?.catch(() => undefined);
    if (client !== undefined) await this.database.endClient(client);
  }
}
