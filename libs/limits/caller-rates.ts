// One gateway's knowledge of one caller's rates: how many requests may be admitted without asking the store, how many tokens are
// left, and how old that knowledge is. Does not use the store.
import { type WindowState, windowSteps, type WindowUse } from '#libs/backing/counters.js';

/** A minute plus the second in which leased requests may be used, so that every request counts for at least a minute. */
export const windowMs = 61_200;
const leaseMs = 1_200;
/** After this time everything counted now has left the window. */
const resetMs = windowMs + windowMs / windowSteps;
const maxLease = 32;
/** Share of the remaining requests in one lease. Leases shrink with the rest, so that other gateways get some. */
const leaseShare = 1 / 32;
/** How long the known number of tokens is used; shorter when few are left. */
const tokensKnownMs = 1_000;
const fewTokensKnownMs = 200;
/** How long a refusal stands before the window is asked again: another gateway may have returned requests. */
const refusedMs = 500;

/** An undefined rate has no limit. */
export interface RateLimits {
  requests: number | undefined;
  tokens: number | undefined;
}

export type RateName = 'requests' | 'tokens';

export interface RateVerdict {
  /** The limit that refuses the request. */
  refusedBy: RateName | undefined;
  /** Time until the caller may try again. */
  waitMs: number;
  /** Requests and tokens left in the minute. */
  left: Partial<Record<RateName, number>>;
  resetMs: number;
}

export class CallerRates {
  /** Requests that wait for an answer of the shared window. */
  waiting = 0;
  asking: Promise<void> | undefined;
  /** Requests that may be admitted here. */
  private lease = 0;
  private leaseUntil = -Infinity;
  /** The lease was not taken from the shared window, so nothing is returned. */
  private countsAlone = false;
  private askedAt = -Infinity;
  /** Requests left in the shared window, without the lease. */
  private left: number | undefined;
  private refusedUntil = -Infinity;
  private requestsWaitUntil = -Infinity;
  /** Tokens not counted in the shared window yet, and how many of them are on their way. */
  private tokens = 0;
  private sentTokens = 0;
  private tokensLeft = 0;
  private tokensKnownUntil = -Infinity;
  private tokensWaitUntil = -Infinity;

  constructor(
    readonly id: string,
    public limits: RateLimits,
  ) {}

  /** The verdict about a request; undefined if the shared window must be asked. */
  verdict(now: number): RateVerdict | undefined {
    const { requests, tokens } = this.limits;
    if (tokens !== undefined) {
      if (now >= this.tokensKnownUntil) return undefined;
      if (this.tokensHere < 1) return this.refusal('tokens', this.tokensWaitUntil - now);
    }
    if (requests === undefined) return this.refusal(undefined, 0);
    if (this.lease > 0 && now < this.leaseUntil) {
      this.lease--;
      return this.refusal(undefined, 0);
    }
    return now < this.refusedUntil ? this.refusal('requests', this.requestsWaitUntil - now) : undefined;
  }

  addTokens(count: number): void {
    this.tokens += count;
  }

  endLease(): void {
    this.leaseUntil = -Infinity;
  }

  /** The uses to report to the shared window. Call `learn` with the answer, or `countAlone` without an answer. */
  uses(now: number): WindowUse[] {
    const uses: WindowUse[] = [];
    const { requests, tokens } = this.limits;
    if (requests !== undefined) {
      const unused = now >= this.leaseUntil ? this.expire() : 0;
      // Only a caller that keeps coming gets more than it asks for.
      const busy = this.waiting > 0 && now - this.askedAt < leaseMs;
      const extra = busy ? Math.min(maxLease, Math.floor((this.left ?? 0) * leaseShare)) : 0;
      const take = Math.max(0, this.waiting + extra - this.lease);
      if (this.waiting > 0) this.askedAt = now;
      uses.push({ key: `requests:${this.id}`, take, add: -unused, limit: requests, windowMs });
    }
    if (tokens !== undefined) {
      this.sentTokens = this.tokens;
      uses.push({ key: `tokens:${this.id}`, take: 0, add: this.sentTokens, limit: tokens, windowMs });
    }
    return uses;
  }

  /** Takes the window's states after the last `uses`. */
  learn(states: readonly WindowState[], now: number): void {
    const { requests, tokens } = this.limits;
    let at = 0;
    if (requests !== undefined && states[at] !== undefined) {
      const { taken, left, waitMs } = states[at++]!;
      if (this.lease === 0) this.leaseUntil = now + leaseMs;
      this.lease += taken;
      this.left = left;
      if (left < 1) {
        this.refusedUntil = now + Math.min(waitMs, refusedMs);
        this.requestsWaitUntil = now + waitMs;
      } else this.refusedUntil = -Infinity;
    }
    if (tokens !== undefined && states[at] !== undefined) {
      const { left, waitMs } = states[at]!;
      this.tokens -= this.sentTokens;
      this.sentTokens = 0;
      this.tokensLeft = left;
      this.tokensWaitUntil = now + waitMs;
      this.tokensKnownUntil = now + (left > tokens / 2 ? tokensKnownMs : fewTokensKnownMs);
    }
  }

  /** Counts without the shared window for `forMs`, as if this were the only gateway and a new minute began. */
  countAlone(now: number, forMs: number): void {
    const { requests, tokens } = this.limits;
    if (requests !== undefined) {
      const share = Math.max(1, Math.floor((requests * forMs) / windowMs));
      if (now >= this.leaseUntil) {
        this.lease = share;
        this.leaseUntil = now + forMs;
        this.countsAlone = true;
      }
      if (this.lease < 1) {
        this.refusedUntil = this.leaseUntil;
        this.requestsWaitUntil = this.leaseUntil;
      }
    }
    if (tokens !== undefined) {
      this.sentTokens = 0;
      if (now >= this.tokensKnownUntil) {
        this.tokensKnownUntil = now + forMs;
        this.tokensWaitUntil = now + forMs;
        this.tokensLeft = Math.max(this.tokensLeft, this.tokens + 1);
      }
    }
  }

  /** Ends an expired lease; returns the number of requests to return. */
  private expire(): number {
    const unused = this.countsAlone ? 0 : this.lease;
    this.lease = 0;
    this.countsAlone = false;
    return unused;
  }

  get isSettled(): boolean {
    return this.lease === 0 && this.tokens === 0;
  }

  /** Whether the window must be charged for tokens, or of returned requests. */
  shouldSettle(now: number): boolean {
    return this.tokens > 0 || (this.lease > 0 && now >= this.leaseUntil);
  }

  private get tokensHere(): number {
    return this.tokensLeft - this.tokens;
  }

  private refusal(refusedBy: RateName | undefined, waitMs: number): RateVerdict {
    const { requests, tokens } = this.limits;
    const left: RateVerdict['left'] = {};
    if (requests !== undefined) left.requests = Math.max(0, (this.left ?? 0) + this.lease);
    if (tokens !== undefined) left.tokens = Math.max(0, this.tokensHere);
    return { refusedBy, waitMs: Math.max(1, waitMs), left, resetMs };
  }
}
