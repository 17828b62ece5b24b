// How many turns one gateway has under way: above the bound the answer is 429 at once, never a queue.
import { AppError } from '#libs/schemas/errors.js';

export class TurnAdmission {
  private underWay = 0;
  private stopping = false;
  private idle: (() => void) | undefined;

  constructor(
    private readonly limit: number,
    private readonly onRefused: (limit: string) => void,
  ) {}

  /** Returns what to call when the turn has ended. @throws AppError concurrency_exceeded, shutting_down */
  enter(): () => void {
    if (this.stopping) throw new AppError('shutting_down', 'This gateway is stopping', { retryAfterSeconds: 1 });
    if (this.underWay >= this.limit) {
      this.onRefused('turns');
      throw new AppError('concurrency_exceeded', `${this.limit} turns are under way here`, { retryAfterSeconds: 1 });
    }
    this.underWay++;
    let left = false;
    return () => {
      if (left) return;
      left = true;
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
}
