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

/** What a process has, and wants, of the places of a key that several processes share. */
export interface PlaceShare {
  key: string;
  holder: string;
  /** In use: never taken away. */
  used: number;
  /** Those in use, and as many as it could use at once. Zero gives all back. */
  wanted: number;
  /** Of all holders together. */
  limit: number;
  /** A holder that does not ask again within it has died. */
  ttlMs: number;
}

export interface Counters {
  /** Takes and counts in sliding windows; the states stand in the order of the uses. */
  useWindows(uses: readonly WindowUse[], signal: AbortSignal): Promise<WindowState[]>;
  /**
   * How many places each holder may use, in the order of the shares. All holders of a key have no more than its limit; if they
   * want more, each gets an equal part first. A holder that uses more than it may takes no further ones until it does not;
   * who has to wait longest is next.
   */
  sharePlaces(shares: readonly PlaceShare[], signal: AbortSignal): Promise<number[]>;
  close(): Promise<void>;
}
