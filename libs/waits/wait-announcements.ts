// How those who wait learn that their wait has ended, in gateways and workers: a channel says that there is news, and the store what
// it is. A channel may lose messages, so the store is also asked every second.
import type { Channels } from '#libs/backing/channels.js';
import { Bell } from '#libs/concurrency/bell.js';
import type { Logger } from '#libs/logging/logger.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import type { Wait } from './wait.js';
import type { WaitStore } from './wait-store.js';

export interface WaitAnnouncementsParts {
  store: Pick<WaitStore, 'get'>;
  channels: Pick<Channels, 'publish' | 'subscribe'>;
  logger: Logger;
}

const pollMs = 1_000;
const publishMs = 2_000;

export class WaitAnnouncements {
  /** By the id of the wait. */
  private readonly bells = new Map<string, Set<Bell>>();
  private unsubscribe: (() => Promise<void>) | undefined;

  constructor(private readonly parts: WaitAnnouncementsParts) {}

  async start(): Promise<void> {
    this.unsubscribe = await this.parts.channels.subscribe(channelNames.approvals, (id) => {
      for (const bell of this.bells.get(id) ?? []) bell.ring();
    });
  }

  async close(): Promise<void> {
    await this.unsubscribe?.();
  }

  /** Never rejects. */
  async announce(id: string): Promise<void> {
    try {
      await this.parts.channels.publish(channelNames.approvals, id, AbortSignal.timeout(publishMs));
    } catch (error) {
      this.parts.logger.warn({ error }, 'the end of a wait could not be announced: it is found by polling');
    }
  }

  /**
   * Looks at the wait, now and at all news, until `look` returns something. `look` gets undefined while the store is away, or has no
   * such wait yet.
   * @throws the signal's reason
   */
  async until<T>(
    id: string,
    signal: AbortSignal,
    look: (wait: Wait | undefined) => T | undefined | Promise<T | undefined>,
  ): Promise<T> {
    const bell = new Bell();
    const bells = this.bells.get(id) ?? new Set();
    this.bells.set(id, bells.add(bell));
    try {
      for (;;) {
        signal.throwIfAborted();
        const wait = await this.parts.store.get(id).catch((error: unknown) => {
          this.parts.logger.debug({ error }, 'a wait could not be read');
          return undefined;
        });
        const found = await look(wait);
        if (found !== undefined) return found;
        await bell.heard(pollMs, signal);
      }
    } finally {
      bells.delete(bell);
      if (bells.size === 0) this.bells.delete(id);
    }
  }
}
