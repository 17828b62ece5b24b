// Limits concurrency per key. Waiters are served in order. The queue is bounded: when it is full, the refusal is immediate.
// Slots may be shared with other processes; `SlotShares` then says how many belong to this process.
import { setMaxListeners } from 'node:events';
import { steadyNow } from './steady-now.js';
import { AppError } from '#libs/schemas/errors.js';

/** The share of a key's slots that this process may use; the share may change at any time. */
export interface SlotShares {
  allowed(key: string): number;
  /** Called after each change. Call `admit` when more slots are allowed. */
  onChange(key: string, taken: number, waiting: number): void;
}

export interface SlotWait {
  signal: AbortSignal;
  /** By `steadyNow()`. */
  deadline: number;
  /** Waits before those who have not begun: its work has begun, and was interrupted. */
  ahead?: boolean;
}

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
    private readonly shares?: SlotShares,
  ) {}

  /**
   * Resolves with a function that releases the slot.
   * @throws AppError concurrency_exceeded when the queue is full or `deadline` passes; the signal's reason when that aborts
   * first.
   */
  async take(key: string, wait: SlotWait): Promise<() => void> {
    wait.signal.throwIfAborted();
    const free = this.takeFree(key);
    if (free !== undefined) return free;
    const line = this.lineOf(key);
    await this.wait(key, line, wait);
    return this.taken(key, line);
  }

  /** Takes a slot if one is free now; otherwise undefined. */
  takeFree(key: string): (() => void) | undefined {
    const line = this.lineOf(key);
    if (line.taken >= this.allowed(key)) return undefined;
    line.taken += 1;
    this.changed(key, line);
    return this.taken(key, line);
  }

  private lineOf(key: string): Line {
    let line = this.lines.get(key);
    if (line === undefined) this.lines.set(key, (line = { taken: 0, waiting: new Set() }));
    return line;
  }

  private taken(key: string, line: Line): () => void {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.giveBack(key, line);
    };
  }

  /** Gives slots to those who wait for the key, as far as slots are allowed. */
  admit(key: string): void {
    const line = this.lines.get(key);
    if (line === undefined) return;
    const allowed = this.allowed(key);
    for (const admitted of line.waiting) {
      if (line.taken >= allowed) return;
      line.taken += 1;
      admitted();
    }
  }

  private giveBack(key: string, line: Line): void {
    line.taken -= 1;
    this.admit(key);
    this.changed(key, line);
  }

  private allowed(key: string): number {
    return this.shares?.allowed(key) ?? this.limit;
  }

  private changed(key: string, line: Line): void {
    if (line.taken === 0 && line.waiting.size === 0) this.lines.delete(key);
    this.shares?.onChange(key, line.taken, line.waiting.size);
  }

  private wait(key: string, line: Line, { signal, deadline, ahead = false }: SlotWait): Promise<void> {
    if (line.waiting.size >= this.maxWaiting) throw this.refusal();
    // One signal may cover many waiters, and Node would warn of a leak.
    setMaxListeners(0, signal);
    return new Promise((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', aborted);
        line.waiting.delete(admitted);
        this.changed(key, line);
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
      if (ahead) line.waiting = new Set([admitted, ...line.waiting]);
      else line.waiting.add(admitted);
      signal.addEventListener('abort', aborted, { once: true });
      this.changed(key, line);
    });
  }

  private refusal(): AppError {
    return new AppError('concurrency_exceeded', `Too many tool calls at once: ${this.what}`, {
      retryAfterSeconds: 1,
    });
  }
}
