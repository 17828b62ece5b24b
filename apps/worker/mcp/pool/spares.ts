// Spare instances, started before they are needed, each in its own new directory. A new session can take such a directory
// as its workspace, permanently, and the instance with it. A directory is never offered to a second session, even if the
// first did not use it, and files are never moved.
import type { Logger } from '#libs/logging/logger.js';
import type { ConfiguredServer, PoolUser, SpareInstance } from '../servers/configured-server.js';
import type { ToolConnection } from '../servers/connection.js';

interface Spare {
  server: ConfiguredServer;
  instance: SpareInstance;
  /** After this time no session gets the spare, by `performance.now()`. */
  until: number;
  timer: NodeJS.Timeout;
  /** A session may be taking its directory. */
  offered: boolean;
  /** A session has its directory. The instance goes to this session, or ends without removing the directory. */
  taken: boolean;
}

export interface SparesParts {
  /** How many more instances the server may have; 0 if its configuration has changed. */
  room: (server: ConfiguredServer) => number;
  isCurrent: (server: ConfiguredServer) => boolean;
  onFailed: (server: ConfiguredServer, error: unknown, tookMs: number) => void;
  signal: AbortSignal;
  logger: Logger;
}

/** Well below the age at which the sweeper removes directories without a session. */
const maxLifeMs = 300_000;

export class Spares {
  /** Oldest first. */
  private readonly readySpares = new Set<Spare>();
  /** Starts in progress, at most one per server. */
  private readonly starts = new Map<ConfiguredServer, Promise<boolean>>();
  private readonly ending = new Set<Promise<void>>();
  private readonly usedAt = new Map<string, number>();

  constructor(private readonly parts: SparesParts) {}

  ready(name: string): number {
    return this.of(name).length;
  }

  starting(name: string): number {
    return [...this.starts.keys()].filter((server) => server.name === name).length;
  }

  count(name: string): number {
    return this.ready(name) + this.starting(name);
  }

  /** Call it when a session starts to use the server. Starts missing spares, one after another. */
  used(server: ConfiguredServer): void {
    if (server.spares === undefined) return;
    this.usedAt.set(server.name, performance.now());
    this.fill(server);
  }

  /** Starts at most `most` spares, so that spares that end right after their start are not replaced endlessly. */
  fill(server: ConfiguredServer, most = server.spares?.count ?? 0): void {
    const { room, signal } = this.parts;
    if (server.spares === undefined || most === 0 || signal.aborted || this.starts.has(server)) return;
    if (this.count(server.name) >= server.spares.count || room(server) <= 0) return;
    const starting = this.start(server, server.spares.open).finally(() => this.starts.delete(server));
    this.starts.set(server, starting);
    void starting.then((started) => started && this.fill(server, most - 1));
  }

  /** Runs `ensure` with the directory of a spare, for a new session. Its result shows whether the session has it. */
  async offer<T extends { directory: string }>(
    server: ConfiguredServer | undefined,
    ensure: (directory: string | undefined) => Promise<T>,
  ): Promise<T> {
    const spare = this.of(server?.name).find((each) => !each.offered && !each.taken && this.mayGo(each));
    if (spare === undefined) return ensure(undefined);
    spare.offered = true;
    try {
      const session = await ensure(spare.instance.directory);
      spare.taken = session.directory === spare.instance.directory;
      return session;
    } catch (error) {
      // The session may have been stored anyway, so no other session may get this directory.
      this.end(spare);
      throw error;
    } finally {
      spare.offered = false;
    }
  }

  /** The instance in the user's directory, if it still runs. */
  adopt(server: ConfiguredServer, user: PoolUser): ToolConnection | undefined {
    const spare = this.of(server.name).find((each) => each.taken && each.instance.directory === user.directory);
    if (spare === undefined || !this.mayGo(spare)) return undefined;
    this.forget(spare);
    return spare.instance.adopt(user.sessionId);
  }

  /** Ends a spare without a session. Returns false if there is none. */
  endOne(name: string): boolean {
    const spare = this.of(name).find(({ offered, taken }) => !offered && !taken);
    if (spare !== undefined) this.end(spare);
    return spare !== undefined;
  }

  replace(): void {
    for (const spare of this.readySpares) if (!this.parts.isCurrent(spare.server)) this.end(spare);
  }

  async endIn(directory: string): Promise<void> {
    for (const spare of this.readySpares) if (spare.instance.directory === directory) this.end(spare);
    await Promise.all(this.ending);
  }

  /** Call it after the signal has aborted. Resolves when all spares have ended. */
  async close(): Promise<void> {
    await Promise.all(this.starts.values());
    for (const spare of this.readySpares) this.end(spare);
    await Promise.all(this.ending);
  }

  private of(name: string | undefined): Spare[] {
    return name === undefined ? [] : [...this.readySpares].filter(({ server }) => server.name === name);
  }

  private mayGo({ server, until, instance }: Spare): boolean {
    return this.parts.isCurrent(server) && performance.now() < until && !instance.connection.closed;
  }

  private async start(
    server: ConfiguredServer,
    open: NonNullable<ConfiguredServer['spares']>['open'],
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
      const timer = setTimeout(() => this.tooOld(spare, bornAt), lifeMs);
      timer.unref();
      const spare: Spare = { server, instance, until: bornAt + lifeMs, timer, offered: false, taken: false };
      this.readySpares.add(spare);
      instance.connection.onClosed(() => this.end(spare));
      if (this.mayGo(spare)) return true;
      this.end(spare);
      return false;
    } catch (error) {
      if (!this.parts.signal.aborted) this.parts.onFailed(server, error, performance.now() - begunAt);
      return false;
    }
  }

  /** Starts another one only if a session started to use the server meanwhile. */
  private tooOld(spare: Spare, bornAt: number): void {
    this.end(spare);
    if ((this.usedAt.get(spare.server.name) ?? 0) > bornAt) this.fill(spare.server);
  }

  private forget(spare: Spare): void {
    clearTimeout(spare.timer);
    this.readySpares.delete(spare);
  }

  private end(spare: Spare): void {
    if (!this.readySpares.has(spare)) return;
    this.forget(spare);
    const { instance, server, offered, taken } = spare;
    // Do not remove a directory that a session has or may have.
    const ending = (offered || taken ? instance.connection.close() : instance.discard())
      .catch((error: unknown) =>
        this.parts.logger.warn({ error, metadata: { server: server.name } }, 'a spare instance did not end cleanly'),
      )
      .finally(() => this.ending.delete(ending));
    this.ending.add(ending);
  }
}
