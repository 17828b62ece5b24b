// Counts wrong keys and tokens per address and minute, across all gateways. Above the bound, an address is refused without
// a check. Only failures reach the store. The number of remembered addresses is bounded; the oldest is dropped first.
import type { Counters } from '#libs/backing/counters.js';
import type { Logger } from '#libs/logging/logger.js';

const windowMs = 60_000;
const maxAddresses = 10_000;
/** Only callers with a wrong key wait this long. */
const answerMs = 2_000;
/** How long this gateway counts alone after the store did not answer. */
const leftAloneMs = 5_000;

export interface FailedSignInsParts {
  perMinute: number;
  counters: Pick<Counters, 'useWindows'>;
  logger: Logger;
  /** A monotonic clock, in milliseconds. */
  now?: () => number;
}

export class FailedSignIns {
  private readonly addresses = new Map<string, { until: number; failures: number }>();
  private readonly now: () => number;
  private awayUntil = -Infinity;

  constructor(private readonly parts: FailedSignInsParts) {
    this.now = parts.now ?? (() => performance.now());
  }

  /** Seconds until the address may try again; undefined while it may. */
  refusedFor(address: string): number | undefined {
    const known = this.addresses.get(address);
    return known === undefined || known.failures < this.parts.perMinute ? undefined : this.secondsTo(known.until);
  }

  /** Counts a failure. If it exceeds the bound, returns the seconds until the address may try again. */
  async add(address: string): Promise<number | undefined> {
    const { perMinute, counters, logger } = this.parts;
    const here = this.addHere(address);
    // A burst can pass the check above before its first failure has been counted.
    if (here.failures > perMinute) return this.secondsTo(here.until);
    if (this.now() < this.awayUntil) return undefined;
    try {
      const use = { key: `failed_sign_ins:${address}`, take: 0, add: 1, limit: perMinute, windowMs };
      const [state] = await counters.useWindows([use], AbortSignal.timeout(answerMs));
      const { left, waitMs } = state!;
      here.failures = Math.max(here.failures, perMinute - left);
      if (waitMs > 0) here.until = this.now() + waitMs;
      return left < 0 ? this.secondsTo(here.until) : undefined;
    } catch (error) {
      if (this.now() >= this.awayUntil) {
        logger.warn({ error }, 'the store is unavailable: each gateway counts failed sign-ins on its own');
      }
      this.awayUntil = this.now() + leftAloneMs;
      return undefined;
    }
  }

  private addHere(address: string): { until: number; failures: number } {
    const now = this.now();
    const known = this.addresses.get(address);
    if (known !== undefined && now < known.until) {
      known.failures++;
      return known;
    }
    this.addresses.delete(address);
    if (this.addresses.size >= maxAddresses) this.addresses.delete(this.addresses.keys().next().value!);
    const first = { until: now + windowMs, failures: 1 };
    this.addresses.set(address, first);
    return first;
  }

  private secondsTo(until: number): number | undefined {
    const left = until - this.now();
    return left > 0 ? Math.ceil(left / 1_000) : undefined;
  }
}
