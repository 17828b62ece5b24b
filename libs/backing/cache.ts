// Values that may disappear at any time. The adapter bounds the size and evicts the oldest first.

export interface Cache {
  get(key: string, signal: AbortSignal): Promise<string | undefined>;
  /** Values above `maxValueBytes` are not kept. */
  set(key: string, value: string, ttlMs: number, signal: AbortSignal): Promise<void>;
  delete(key: string, signal: AbortSignal): Promise<void>;
  readonly maxValueBytes: number;
  close(): Promise<void>;
}

/** Bounds for all processes together, which may be exceeded slightly for a moment. */
export interface CacheBounds {
  maxRows: number;
  maxBytes: number;
  maxValueBytes: number;
}
