// The one connection of a process that listens to channels. Reconnects after a loss, restores all subscriptions, and
// then reports it. Detects a silent server with a heartbeat.
import type { Logger } from '#libs/logging/logger.js';
import { storeUnavailable, withinDeadline } from '#libs/store-error/store-error.js';
import type { Carrier, ListenLink } from './carrier.js';

const heartbeatMs = 5_000;
const retryMs = { first: 100, most: 1_000 };

export interface ListenEvents {
  onPayload(payload: string): void;
  onReconnect(): void;
}

export class ListenConnection {
  private link: ListenLink | undefined;
  private connecting: Promise<void> | undefined;
  private retryTimer: NodeJS.Timeout | undefined;
  private retryDelayMs = retryMs.first;
  private closed = false;
  /** The wanted subscriptions, and those that the server has confirmed on this connection. */
  private readonly wanted = new Set<string>();
  private listened = new Set<string>();
  /** The step in progress: a connection takes one at a time. */
  private syncing: Promise<void> | undefined;
  private readonly waiting = new Set<() => void>();
  private readonly heartbeat: NodeJS.Timeout;

  constructor(
    private readonly carrier: Carrier,
    private readonly logger: Logger,
    private readonly events: ListenEvents,
  ) {
    this.heartbeat = setInterval(() => this.beat(), heartbeatMs).unref();
  }

  get isOpen(): boolean {
    return this.link !== undefined;
  }

  /** Opens the first connection; later ones are opened automatically. */
  open(): Promise<void> {
    return this.connect(false);
  }

  /** Resolves once the server has confirmed the subscription; waits for a lost connection, within the deadline. */
  async listen(name: string): Promise<void> {
    this.wanted.add(name);
    let wake: (() => void) | undefined;
    try {
      await withinDeadline(this.carrier.timeoutMs, undefined, async () => {
        while (this.wanted.has(name) && !this.listened.has(name)) {
          if (this.link === undefined) await new Promise<void>((resolve) => this.waiting.add((wake = resolve)));
          else await this.sync(this.link);
        }
      });
    } finally {
      if (wake !== undefined) this.waiting.delete(wake);
    }
  }

  /** Takes effect in the background: messages that still arrive are dropped. */
  unlisten(name: string): void {
    this.wanted.delete(name);
    // A lost connection has no subscriptions; a failure here counts as a loss, which the next connection repairs.
    if (this.link !== undefined) this.sync(this.link).catch(() => undefined);
  }

  /** Sends the server all changes since the last step at once. */
  private sync(link: ListenLink): Promise<void> {
    this.syncing ??= this.sendChanges(link).finally(() => (this.syncing = undefined));
    return this.syncing;
  }

  private async sendChanges(link: ListenLink): Promise<void> {
    // Other subscriptions of this tick go into the same step.
    await Promise.resolve();
    for (;;) {
      const added = [...this.wanted].filter((name) => !this.listened.has(name));
      const ended = [...this.listened].filter((name) => !this.wanted.has(name));
      if (added.length + ended.length === 0) return;
      // Forget ended names before the server does: a new subscriber must wait for the next step.
      for (const name of ended) this.listened.delete(name);
      try {
        await link.change(added, ended);
      } catch (error) {
        // After a failure it is unknown what this connection listens to.
        this.lost(link);
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
    let isLost = false;
    const link: ListenLink = await this.carrier.openLink({
      onPayload: (payload) => this.events.onPayload(payload),
      onLost: () => {
        isLost = true;
        if (this.link !== undefined) this.lost(link);
      },
    });
    try {
      // The last step of the old connection, which can no longer succeed.
      await this.syncing?.catch(() => undefined);
      this.listened = new Set();
      await this.sync(link);
      if (isLost) throw storeUnavailable('The channels lost their connection');
    } catch (error) {
      link.destroy();
      throw error;
    }
    if (this.closed) {
      await link.close();
      return;
    }
    this.link = link;
    this.retryDelayMs = retryMs.first;
    for (const wake of this.waiting) wake();
    this.waiting.clear();
    if (again) {
      this.logger.info({}, 'The channels are connected again');
      this.events.onReconnect();
    }
  }

  private lost(link: ListenLink): void {
    if (this.link !== link || this.closed) return;
    this.link = undefined;
    link.destroy();
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
    const link = this.link;
    // A step in progress checks the same.
    if (link === undefined || this.syncing !== undefined) return;
    const question = link.ask();
    this.syncing = question.finally(() => (this.syncing = undefined));
    this.syncing.catch(() => undefined);
    withinDeadline(this.carrier.timeoutMs, undefined, () => question).catch(() => this.lost(link));
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.heartbeat);
    clearTimeout(this.retryTimer);
    const link = this.link;
    this.link = undefined;
    await this.connecting?.catch(() => undefined);
    await link?.close();
  }
}
