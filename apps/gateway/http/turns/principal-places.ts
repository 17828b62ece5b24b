// The turns of one principal on all gateways together: each holds a place that is leased and kept up while it runs, so
// that what a killed gateway held is free again within half a minute. Whoever may have any number asks nothing here.
import type { Counters } from '#libs/backing/counters.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';

const leaseMs = 30_000;
/** A place is taken on the way of every turn: a store that is slow must not hold up plain chats. */
const answerMs = 500;
/** After a store that did not answer; until then each gateway counts its own. */
const leftAloneMs = 5_000;
/** Places that are kept up at once. */
const renewedAtOnce = 16;

export interface PlacesOptions {
  counters: Counters;
  gatewayId: string;
  logger: Logger;
  leaseMs?: number;
}

interface Place {
  key: string;
  holder: string;
  limit: number;
  /** Its being kept up that is under way: a place that is given back must not be taken again behind it. */
  renewing?: Promise<boolean>;
}

export class PrincipalPlaces {
  private readonly held = new Set<Place>();
  private readonly leaseMs: number;
  private taken = 0;
  private awayUntil = 0;
  private renewing = false;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly options: PlacesOptions) {
    this.leaseMs = options.leaseMs ?? leaseMs;
  }

  /**
   * What gives the place back; undefined where all `limit` are taken. Never throws: without the store nobody is refused
   * here, and the bound of each gateway holds.
   */
  async take(principal: string, limit: number): Promise<(() => void) | undefined> {
    if (steadyNow() < this.awayUntil) return () => undefined;
    const holder = `${this.options.gatewayId}:${++this.taken}`;
    const place: Place = { key: `principal_turns:${principal}`, holder, limit };
    try {
      if (!(await this.acquire(place))) return undefined;
    } catch (error) {
      this.left(error);
      // It may have been taken all the same.
      void this.release(place);
      return () => undefined;
    }
    this.held.add(place);
    this.timer ??= setInterval(() => void this.renew(), this.leaseMs / 3);
    this.timer.unref();
    return () => {
      if (!this.held.delete(place)) return;
      if (this.held.size === 0) this.rest();
      void this.release(place);
    };
  }

  /** Places that are still held expire. */
  close(): void {
    this.held.clear();
    this.rest();
  }

  private rest(): void {
    clearInterval(this.timer);
    this.timer = undefined;
  }

  /** A place that expired and was given to another is tried for again: the turn itself goes on in any case. */
  private async renew(): Promise<void> {
    if (this.renewing) return;
    this.renewing = true;
    try {
      // Those that are taken meanwhile are fresh.
      const places = [...this.held];
      for (let at = 0; at < places.length; at += renewedAtOnce) {
        const stillHeld = places.slice(at, at + renewedAtOnce).filter((place) => this.held.has(place));
        await Promise.all(stillHeld.map((place) => (place.renewing = this.acquire(place))));
      }
    } catch (error) {
      this.left(error);
    } finally {
      this.renewing = false;
    }
  }

  private acquire({ key, holder, limit }: Place): Promise<boolean> {
    return this.options.counters.acquire(key, holder, limit, this.leaseMs, AbortSignal.timeout(answerMs));
  }

  private async release({ key, holder, renewing }: Place): Promise<void> {
    await renewing?.catch(() => undefined);
    // What does not arrive expires.
    await this.options.counters.release(key, holder, AbortSignal.timeout(answerMs)).catch(() => undefined);
  }

  private left(error: unknown): void {
    this.awayUntil = steadyNow() + leftAloneMs;
    this.options.logger.warn({ error }, 'turns of a principal are counted by each gateway alone: the store is away');
  }
}
