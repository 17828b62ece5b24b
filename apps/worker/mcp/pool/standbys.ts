// Standby instances, started before they are needed, each in its own new directory. A new session can take such a directory
// as its workspace, permanently, and the instance with it. A directory is never offered to a second session, even if the
// first did not use it, and files are never moved.
import type { Logger } from '#libs/logging/logger.js';
import type { ConfiguredServer, PoolUser, StandbyInstance } from '../servers/configured-server.js';
import type { ToolConnection } from '../servers/connection.js';

interface Standby {
  server: ConfiguredServer;
  instance: StandbyInstance;
  /** After this time no session gets the standby, by `performance.now()`. */
  until: number;
  timer: NodeJS.Timeout;
  /** A session may be taking its directory. */
  offered: boolean;
  /** A session has its directory. The instance goes to this session, or ends without removing the directory. */
  taken: boolean;
}

export interface StandbysParts {
  /** How many more instances the server may have; 0 if its configuration has changed. */
  room: (server: ConfiguredServer) => number;
  isCurrent: (server: ConfiguredServer) => boolean;
  onFailed: (server: ConfiguredServer, error: unknown, tookMs: number) => void;
  signal: AbortSignal;
  logger: Logger;
}

/** Well below the age at which the sweeper removes directories without a session. */
const maxLifeMs = 300_000;

export class Standbys {
  /** Oldest first. */
  private readonly readyStandbys = new Set<Standby>();
  /** Starts in progress, at most one per server. */
  private readonly starts = new Map<ConfiguredServer, Promise<boolean>>();
  private readonly ending = new Set<Promise<void>>();
  private readonly usedAt = new Map<string, number>();

  constructor(private readonly parts: StandbysParts) {}

  ready(name: string): number {
    return this.of(name).length;
  }

  starting(name: string): number {
    return [...this.starts.keys()].filter((server) => server.name === name).length;
  }

  count(name: string): number {
    return this.ready(name) + this.starting(name);
  }

  /** Call it when a session starts to use the server. Starts missing standbys, one after another. */
  used(server: ConfiguredServer): void {
    if (server.standbys === undefined) return;
    this.usedAt.set(server.name, performance.now());
    this.fill(server);
  }

  /** Starts at most `most` standbys, so that standbys that end right after their start are not replaced endlessly. */
  fill(server: ConfiguredServer, most = server.standbys?.count ?? 0): void {
    const { room, signal } = this.parts;
    if (server.standbys === undefined || most === 0 || signal.aborted || this.starts.has(server)) return;
    if (this.count(server.name) >= server.standbys.count || room(server) <= 0) return;
    const starting = this.start(server, server.standbys.open).finally(() => this.starts.delete(server));
    this.starts.set(server, starting);
    void starting.then((started) => started && this.fill(server, most - 1));
  }

  /** Runs `ensure` with the directory of a standby, for a new session. Its result shows whether the session has it. */
  async offer<T extends { directory: string }>(
    server: ConfiguredServer | undefined,
    ensure: (directory: string | undefined) => Promise<T>,
  ): Promise<T> {
    const standby = this.of(server?.name).find((each) => !each.offered && !each.taken && this.mayGo(each));
    if (standby === undefined) return ensure(undefined);
    standby.offered = true;
    try {
      const session = await ensure(standby.instance.directory);
      standby.taken = session.directory === standby.instance.directory;
      return session;
    } catch (error) {
      // The session may have been stored anyway, so no other session may get this directory.
      this.end(standby);
      throw error;
    } finally {
      standby.offered = false;
    }
  }

  /** The instance in the user's directory, if it still runs. */
  adopt(server: ConfiguredServer, user: PoolUser): ToolConnection | undefined {
    const standby = this.of(server.name).find((each) => each.taken && each.instance.directory === user.directory);
    if (standby === undefined || !this.mayGo(standby)) return undefined;
    this.forget(standby);
    return standby.instance.adopt(user.sessionId);
  }

  /** Ends a standby without a session. Returns false if there is none. */
  endOne(name: string): boolean {
    const standby = this.of(name).find(({ offered, taken }) => !offered && !taken);
    if (standby !== undefined) this.end(standby);
    return standby !== undefined;
  }

  replace(): void {
    for (const standby of this.readyStandbys) if (!this.parts.isCurrent(standby.server)) this.end(standby);
  }

  async endIn(directory: string): Promise<void> {
    for (const standby of this.readyStandbys) if (standby.instance.directory === directory) this.end(standby);
    await Promise.all(this.ending);
  }

  /** Call it after the signal has aborted. Resolves when all standbys have ended. */
  async close(): Promise<void> {
    await Promise.all(this.starts.values());
    for (const standby of this.readyStandbys) this.end(standby);
    await Promise.all(this.ending);
  }

  private of(name: string | undefined): Standby[] {
    return name === undefined ? [] : [...this.readyStandbys].filter(({ server }) => server.name === name);
  }

  private mayGo({ server, until, instance }: Standby): boolean {
    return this.parts.isCurrent(server) && performance.now() < until && !instance.connection.closed;
  }

  private async start(
    server: ConfiguredServer,
    open: NonNullable<ConfiguredServer['standbys']>['open'],
  ): Promise<boolean> {
    const begunAt = performance.now();
    try {
      const instance = await open(this.parts.signal);
      // Meanwhile, instances of sessions have used up the room.
      if (this.parts.room(server) < 0) {
        await instance.discard();
        return false;
      }
      const lifeMs = Math.min(server.idleTtlMs, maxLifeMs);
      const bornAt = performance.now();
      const timer = setTimeout(() => this.tooOld(standby, bornAt), lifeMs).unref();
      const standby: Standby = { server, instance, until: bornAt + lifeMs, timer, offered: false, taken: false };
      this.readyStandbys.add(standby);
      instance.connection.onClosed(() => this.end(standby));
      if (this.mayGo(standby)) return true;
      this.end(standby);
      return false;
    } catch (error) {
      if (!this.parts.signal.aborted) this.parts.onFailed(server, error, performance.now() - begunAt);
      return false;
    }
  }

  /** Starts another one only if a session started to use the server meanwhile. */
  private tooOld(standby: Standby, bornAt: number): void {
    this.end(standby);
    if ((this.usedAt.get(standby.server.name) ?? 0) > bornAt) this.fill(standby.server);
  }

  private forget(standby: Standby): void {
    clearTimeout(standby.timer);
    this.readyStandbys.delete(standby);
  }

  private end(standby: Standby): void {
    if (!this.readyStandbys.has(standby)) return;
    this.forget(standby);
    const { instance, server, offered, taken } = standby;
    // Do not remove a directory that a session has or may have.
    const ending = (offered || taken ? instance.connection.close() : instance.discard())
      .catch((error: unknown) =>
        this.parts.logger.warn({ error, metadata: { server: server.name } }, 'a standby instance did not end cleanly'),
      )
      .finally(() => this.ending.delete(ending));
    this.ending.add(ending);
  }
}
