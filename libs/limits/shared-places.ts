// Limits how many turns and calls run at once in all processes of a kind. A process that is alone counts by itself, without a store.
// Otherwise each process asks the store for places, keeps unused places for a moment, and counts by itself while the store is away.
import { Batch } from '#libs/concurrency/batch.js';
import { FairSlots } from '#libs/concurrency/fair-slots.js';
import type { Counters } from '#libs/backing/counters.js';
import type { Logger } from '#libs/logging/logger.js';

/** Places of a process that died are free after this time. */
const ttlMs = 10_000;
/** How often waiting requests ask the store again, and unused places are looked for. */
const sweepMs = 100;
/** How often places in use are reported again. */
const renewMs = 1_000;
/** How long an unused place of calls is kept for the next call. */
const keepMs = 500;
/** Timeout of the store; short, because plain chats wait for the answer too. */
const answerMs = 1_000;
/** How long this process counts for itself after the store did not answer. */
const countAloneMs = 5_000;
const maxAtOnce = 256;
const maxWaiting = 20_000;

export interface SharedPlacesParts {
  counters: Pick<Counters, 'sharePlaces'>;
  /** Id of this process. */
  holder: string;
  /** Whether no other process has calls of the same limits. */
  isAlone: () => boolean;
  logger: Logger;
}

export interface SharedLimit {
  /** Name of the limit, a part of its keys in the store. */
  name: string;
  limit: number;
  /** How many may wait in this process; more are refused. */
  maxWaiting: number;
  /** The thing that is limited, for messages. */
  what: string;
}

/** Releases the place. */
export type TakenPlace = () => void;

interface Share {
  readonly key: string;
  limit: number;
  readonly admit: () => void;
  /** How long unused places are kept for the next call. */
  readonly keepMs: number;
  taken: number;
  waiting: number;
  /** Places that the store has given; more may be in use. */
  places: number;
  /** Resolves even if the store did not answer. */
  asking: Promise<void> | undefined;
  asked: { used: number; wanted: number };
  askedAt: number;
  usedAt: number;
}

export class SharedPlaces {
  /** Keys with a place in use, requests that wait, or places from the store. */
  private readonly shares = new Map<string, Share>();
  private readonly asking: Batch<Share>;
  private readonly timer: NodeJS.Timeout;
  private awayUntil = -Infinity;

  constructor(private readonly parts: SharedPlacesParts) {
    this.asking = new Batch({
      flush: (shares) => this.askFor(shares),
      schedule: setImmediate,
      oneByOne: true,
      maxItems: maxAtOnce,
      maxWaiting,
      refusal: () => new Error('too many limits wait for their places'),
    });
    this.timer = setInterval(() => this.sweep(), sweepMs).unref();
  }

  /** Places that calls wait for. */
  slots({ name, limit, maxWaiting: mayWait, what }: SharedLimit): FairSlots {
    const slots: FairSlots = new FairSlots(limit, mayWait, what, {
      allowed: (key) => (this.countsAlone ? limit : (this.shares.get(`${name}:${key}`)?.places ?? 0)),
      onChange: (key, taken, waiting) => {
        const id = `${name}:${key}`;
        const share = this.shares.get(id) ?? this.open(id, limit, { keepMs, admit: () => slots.admit(key) });
        this.note(share, taken, waiting);
      },
    });
    return slots;
  }

  /**
   * Takes a free place without waiting for one. Returns a function that releases the place; undefined if all `limit` places are
   * taken; a promise only if the store must be asked.
   */
  takeNow(key: string, limit: number): TakenPlace | undefined | Promise<TakenPlace | undefined> {
    const share = this.shares.get(key) ?? this.open(key, limit, { keepMs: 0, admit: () => undefined });
    share.limit = limit;
    const alone = this.countsAlone;
    if (share.taken < (alone ? limit : share.places)) return this.hold(share);
    return alone || share.taken >= limit ? undefined : this.askForOne(share);
  }

  private async askForOne(share: Share): Promise<TakenPlace | undefined> {
    share.waiting += 1;
    for (;;) {
      // The request under way does not include this place.
      await share.asking;
      await this.ask(share);
      const places = this.countsAlone ? share.limit : share.places;
      if (share.taken < places) {
        share.waiting -= 1;
        return this.hold(share);
      }
      // The store had given enough places, but later turns have taken them.
      if (share.taken < share.limit && share.places >= share.asked.wanted) continue;
      this.note(share, share.taken, share.waiting - 1);
      return undefined;
    }
  }

  private hold(share: Share): TakenPlace {
    this.note(share, share.taken + 1, share.waiting);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.note(share, share.taken - 1, share.waiting);
    };
  }

  /** Returns all unused places; places in use expire in the store. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    for (const share of this.shares.values()) {
      share.taken = share.waiting = 0;
      if (share.asked.wanted > 0) void this.ask(share);
    }
    await this.asking.close();
    this.shares.clear();
  }

  private get countsAlone(): boolean {
    return performance.now() < this.awayUntil || this.parts.isAlone();
  }

  private open(key: string, limit: number, { keepMs, admit }: Pick<Share, 'keepMs' | 'admit'>): Share {
    const share: Share = {
      key,
      limit,
      admit,
      keepMs,
      taken: 0,
      waiting: 0,
      places: 0,
      asking: undefined,
      asked: { used: 0, wanted: 0 },
      askedAt: -Infinity,
      usedAt: -Infinity,
    };
    this.shares.set(key, share);
    return share;
  }

  private note(share: Share, taken: number, waiting: number): void {
    share.taken = taken;
    share.waiting = waiting;
    share.usedAt = performance.now();
    if (!this.countsAlone) this.askWhereNeeded(share);
    else if (taken + waiting === 0 && share.asked.wanted === 0) this.shares.delete(share.key);
  }

  private askWhereNeeded(share: Share): void {
    const { asked, limit, places, taken, waiting } = share;
    const needsMore = waiting > 0 && Math.min(limit, taken + waiting) > asked.wanted;
    // Another process may wait for places that this process used above its share.
    const owesLess = places < asked.used && taken < asked.used;
    const keepsNothing = share.keepMs === 0 && taken + waiting < asked.wanted;
    if (needsMore || owesLess || keepsNothing) void this.ask(share);
  }

  /** Resolves when the store has answered, or this process counts alone. Never rejects. */
  private ask(share: Share): Promise<void> {
    return (share.asking ??= this.asking.submit(share).catch((error: unknown) => {
      share.asking = undefined;
      this.countAlone(error);
    }));
  }

  private async askFor(shares: readonly Share[]): Promise<void> {
    const { holder, counters } = this.parts;
    const uses = shares.map((share) => {
      const { key, limit, taken, waiting } = share;
      share.asked = { used: taken, wanted: Math.min(limit, taken + waiting) };
      // Places that this process returns may belong to another process before the answer is here.
      share.places = Math.min(share.places, share.asked.wanted);
      return { key, holder, ...share.asked, limit, ttlMs };
    });
    const places = await counters.sharePlaces(uses, AbortSignal.timeout(answerMs));
    for (const [at, share] of shares.entries()) {
      share.places = places[at]!;
      share.asking = undefined;
      share.askedAt = performance.now();
      share.admit();
      this.askWhereNeeded(share);
    }
  }

  private countAlone(error: unknown): void {
    const now = performance.now();
    if (now >= this.awayUntil) {
      this.parts.logger.warn(
        { error },
        'calls at once are counted by each process on its own: the store is unavailable',
      );
    }
    this.awayUntil = now + countAloneMs;
    for (const share of this.shares.values()) share.admit();
  }

  private sweep(): void {
    const alone = this.countsAlone;
    const now = performance.now();
    for (const share of this.shares.values()) {
      const { asked, askedAt, places, taken, usedAt, waiting } = share;
      const idle = taken + waiting === 0;
      if (alone) {
        // The places of this process expire in the store.
        share.places = 0;
        share.asked = { used: 0, wanted: 0 };
        if (idle) this.shares.delete(share.key);
        else share.admit();
      } else if (idle && asked.wanted === 0) this.shares.delete(share.key);
      else if (idle ? now - usedAt >= share.keepMs : waiting > 0 || taken > places || now - askedAt >= renewMs) {
        void this.ask(share);
      }
    }
  }
}
