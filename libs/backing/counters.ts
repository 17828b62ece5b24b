// Counts shared by all processes: rates and concurrency. Lost counts are tolerable, wrong ones correct themselves.

export interface Counters {
  /** Adds `by` to a counter that expires `windowMs` after its first add; returns the sum so far. */
  add(key: string, by: number, windowMs: number, signal: AbortSignal): Promise<{ total: number; resetInMs: number }>;
  /**
   * Takes one of `limit` places under `key` for `holder`, for at most `ttlMs` unless taken again by the same holder.
   * False when all are taken.
   */
  acquire(key: string, holder: string, limit: number, ttlMs: number, signal: AbortSignal): Promise<boolean>;
  release(key: string, holder: string, signal: AbortSignal): Promise<void>;
  close(): Promise<void>;
}
