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
  /** Settles with every connection; replaced when one is lost. */
  private connecting: Promise<void> | undefined;
  private retryTimer: NodeJS.Timeout | undefined;
  private retryDelayMs = retryMs.first;
  private closed = false;
  private readonly names = new Set<string>();
  private readonly waiting = new Set<(client: pg.Client) => void>();
  private readonly heartbeat: NodeJS.Timeout;

  constructor(
    private readonly database: Database,
    private readonly logger: Logger,
    private readonly events: ListenEvents,
  ) {
    this.heartbeat = setInterval(() => void this.beat(), heartbeatMs);
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
    this.names.add(name);
    let wait: ((client: pg.Client) => void) | undefined;
    try {
      await withinDeadline(this.database.timeoutMs, undefined, async () => {
        const client = this.client ?? (await new Promise<pg.Client>((resolve) => this.waiting.add((wait = resolve))));
        await client.query(`listen ${name}`);
      });
    } finally {
      if (wait !== undefined) this.waiting.delete(wait);
    }
  }

  async unlisten(name: string): Promise<void> {
    this.names.delete(name);
    const client = this.client;
    // A lost connection listens to nothing, so there is nothing to end.
    if (client === undefined) return;
    await withinDeadline(this.database.timeoutMs, undefined, () => client.query(`unlisten ${name}`));
  }

  private connect(again: boolean): Promise<void> {
    this.connecting ??= this.establish(again).finally(() => (this.connecting = undefined));
    return this.connecting;
  }

  private async establish(again: boolean): Promise<void> {
    const client = await this.database.openClient();
    try {
      const lost = () => this.lost(client);
      client.once('error', lost);
      client.once('end', lost);
      client.on('notification', ({ payload }) => this.events.onNotification(payload ?? ''));
      const listened = new Set(this.names);
      if (listened.size > 0) await client.query([...listened].map((name) => `listen ${name}`).join(';'));
      // Names that were added or ended meanwhile, while there was no connection to tell.
      for (const name of this.names) if (!listened.has(name)) await client.query(`listen ${name}`);
      for (const name of listened) if (!this.names.has(name)) await client.query(`unlisten ${name}`);
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
    for (const resolve of this.waiting) resolve(client);
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

  private async beat(): Promise<void> {
    const client = this.client;
    if (client === undefined) return;
    try {
      await withinDeadline(this.database.timeoutMs, undefined, () => client.query('select 1'));
    } catch {
      this.lost(client);
    }
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
