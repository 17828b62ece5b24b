// Counts shared by all processes: rates and concurrency. Lost counts are tolerable, and wrong counts correct themselves.

/** A window slides in this many steps. A count leaves the window with its whole step, so up to a step late. */
export const windowSteps = 12;

export interface WindowUse {
  key: string;
  /** How many to take if the window has room. */
  take: number;
  /** How many to count even without room; negative: to give back. */
  add: number;
  limit: number;
  /** A multiple of `windowSteps`. */
  windowMs: number;
}

export interface WindowState {
  taken: number;
  /** Room that is left; negative when more than the limit was counted. */
  left: number;
  /** Time until there is room for one; 0 if there is room. */
  waitMs: number;
}

/** A process's share of a key's places: what it uses and wants. */
export interface PlaceShare {
  key: string;
  holder: string;
  /** Places in use, which are never taken away. */
  used: number;
  /** Places in use, plus those that the process could use at once. Zero gives all back. */
  wanted: number;
  /** The limit of all holders together. */
  limit: number;
  /** A holder that does not ask again within this time counts as dead. */
  ttlMs: number;
}

export interface Counters {
  /** Takes and counts in sliding windows; the states are in the order of the uses. */
  useWindows(uses: readonly WindowUse[], signal: AbortSignal): Promise<WindowState[]>;
  /**
   * How many places each holder may use, in the order of the shares. All holders of a key together get at most its limit; if
   * they want more, each gets an equal part first. A holder above its part takes no further places; the holder that has
   * waited longest is next.
   */
  sharePlaces(shares: readonly PlaceShare[], signal: AbortSignal): Promise<number[]>;
  close(): Promise<void>;
}
