// How many turns are under way, in all on this gateway and of one principal on all gateways: above a bound the answer is
// 429 at once, never a queue.
import { keylessPrincipal } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { PrincipalPlaces } from './principal-places.js';

const keyTurns = 64;

/** Everyone who calls without a key is one principal: bounded only where the operator says so. */
export const turnsOfPrincipal =
  (configured: number | undefined) =>
  (principal: string): number =>
    configured ?? (principal === keylessPrincipal ? Infinity : keyTurns);

export interface TurnBounds {
  turns: number;
  principalTurns: (principal: string) => number;
  /** Those of all gateways; absent: this one counts for itself. */
  places?: Pick<PrincipalPlaces, 'take'>;
  /** Told the name of the limit. */
  onRefused: (limit: string) => void;
}

export class TurnAdmission {
  private underWay = 0;
  /** Of those principals only that have a turn under way. */
  private readonly ofPrincipals = new Map<string, number>();
  private stopping = false;
  private idle: (() => void) | undefined;

  constructor(private readonly bounds: TurnBounds) {}

  /** `ofKey`: what the caller's key says. Returns what to call when the turn has ended. @throws AppError concurrency_exceeded, shutting_down */
  async enter(principal: string, ofKey = Infinity): Promise<() => void> {
    const limit = Math.min(ofKey, this.bounds.principalTurns(principal));
    const leave = this.enterHere(principal, limit);
    const { places } = this.bounds;
    if (places === undefined || limit === Infinity) return leave;
    const giveBack = await places.take(principal, limit);
    if (giveBack === undefined) {
      leave();
      throw this.refusal('principal_turns', `${limit} turns of yours are under way`);
    }
    return () => {
      giveBack();
      leave();
    };
  }

  private enterHere(principal: string, limit: number): () => void {
    if (this.stopping) throw new AppError('shutting_down', 'This gateway is stopping', { retryAfterSeconds: 1 });
    const { turns } = this.bounds;
    const own = this.ofPrincipals.get(principal) ?? 0;
    if (own >= limit) throw this.refusal('principal_turns', `${own} turns of yours are under way`);
    if (this.underWay >= turns) throw this.refusal('turns', `${turns} turns are under way here`);
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

  /** No new turn from now on; resolves when those under way have ended, or `graceMs` has passed. */
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
