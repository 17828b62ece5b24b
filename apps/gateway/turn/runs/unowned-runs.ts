// Runs that no gateway runs any more, as the store has them. Of this gateway's own, whose beginning or end could not be written,
// known ends are written now, and others become interrupted, so that followers and retries can continue. Of any gateway,
// detached ones go on here: the store alone says which are due, so that it does not matter what happened in which order.
import type { Logger } from '#libs/logging/logger.js';
import type { DetachedRun, RunEnd, RunStore } from '#libs/runs/run-store.js';
import type { StartedTurn } from './started-turn.js';
import type { ActiveRuns } from './active-runs.js';

const intervalMs = 2_000;
/** Runs that go on here at once without their callers, and how many are looked at for that. */
const maxAdvancing = 256;
const maxSeen = 256;

export interface UnownedRunsParts {
  gatewayId: string;
  runs: Pick<RunStore, 'end' | 'interruptOrphans' | 'interruptedDetached'>;
  activeRuns: Pick<ActiveRuns, 'isUnderWay'>;
  /** Undefined: it does not go on here, or not now. */
  advance: (run: DetachedRun) => Promise<Pick<StartedTurn, 'run'> | undefined>;
  logger: Logger;
}

export class UnownedRuns {
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();
  private willLook = false;
  private takesNoMore = false;
  /** Bounded by the turns under way when the store failed: no run begins without it. */
  private readonly lateEnds = new Map<string, RunEnd>();
  /** Turns that no request waits for. They never fail. */
  private readonly advancing = new Set<Promise<void>>();

  constructor(private readonly parts: UnownedRunsParts) {}

  start(): void {
    this.timer = setInterval(() => this.lookSoon(), intervalMs);
    this.timer.unref();
  }

  /** Retries an end that was not, or perhaps not, written: immediately and then periodically. */
  endLater(runId: string, end: RunEnd): void {
    this.lateEnds.set(runId, end);
    this.lookSoon();
  }

  /** Looks as soon as possible: a run may be due. */
  lookSoon(): void {
    if (this.willLook) return;
    this.willLook = true;
    this.looking = this.looking.then(() => {
      this.willLook = false;
      return this.look();
    });
  }

  /** No further run goes on here. */
  takeNoMore(): void {
    this.takesNoMore = true;
  }

  /** Those that go on here have ended. Call it after all turns were stopped. */
  async finishAdvancing(): Promise<void> {
    this.takeNoMore();
    await this.looking;
    await Promise.all(this.advancing);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    if (this.lateEnds.size > 0) this.lookSoon();
    await this.looking;
  }

  private async look(): Promise<void> {
    const { gatewayId, runs, activeRuns, logger } = this.parts;
    try {
      for (const [runId, end] of this.lateEnds) {
        await runs.end(runId, gatewayId, end);
        this.lateEnds.delete(runId);
      }
      const isKnown = (id: string) => activeRuns.isUnderWay(id) || this.lateEnds.has(id);
      const found = await runs.interruptOrphans(gatewayId, isKnown);
      for (const runId of found) logger.warn({ runId }, 'an orphaned run was interrupted');
      if (!this.takesNoMore) await this.takeUp(await runs.interruptedDetached(maxSeen));
    } catch {
      // The store is unavailable: the next check repeats this.
    }
  }

  private async takeUp(left: readonly DetachedRun[]): Promise<void> {
    for (const run of left) {
      if (this.takesNoMore || this.advancing.size >= maxAdvancing) return;
      const started = await this.begin(run);
      if (started === undefined) continue;
      const turn = started.run(() => undefined).catch((error: unknown) => this.warn(run, error));
      this.advancing.add(turn);
      void turn.finally(() => this.advancing.delete(turn));
    }
  }

  /** One that cannot begin does not keep the others from it. */
  private async begin(run: DetachedRun): Promise<Pick<StartedTurn, 'run'> | undefined> {
    try {
      return await this.parts.advance(run);
    } catch (error) {
      this.warn(run, error);
      return undefined;
    }
  }

  private warn({ id: runId }: DetachedRun, error: unknown): void {
    this.parts.logger.warn({ runId, error }, 'a run that went on without its caller failed');
  }
}
