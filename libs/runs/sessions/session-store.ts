// Sessions: a name within a principal, a directory with a random name, an idle life.

export interface Session {
  principal: string;
  /** The caller's name for it, `^[A-Za-z0-9_-]{1,128}$`. */
  id: string;
  /** Name of its directory under the workspaces directory: random, never shown. */
  directory: string;
  createdAt: Date;
  usedAt: Date;
  expiresAt: Date;
  metadata: Record<string, unknown>;
}

/** Of a session that is made, or whose metadata changes. */
export interface GivenSession {
  metadata?: Record<string, unknown> | undefined;
  /** Taken by a session that is new, as a name that no other one was ever offered. */
  directory?: string | undefined;
}

export interface SessionStore {
  /** Gets or makes it and renews its life; safe under concurrency. Written at most once a few seconds for a known one. */
  ensure(principal: string, id: string, given?: GivenSession): Promise<Session>;
  get(principal: string, id: string): Promise<Session | undefined>;
  list(principal: string, page: { limit: number; after?: string }): Promise<Session[]>;
  /** Removes the row (and with it what it kept of its turns); the directory is the caller's to remove. */
  delete(principal: string, id: string): Promise<Session | undefined>;
  /**
   * Takes up to `limit` expired sessions out of the store, none of which has a call under way, for the sweeper to
   * remove their directories.
   */
  takeExpired(limit: number): Promise<Session[]>;
  count(): Promise<number>;
}

/** Which directories belong to a session: what has none is an orphan, for the sweeper to remove. */
export interface SessionDirectories {
  existing(directories: readonly string[]): Promise<Set<string>>;
}
