// Limits concurrency per key. Waiters are served in order. The queue is bounded: when it is full, the refusal is immediate.
import { setMaxListeners } from 'node:events';
import { steadyNow } from './steady-now.js';
import { AppError } from '#libs/schemas/errors.js';

interface Line {
  taken: number;
  waiting: Set<() => void>;
}

export class FairSlots {
  private readonly lines = new Map<string, Line>();

  constructor(
    private readonly limit: number,
    private readonly maxWaiting: number,
    private readonly what: string,
  ) {}

  /**
   * Resolves with a function that releases the slot.
   * @throws AppError concurrency_exceeded when the queue is full or `deadline` (epoch ms) passes; the signal's
   * reason when that aborts first.
   */
  async take(key: string, { signal, deadline }: { signal: AbortSignal; deadline: number }): Promise<() => void> {
    signal.throwIfAborted();
    const line = this.lines.get(key) ?? { taken: 0, waiting: new Set() };
    this.lines.set(key, line);
    if (line.taken < this.limit) line.taken += 1;
    else await this.wait(line, signal, deadline);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.giveBack(key, line);
    };
  }

  /** Passes a released slot directly to the first waiter. */
  private giveBack(key: string, line: Line): void {
    const next = line.waiting.values().next();
    if (next.done !== true) {
      line.waiting.delete(next.value);
      next.value();
      return;
    }
    line.taken -= 1;
    if (line.taken === 0) this.lines.delete(key);
  }

  private wait(line: Line, signal: AbortSignal, deadline: number): Promise<void> {
    if (line.waiting.size >= this.maxWaiting) throw this.refusal();
    // One signal may cover many waiters, and Node would warn of a leak.
    setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', aborted);
        line.waiting.delete(admitted);
      };
      const admitted = () => {
        leave();
        resolve();
      };
      const aborted = () => {
        leave();
        reject(signal.reason as Error);
      };
      const late = () => {
        leave();
        reject(this.refusal());
      };
      const timer = setTimeout(late, Math.max(0, deadline - steadyNow()));
      line.waiting.add(admitted);
      signal.addEventListener('abort', aborted, { once: true });
    });
  }

  private refusal(): AppError {
    return new AppError('concurrency_exceeded', `Too many tool calls at once: ${this.what}`, {
      retryAfterSeconds: 1,
    });
  }
}
