// Limits the turns of this gateway, and of each principal on all gateways, and refuses them when a budget is used up. Above a
// limit the answer is 429 at once; there is no queue.
import type { Budgets, SpentBudget } from '#libs/usage/budgets.js';
import { keylessPrincipal, type RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { budgetStop } from '#libs/limits/stop-notice.js';
import type { PrincipalPlaces } from './principal-places.js';

const keyTurns = 64;

/** All callers without a key are one principal, which has a limit only if one is configured. */
export const turnsOfPrincipal =
  (configured: number | undefined) =>
  (principal: string): number =>
    configured ?? (principal === keylessPrincipal ? Infinity : keyTurns);

export interface TurnBounds {
  turns: number;
  principalTurns: (principal: string) => number;
  /** Counts on all gateways. If absent, this gateway counts alone. */
  places?: Pick<PrincipalPlaces, 'take'>;
  /** If absent, nobody has a budget. */
  budgets?: Pick<Budgets, 'spentBy'>;
  /** Called with the name of the limit. */
  onRefused: (limit: string) => void;
}

export class TurnAdmission {
  private underWay = 0;
  /** Has only principals with turns under way. */
  private readonly ofPrincipals = new Map<string, number>();
  private stopping = false;
  private idle: (() => void) | undefined;

  constructor(private readonly bounds: TurnBounds) {}

  /**
   * The returned function must be called when the turn has ended.
   * @throws AppError concurrency_exceeded, budget_exceeded, shutting_down, store_unavailable
   */
  async enter(caller: Pick<RequestContext, 'principal' | 'keyId' | 'access' | 'parentCall'>): Promise<() => void> {
    const { principal, access, parentCall } = caller;
    const spent = this.bounds.budgets?.spentBy(caller);
    if (spent !== undefined) this.refuseSpent(await spent);
    // It is a part of a call, which has a place of its own: the caller's turn that waits for it may be the last allowed.
    if (parentCall !== undefined) return this.enterHere(`call ${parentCall}`, Infinity);
    const keyLimit = access?.limits.turns ?? Infinity;
    const limit = Math.min(keyLimit, this.bounds.principalTurns(principal));
    const leave = this.enterHere(principal, limit);
    const { places } = this.bounds;
    if (places === undefined || limit === Infinity) return leave;
    const giveBack = await places.take(principal, limit);
    if (giveBack === undefined) {
      leave();
      throw this.refusal('principal_turns', `You already have ${limit} turns in progress`);
    }
    return () => {
      giveBack();
      leave();
    };
  }

  private refuseSpent(spent: SpentBudget | undefined): void {
    if (spent === undefined) return;
    const { period, usd, leftMs } = spent;
    this.bounds.onRefused(`budget_${period}`);
    const message = `Your budget of $${usd} for this ${period} is used up. ${budgetStop(spent).help}`;
    throw new AppError('budget_exceeded', message, { retryAfterSeconds: Math.ceil(leftMs / 1_000) });
  }

  private enterHere(principal: string, limit: number): () => void {
    if (this.stopping) throw new AppError('shutting_down', 'This gateway is stopping', { retryAfterSeconds: 1 });
    const { turns } = this.bounds;
    const own = this.ofPrincipals.get(principal) ?? 0;
    if (own >= limit) throw this.refusal('principal_turns', `You already have ${own} turns in progress`);
    if (this.underWay >= turns) throw this.refusal('turns', `This gateway already has ${turns} turns in progress`);
    this.underWay++;
    this.ofPrincipals.set(principal, own + 1);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const others = this.ofPrincipals.get(principal)! - 1;
      if (others === 0) this.ofPrincipals.delete(principal);
      else this.ofPrincipals.set(principal, others);
      if (--this.underWay === 0) this.idle?.();
    };
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
