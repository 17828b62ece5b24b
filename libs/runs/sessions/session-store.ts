// Sessions: a name within a principal, a directory with a random name, an idle lifetime.

export interface Session {
  principal: string;
  /** The caller's name of the session, `^[A-Za-z0-9_-]{1,128}$`. */
  id: string;
  /** Name of the session's directory under the workspaces directory: random, never shown. */
  directory: string;
  createdAt: Date;
  usedAt: Date;
  expiresAt: Date;
  metadata: Record<string, unknown>;
}

/** For a session that is created, or whose metadata changes. */
export interface GivenSession {
  metadata?: Record<string, unknown> | undefined;
  /** Directory of a new session: a name that no other session has had. */
  directory?: string | undefined;
}

export interface SessionStore {
  /** Gets or creates a session and renews its life; safe under concurrency. Writes a known session only every few seconds. */
  ensure(principal: string, id: string, given?: GivenSession): Promise<Session>;
  get(principal: string, id: string): Promise<Session | undefined>;
  list(principal: string, page: { limit: number; after?: string }): Promise<Session[]>;
  /** The sessions of all owners, by owner and name. */
  listAll(page: { limit: number; after?: Pick<Session, 'principal' | 'id'> }): Promise<Session[]>;
  /** Removes the row (and the turns stored with it); the caller must remove the directory. */
  delete(principal: string, id: string): Promise<Session | undefined>;
  /**
   * Takes up to `limit` expired sessions without a call in progress out of the store; the sweeper removes their
   * directories.
   */
  takeExpired(limit: number): Promise<Session[]>;
  count(): Promise<number>;
}

/** Which directories belong to a session: the sweeper removes the others. */
export interface SessionDirectories {
  existing(directories: readonly string[]): Promise<Set<string>>;
}
