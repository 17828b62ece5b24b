// Removes the workspaces of expired sessions, and directories without a session. The store decides which sessions have
// expired, never one with a call under way. File times do not matter, because tools can set them.
import type { Logger } from '#libs/logging/logger.js';
import type { SessionDirectories, SessionStore } from '#libs/runs/sessions/session-store.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';

export interface SweeperOptions {
  sessions: Pick<SessionStore, 'takeExpired'> & SessionDirectories;
  workspaces: Workspaces;
  logger: Logger;
  /** `workspaces.sweep_interval_ms` */
  intervalMs: number;
  /** How long this process must have seen a directory without a session before it removes it. */
  orphanGraceMs?: number;
  /** The time for one directory in a sweep. The next sweep continues. */
  removalBudgetMs?: number;
}

const batch = 100;
const defaultRemovalBudgetMs = 30_000;
const defaultOrphanGraceMs = 10 * 60 * 1_000;

export class Sweeper {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private readonly stop = new AbortController();
  /** When each directory was first seen without a session, by the monotonic clock. */
  private orphans = new Map<string, number>();

  constructor(private readonly options: SweeperOptions) {}

  private get removal() {
    return { signal: this.stop.signal, budgetMs: this.options.removalBudgetMs ?? defaultRemovalBudgetMs };
  }

  start(): void {
    this.timer ??= setInterval(() => void this.sweep(), this.options.intervalMs).unref();
  }

  /** Sweeps, or waits for the sweep under way. Never throws: failures are logged, and the next sweep tries again. */
  sweep(): Promise<void> {
    this.running ??= this.sweepOnce().finally(() => (this.running = undefined));
    return this.running;
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    this.timer = undefined;
    this.stop.abort();
    await this.running;
  }

  /** A failed step does not prevent the next ones. */
  private async sweepOnce(): Promise<void> {
    for (const step of [() => this.removeExpired(), () => this.removeOrphans(), () => this.finishRemovals()]) {
      try {
        await step();
      } catch (error) {
        if (this.stop.signal.aborted) return;
        this.options.logger.warn({ error }, 'workspace sweep failed');
      }
    }
  }

  private async finishRemovals(): Promise<void> {
    const { logger, workspaces } = this.options;
    const onError = (error: unknown) => logger.warn({ error }, 'a workspace could not be removed');
    const finished = await workspaces.finishRemovals(onError, this.removal);
    if (finished > 0) logger.info({ metadata: { count: finished } }, 'unfinished workspace removals finished');
  }

  private async removeExpired(): Promise<void> {
    for (;;) {
      this.stop.signal.throwIfAborted();
      const expired = await this.options.sessions.takeExpired(batch);
      for (const session of expired) {
        const fields = { sessionId: session.id, userId: session.principal };
        await this.remove(session.directory, fields, 'workspace of an expired session removed');
      }
      if (expired.length < batch) return;
    }
  }

  private async removeOrphans(): Promise<void> {
    const { sessions, workspaces, orphanGraceMs = defaultOrphanGraceMs } = this.options;
    const directories = await workspaces.directories();
    const orphans = new Map<string, number>();
    for (let from = 0; from < directories.length; from += 1_000) {
      const names = directories.slice(from, from + 1_000);
      const known = await sessions.existing(names);
      for (const name of names) {
        if (!known.has(name)) orphans.set(name, this.orphans.get(name) ?? performance.now());
      }
    }
    // Forgets directories that have a session now, or no longer exist.
    this.orphans = orphans;
    for (const [name, since] of orphans) {
      if (performance.now() - since < orphanGraceMs) continue;
      if (await this.remove(name, {}, 'workspace without a session removed')) this.orphans.delete(name);
    }
  }

  private async remove(
    directory: string,
    fields: { sessionId?: string; userId?: string },
    message: string,
  ): Promise<boolean> {
    const { logger, workspaces } = this.options;
    this.stop.signal.throwIfAborted();
    try {
      const gone = await workspaces.remove(directory, this.removal);
      logger.info({ ...fields, metadata: { directory, ...(gone ? {} : { unfinished: true }) } }, message);
      return true;
    } catch (error) {
      if (this.stop.signal.aborted) throw error;
      logger.warn({ ...fields, error, metadata: { directory } }, 'a workspace could not be removed');
      return false;
    }
  }
}
