// Limits the turns of this gateway, and of each principal on all gateways, and refuses them when a budget is used up. Above a
// limit the answer is 429 at once; there is no queue.
import type { Budgets, SpentBudget } from '#libs/usage/budgets.js';
import { keylessPrincipal, type RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { budgetStop } from '#libs/limits/stop-notice.js';
import type { SharedPlaces, TakenPlace } from '#libs/limits/shared-places.js';

const keyTurns = 64;

/** All callers without a key are one principal, which has a limit only if one is configured. */
export const turnsOfPrincipal =
  (configured: number | undefined) =>
  (principal: string): number =>
    configured ?? (principal === keylessPrincipal ? Infinity : keyTurns);

type AdmittedCaller = Pick<RequestContext, 'principal' | 'keyId' | 'access' | 'parentCall'>;

export interface TurnBounds {
  turns: number;
  principalTurns: (principal: string) => number;
  /** The turns of each principal, on all gateways. */
  places: Pick<SharedPlaces, 'takeNow'>;
  /** If absent, nobody has a budget. */
  budgets?: Pick<Budgets, 'spentBy'>;
  /** Called with the name of the limit. */
  onRefused: (limit: string) => void;
}

export class TurnAdmission {
  private underWay = 0;
  private stopping = false;
  private idle: (() => void) | undefined;

  constructor(private readonly bounds: TurnBounds) {}

  /**
   * Returns a function that must be called when the turn has ended; a promise only if a store has to be asked.
   * @throws AppError concurrency_exceeded, budget_exceeded, shutting_down, store_unavailable
   */
  enter(caller: AdmittedCaller): (() => void) | Promise<() => void> {
    const spent = this.bounds.budgets?.spentBy(caller);
    if (spent instanceof Promise) {
      return spent.then((found) => {
        this.refuseSpent(found);
        return this.takePlace(caller);
      });
    }
    this.refuseSpent(spent);
    return this.takePlace(caller);
  }

  private takePlace({ principal, access, parentCall }: AdmittedCaller): (() => void) | Promise<() => void> {
    // A chat of a tool call has no limit of its own: the turn that waits for the call may be the last that is allowed.
    const limit =
      parentCall === undefined
        ? Math.min(access?.limits.turns ?? Infinity, this.bounds.principalTurns(principal))
        : Infinity;
    if (limit === Infinity) return this.begin(undefined);
    const place = this.bounds.places.takeNow(`principal_turns:${principal}`, limit);
    const begin = (taken: TakenPlace | undefined) => {
      if (taken === undefined) {
        throw this.refusal('principal_turns', `You already have ${limit} turns in progress`);
      }
      return this.begin(taken);
    };
    return place instanceof Promise ? place.then(begin) : begin(place);
  }

  private begin(giveBack: TakenPlace | undefined): () => void {
    const { turns } = this.bounds;
    if (this.stopping || this.underWay >= turns) {
      giveBack?.();
      if (this.stopping) throw new AppError('shutting_down', 'This gateway is stopping', { retryAfterSeconds: 1 });
      throw this.refusal('turns', `This gateway already has ${turns} turns in progress`);
    }
    this.underWay++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      giveBack?.();
      if (--this.underWay === 0) this.idle?.();
    };
  }

  private refuseSpent(spent: SpentBudget | undefined): void {
    if (spent === undefined) return;
    const { period, usd, leftMs } = spent;
    this.bounds.onRefused(`budget_${period}`);
    const message = `Your budget of $${usd} for this ${period} is used up. ${budgetStop(spent).help}`;
    throw new AppError('budget_exceeded', message, { retryAfterSeconds: Math.ceil(leftMs / 1_000) });
  }

  /** Refuses new turns. Resolves when all turns have ended, or after `graceMs`. */
  async drain(graceMs: number): Promise<void> {
    this.stopping = true;
    if (this.underWay === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.idle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private refusal(limit: string, message: string): AppError {
    this.bounds.onRefused(limit);
    return new AppError('concurrency_exceeded', message, { retryAfterSeconds: 1 });
  }
}
