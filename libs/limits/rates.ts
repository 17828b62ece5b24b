// Requests and tokens of a caller in a minute, on all gateways. Each gateway takes a few requests of a busy caller at once
// from the shared window, so that most requests ask no store; what it does not use within a second it gives back. Tokens are
// known only after a model call: they are counted then, and a caller above its limit is refused until they leave the window.
import { Batch } from '#libs/concurrency/batch.js';
import type { Counters, WindowState, WindowUse } from '#libs/backing/counters.js';
import type { Logger } from '#libs/logging/logger.js';
import { CallerRates, type RateLimits, type RateVerdict } from './caller-rates.js';

const sweepMs = 200;
/** Requests wait for it that cannot be counted here. */
const answerMs = 2_000;
/** After a store that did not answer; until then this gateway counts for itself. */
const leftAloneMs = 5_000;
/** One more forgets the caller that came first: what was counted of it is in the shared window. */
const maxCallers = 10_000;
const maxAtOnce = 256;

export interface RatesParts {
  counters: Pick<Counters, 'useWindows'>;
  logger: Logger;
  /** Of a steady clock, ms. */
  now?: () => number;
}

export class Rates {
  private readonly callers = new Map<string, CallerRates>();
  /** With something to count or to give back. */
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
    this.timer = setInterval(() => this.sweep(), sweepMs);
    this.timer.unref();
  }

  /** Counts a request of the caller, unless it is refused. At once, unless the shared window has to be asked. */
  admit(id: string, limits: RateLimits): RateVerdict | Promise<RateVerdict> {
    const caller = this.callerOf(id, limits);
    return caller.verdict(this.now()) ?? this.askFor(caller);
  }

  /** What a model call has used. */
  addTokens(id: string, limits: RateLimits, tokens: number): void {
    if (limits.tokens === undefined || tokens <= 0) return;
    const caller = this.callerOf(id, limits);
    caller.addTokens(tokens);
    this.unsettled.add(caller);
  }

  /** Counts and gives back what is left to. */
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

  /** Asked once for all who wait for the caller. Never rejects. */
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
      this.awayUntil = this.now() + leftAloneMs;
      this.countAlone(each.map(({ caller }) => caller));
    }
  }

  private useWindows(uses: readonly WindowUse[]): Promise<WindowState[]> {
    return this.parts.counters.useWindows(uses, AbortSignal.timeout(answerMs));
  }

  private countAlone(callers: readonly CallerRates[]): void {
    for (const caller of callers) caller.countAlone(this.now(), leftAloneMs);
  }

  private sweep(): void {
    const now = this.now();
    if (now < this.awayUntil) return;
    for (const caller of this.unsettled) {
      if (caller.shouldSettle(now)) void this.settle(caller);
    }
  }
}
