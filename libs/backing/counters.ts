// Counts shared by all processes: rates and concurrency. Lost counts are tolerable, wrong ones correct themselves.

/** A window slides in so many steps: what was counted leaves it with its whole step, so it counts a step longer. */
export const windowSteps = 12;

export interface WindowUse {
  key: string;
  /** Taken as far as there is room. */
  take: number;
  /** Counted whatever room there is; negative: given back. */
  add: number;
  /** What the window has room for. */
  limit: number;
  /** A multiple of `windowSteps`. */
  windowMs: number;
}

export interface WindowState {
  taken: number;
  /** Room that is left; negative when more than the limit was counted. */
  left: number;
  /** Until there is room for one; 0 while there is. */
  waitMs: number;
}

export interface Counters {
  /** Adds `by` to a counter that expires `windowMs` after its first add; returns the sum so far. */
  add(key: string, by: number, windowMs: number, signal: AbortSignal): Promise<{ total: number; resetInMs: number }>;
  /** Takes and counts in sliding windows; the states stand in the order of the uses. */
  useWindows(uses: readonly WindowUse[], signal: AbortSignal): Promise<WindowState[]>;
  /**
   * Takes one of `limit` places under `key` for `holder`, for at most `ttlMs` unless taken again by the same holder.
   * False when all are taken.
   */
  acquire(key: string, holder: string, limit: number, ttlMs: number, signal: AbortSignal): Promise<boolean>;
  release(key: string, holder: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
