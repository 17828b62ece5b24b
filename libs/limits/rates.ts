// Limits requests and tokens of a caller in a minute, on all gateways. Each gateway leases a few requests of a busy caller from the
// shared window, so that most requests need no store, and returns unused requests after a second. Tokens are counted after their
// model call; a caller above its limit is refused until enough tokens have left the window.
import { Batch } from '#libs/concurrency/batch.js';
import type { Counters, WindowState, WindowUse } from '#libs/backing/counters.js';
import type { Logger } from '#libs/logging/logger.js';
import { CallerRates, type RateLimits, type RateVerdict } from './caller-rates.js';

const sweepMs = 200;
/** Timeout of the shared window, for which some requests wait. */
const answerMs = 2_000;
/** How long this gateway counts for itself after the store did not answer. */
const countAloneMs = 5_000;
/** How many callers are remembered. The oldest is forgotten first; the shared window still has its counts. */
const maxCallers = 10_000;
const maxAtOnce = 256;

export interface RatesParts {
  counters: Pick<Counters, 'useWindows'>;
  logger: Logger;
  /** A steady clock, ms. */
  now?: () => number;
}

export class Rates {
  private readonly callers = new Map<string, CallerRates>();
  /** Callers with tokens to count or requests to return. */
  private readonly unsettled = new Set<CallerRates>();
  private readonly asking: Batch<CallerRates>;
  private readonly now: () => number;
  private readonly timer: NodeJS.Timeout;
  private awayUntil = -Infinity;

  constructor(private readonly parts: RatesParts) {
    this.now = parts.now ?? (() => performance.now());
    this.asking = new Batch({
      flush: (callers) => this.ask(callers),
      schedule: setImmediate,
      oneByOne: true,
      maxItems: maxAtOnce,
      maxWaiting: maxCallers,
      refusal: () => new Error('too many callers wait for their rates'),
    });
    this.timer = setInterval(() => this.sweep(), sweepMs).unref();
  }

  /** Counts a request of the caller, or refuses it. Returns a promise only if the shared window must be asked. */
  admit(id: string, limits: RateLimits): RateVerdict | Promise<RateVerdict> {
    const caller = this.callerOf(id, limits);
    return caller.verdict(this.now()) ?? this.askFor(caller);
  }

  /** Counts the tokens of a model call. */
  addTokens(id: string, limits: RateLimits, tokens: number): void {
    if (limits.tokens === undefined || tokens <= 0) return;
    const caller = this.callerOf(id, limits);
    caller.addTokens(tokens);
    this.unsettled.add(caller);
  }

  /** Counts pending tokens, and returns unused requests. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    for (const caller of this.unsettled) caller.endLease();
    this.sweep();
    await this.asking.close();
  }

  private callerOf(id: string, limits: RateLimits): CallerRates {
    const known = this.callers.get(id);
    if (known !== undefined) {
      known.limits = limits;
      return known;
    }
    if (this.callers.size >= maxCallers) this.callers.delete(this.callers.keys().next().value!);
    const caller = new CallerRates(id, limits);
    this.callers.set(id, caller);
    return caller;
  }

  private async askFor(caller: CallerRates): Promise<RateVerdict> {
    for (;;) {
      caller.waiting++;
      try {
        if (this.now() < this.awayUntil) this.countAlone([caller]);
        else await this.settle(caller);
      } finally {
        caller.waiting--;
      }
      const verdict = caller.verdict(this.now());
      if (verdict !== undefined) return verdict;
    }
  }

  /** Asks the shared window once for all requests of the caller that wait. Never rejects. */
  private settle(caller: CallerRates): Promise<void> {
    return (caller.asking ??= this.asking
      .submit(caller)
      .catch(() => this.countAlone([caller]))
      .finally(() => (caller.asking = undefined)));
  }

  private async ask(callers: readonly CallerRates[]): Promise<void> {
    const now = this.now();
    const each = callers.map((caller) => ({ caller, uses: caller.uses(now) }));
    try {
      const states = await this.useWindows(each.flatMap(({ uses }) => uses));
      let at = 0;
      for (const { caller, uses } of each) {
        caller.learn(states.slice(at, at + uses.length), this.now());
        at += uses.length;
        if (caller.isSettled) this.unsettled.delete(caller);
        else this.unsettled.add(caller);
      }
    } catch (error) {
      if (this.now() >= this.awayUntil) {
        this.parts.logger.warn(
          { error },
          'requests and tokens are counted by each gateway on its own: the store is unavailable',
        );
      }
      this.awayUntil = this.now() + countAloneMs;
      this.countAlone(each.map(({ caller }) => caller));
    }
  }

  private useWindows(uses: readonly WindowUse[]): Promise<WindowState[]> {
    return this.parts.counters.useWindows(uses, AbortSignal.timeout(answerMs));
  }

  private countAlone(callers: readonly CallerRates[]): void {
    for (const caller of callers) caller.countAlone(this.now(), countAloneMs);
  }

  private sweep(): void {
    const now = this.now();
    if (now < this.awayUntil) return;
    for (const caller of this.unsettled) {
      if (caller.shouldSettle(now)) void this.settle(caller);
    }
  }
}
