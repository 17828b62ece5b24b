// Tells whether a caller's budget is used up. Most answers come from memory: what was spent at the last reading, and what was
// added here since. Spending is read again each second, and for every question once half of the budget is spent, so that
// gateways together overshoot by no more than what is under way.
import { Batch } from '#libs/concurrency/batch.js';
import type { Logger } from '#libs/logging/logger.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Spender, Spent, UsageStore } from './usage-store.js';

export interface BudgetSettings {
  day_usd?: number | undefined;
  month_usd?: number | undefined;
}

export type BudgetCaller = Pick<RequestContext, 'principal' | 'keyId' | 'access'>;

export interface SpentBudget {
  period: 'day' | 'month';
  usd: number;
  leftMs: number;
}

export interface BudgetsParts {
  store: Pick<UsageStore, 'spent'>;
  /** Writes the spending so far. */
  flush: () => Promise<void>;
  /** The budget of each key without its own. */
  settings: BudgetSettings;
  logger: Logger;
  /** A steady clock, ms. */
  now?: () => number;
}

interface Known extends Spender {
  limits: BudgetSettings;
  spent: Spent | undefined;
  readAt: number;
  /** Spent here since the last reading. */
  added: number;
}

const knownMs = 1_000;
/** How long known spending counts while the database is away. */
const trustMs = 60_000;
const leftAloneMs = 5_000;
const maxCallers = 10_000;

export class Budgets {
  private readonly callers = new Map<string, Known>();
  private readonly reading: Batch<Known>;
  private readonly now: () => number;
  private awayUntil = -Infinity;

  constructor(private readonly parts: BudgetsParts) {
    this.now = parts.now ?? (() => performance.now());
    this.reading = new Batch({
      flush: (callers) => this.read([...new Set(callers)]),
      schedule: setImmediate,
      oneByOne: true,
      maxItems: 256,
      maxWaiting: maxCallers,
      refusal: () => unknown(),
      // Callers with known spending go on.
      triesAlone: () => true,
    });
  }

  /** Returns at once if known spending suffices. @throws AppError store_unavailable when nothing is known */
  spentBy(caller: BudgetCaller): SpentBudget | undefined | Promise<SpentBudget | undefined> {
    const limits = this.limitsOf(caller);
    if (limits === undefined) return undefined;
    const known = this.knownOf(caller, limits);
    const found = this.judge(known, limits);
    if (found !== undefined || this.isFresh(known, limits)) return found;
    return this.reading.submit(known).then(() => this.judge(known, limits));
  }

  /** The spending that is known here: for every call of a round. */
  knownSpent(caller: BudgetCaller): SpentBudget | undefined {
    const limits = this.limitsOf(caller);
    return limits === undefined ? undefined : this.judge(this.knownOf(caller, limits), limits);
  }

  hasBudget(caller: BudgetCaller): boolean {
    return this.limitsOf(caller) !== undefined;
  }

  /** True when other gateways should know at once how much of the budget is spent. */
  add(caller: BudgetCaller, nanoUsd: number): boolean {
    const limits = this.limitsOf(caller);
    if (limits === undefined || nanoUsd === 0) return false;
    const known = this.knownOf(caller, limits);
    known.added += nanoUsd;
    return isNear(known, limits);
  }

  /** The largest used share of a budget among the callers seen here, and how many of them have used one up. */
  used(): { largestShare: number; exhausted: number } {
    const shares = [...this.callers.values()].map((known) => this.usedShare(known));
    return {
      largestShare: shares.reduce((largest, share) => Math.max(largest, share), 0),
      exhausted: shares.filter((share) => share >= 1).length,
    };
  }

  /** The callers seen here that have used at least this share of a budget, the nearest to its end first. */
  near(share: number): { principal: string; keyId: string | undefined; share: number }[] {
    return [...this.callers.values()]
      .map((known) => ({ principal: known.principal, keyId: known.keyId, share: this.usedShare(known) }))
      .filter((known) => known.share >= share)
      .sort((one, other) => other.share - one.share);
  }

  close(): Promise<void> {
    return this.reading.close();
  }

  private limitsOf({ access }: BudgetCaller): BudgetSettings | undefined {
    const { settings } = this.parts;
    const day_usd = access?.budgets?.day_usd ?? settings.day_usd;
    const month_usd = access?.budgets?.month_usd ?? settings.month_usd;
    return day_usd === undefined && month_usd === undefined ? undefined : { day_usd, month_usd };
  }

  private knownOf({ keyId, principal }: BudgetCaller, limits: BudgetSettings): Known {
    const id = keyId ?? `user:${principal}`;
    const known = this.callers.get(id);
    if (known !== undefined) {
      known.limits = limits;
      return known;
    }
    if (this.callers.size >= maxCallers) this.callers.delete(this.callers.keys().next().value!);
    const first: Known = { keyId, principal, limits, spent: undefined, readAt: -Infinity, added: 0 };
    this.callers.set(id, first);
    return first;
  }

  private isFresh(known: Known, limits: BudgetSettings): boolean {
    const { spent, readAt } = known;
    const age = this.now() - readAt;
    return spent !== undefined && age < spent.dayLeftMs && age < knownMs && !isNear(known, limits);
  }

  private judge(known: Known, { day_usd, month_usd }: BudgetSettings): SpentBudget | undefined {
    const { spent, readAt, added } = known;
    if (spent === undefined) return undefined;
    const age = this.now() - readAt;
    const over = (nanoUsd: number, usd: number | undefined) => usd !== undefined && nanoUsd + added >= usd * 1e9;
    if (age < spent.monthLeftMs && over(spent.monthNanoUsd, month_usd)) {
      return { period: 'month', usd: month_usd!, leftMs: spent.monthLeftMs - age };
    }
    if (age < spent.dayLeftMs && over(spent.dayNanoUsd, day_usd)) {
      return { period: 'day', usd: day_usd!, leftMs: spent.dayLeftMs - age };
    }
    return undefined;
  }

  private usedShare({ spent, readAt, added, limits: { day_usd, month_usd } }: Known): number {
    if (spent === undefined) return 0;
    const age = this.now() - readAt;
    const share = (nanoUsd: number, usd: number | undefined, leftMs: number) => {
      if (usd === undefined || age >= leftMs) return 0;
      return usd === 0 ? 1 : (nanoUsd + added) / (usd * 1e9);
    };
    return Math.max(
      share(spent.dayNanoUsd, day_usd, spent.dayLeftMs),
      share(spent.monthNanoUsd, month_usd, spent.monthLeftMs),
    );
  }

  private async read(callers: readonly Known[]): Promise<void> {
    const began = this.now();
    if (began < this.awayUntil) return this.trust(callers);
    // Spending added during the reading may be read too: it counts twice until the next reading, but is never lost.
    const before = callers.map((known) => {
      const { added } = known;
      return { known, added };
    });
    try {
      await this.parts.flush();
      const spent = await this.parts.store.spent(callers);
      for (const [index, { known, added }] of before.entries()) {
        known.spent = spent[index]!;
        known.readAt = began;
        known.added = Math.max(0, known.added - added);
      }
    } catch (error) {
      this.awayUntil = this.now() + leftAloneMs;
      this.parts.logger.warn({ error }, 'budgets cannot be read: the last known values are used for a minute');
      this.trust(callers);
    }
  }

  private trust(callers: readonly Known[]): void {
    const now = this.now();
    if (callers.every(({ readAt }) => now - readAt < trustMs)) return;
    throw unknown();
  }
}

const unknown = () =>
  new AppError('store_unavailable', 'Budgets cannot be read at the moment', { retryAfterSeconds: 1 });

/** Whether half of the budget is spent: what other gateways spend meanwhile may be the rest. */
function isNear({ spent, added }: Known, { day_usd = Infinity, month_usd = Infinity }: BudgetSettings): boolean {
  const half = (nanoUsd: number, usd: number) => nanoUsd + added > usd * 5e8;
  return spent === undefined || half(spent.dayNanoUsd, day_usd) || half(spent.monthNanoUsd, month_usd);
}
