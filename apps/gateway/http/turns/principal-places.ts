// Limits the turns of a principal on all gateways together. Each turn holds a place and renews it while it runs; the places
// of a killed gateway expire within half a minute. Not used for principals without a limit.
import type { Counters } from '#libs/backing/counters.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';

const ttlMs = 30_000;
/** Short, because every turn waits for its place, and a slow store must not delay plain chats. */
const answerMs = 500;
/** How long the store is not asked after a failure. Meanwhile each gateway counts its own turns. */
const retryAfterMs = 5_000;
/** Places renewed in parallel. */
const renewedAtOnce = 16;

export interface PlacesOptions {
  counters: Counters;
  gatewayId: string;
  logger: Logger;
  ttlMs?: number;
}

interface Place {
  key: string;
  holder: string;
  limit: number;
  /** The renewal that is under way. The place is released after it, or it would be taken again. */
  renewing?: Promise<boolean>;
}

export class PrincipalPlaces {
  private readonly held = new Set<Place>();
  private readonly ttlMs: number;
  private taken = 0;
  private pausedUntil = 0;
  private renewing = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: PlacesOptions) {
    this.ttlMs = options.ttlMs ?? ttlMs;
  }

  /**
   * Returns a function that releases the place, or undefined if all `limit` places are taken. Never throws: without the
   * store, only the limits of each gateway apply.
   */
  async take(principal: string, limit: number): Promise<(() => void) | undefined> {
    if (steadyNow() < this.pausedUntil) return () => undefined;
    const holder = `${this.options.gatewayId}:${++this.taken}`;
    const place: Place = { key: `principal_turns:${principal}`, holder, limit };
    try {
      if (!(await this.acquire(place))) return undefined;
    } catch (error) {
      this.pause(error);
      // The store may have taken it anyway.
      void this.release(place);
      return () => undefined;
    }
    this.held.add(place);
    this.timer ??= setInterval(() => void this.renew(), this.ttlMs / 3);
    this.timer.unref();
    return () => {
      if (!this.held.delete(place)) return;
      if (this.held.size === 0) this.stopTimer();
      void this.release(place);
    };
  }

  /** Places that are still held will expire. */
  close(): void {
    this.held.clear();
    this.stopTimer();
  }

  private stopTimer(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** Tries again for a place that expired and that another turn has now. The turn continues in any case. */
  private async renew(): Promise<void> {
    if (this.renewing) return;
    this.renewing = true;
    try {
      // Places taken meanwhile need no renewal yet.
      const places = [...this.held];
      for (let at = 0; at < places.length; at += renewedAtOnce) {
        const stillHeld = places.slice(at, at + renewedAtOnce).filter((place) => this.held.has(place));
        await Promise.all(stillHeld.map((place) => (place.renewing = this.acquire(place))));
      }
    } catch (error) {
      this.pause(error);
    } finally {
      this.renewing = false;
    }
  }

  private acquire({ key, holder, limit }: Place): Promise<boolean> {
    return this.options.counters.acquire(key, holder, limit, this.ttlMs, AbortSignal.timeout(answerMs));
  }

  private async release({ key, holder, renewing }: Place): Promise<void> {
    await renewing?.catch(() => undefined);
    // If this fails, the place expires.
    await this.options.counters.release(key, holder, AbortSignal.timeout(answerMs)).catch(() => undefined);
  }

  private pause(error: unknown): void {
    this.pausedUntil = steadyNow() + retryAfterMs;
    this.options.logger.warn(
      { error },
      'the store is unavailable: each gateway counts the turns of a principal on its own',
    );
  }
}
