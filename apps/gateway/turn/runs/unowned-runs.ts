// Looks for runs that no gateway runs any more. If a run of this gateway could not be begun or ended in the store, its known end is
// written later, or the run becomes interrupted, so that followers and retries can continue. Interrupted detached runs of any
// gateway are advanced here; the store alone says which are due, so the order of events does not matter.
import type { Logger } from '#libs/logging/logger.js';
import type { DetachedRun, RunEnd, RunStore } from '#libs/runs/run-store.js';
import type { WriteLater } from '#libs/runs/write-later.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { StartedTurn } from './started-turn.js';
import type { ActiveRuns } from './active-runs.js';

const intervalMs = 2_000;
/** How many runs are advanced here at once, and how many are read to find them. */
const maxAdvancing = 256;
const maxSeen = 256;
/** How long writing an end is retried: afterwards no key can ask for the run. */
const endForMs = 86_400_000;

export interface UnownedRunsParts {
  gatewayId: string;
  runs: Pick<RunStore, 'end' | 'interruptOrphans' | 'interruptedDetached'>;
  activeRuns: Pick<ActiveRuns, 'isUnderWay'>;
  later: Pick<WriteLater, 'add' | 'has'>;
  /** Undefined if the run cannot be advanced here, or not yet. */
  advance: (run: DetachedRun) => Promise<Pick<StartedTurn, 'run'> | undefined>;
  logger: Logger;
}

export class UnownedRuns {
  private timer: NodeJS.Timeout | undefined;
  private looking: Promise<void> = Promise.resolve();
  private willLook = false;
  private takesNoMore = false;
  /** Turns that no request waits for. These promises never reject. */
  private readonly advancing = new Set<Promise<void>>();

  constructor(private readonly parts: UnownedRunsParts) {}

  start(): void {
    this.timer = setInterval(() => this.lookSoon(), intervalMs).unref();
  }

  /** Retries an end whose write failed or was not confirmed. */
  endLater(runId: string, end: RunEnd): void {
    const { gatewayId, runs, later } = this.parts;
    void later.add(runId, () => runs.end(runId, gatewayId, end), endForMs);
  }

  /** Looks again as soon as possible, because a run may be due. */
  lookSoon(): void {
    if (this.willLook) return;
    this.willLook = true;
    this.looking = this.looking.then(() => {
      this.willLook = false;
      return this.look();
    });
  }

  /** Stops advancing further runs here. */
  takeNoMore(): void {
    this.takesNoMore = true;
  }

  /** Resolves when the runs that are advanced here have ended. Call it after all turns were stopped. */
  async finishAdvancing(): Promise<void> {
    this.takeNoMore();
    await this.looking;
    await Promise.all(this.advancing);
  }

  async close(): Promise<void> {
    clearInterval(this.timer);
    await this.looking;
  }

  private async look(): Promise<void> {
    const { gatewayId, runs, activeRuns, later, logger } = this.parts;
    try {
      const isKnown = (id: string) => activeRuns.isUnderWay(id) || later.has(id);
      const found = await runs.interruptOrphans(gatewayId, isKnown);
      for (const runId of found) logger.warn({ runId }, 'an orphaned run was interrupted');
      if (!this.takesNoMore) await this.takeUp(await runs.interruptedDetached(maxSeen));
    } catch {
      // The store is unavailable: the next look repeats the work.
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

  /** Never throws: a run that cannot be advanced does not hinder the others. */
  private async begin(run: DetachedRun): Promise<Pick<StartedTurn, 'run'> | undefined> {
    try {
      return await this.parts.advance(run);
    } catch (error) {
      this.warn(run, error);
      return undefined;
    }
  }

  private warn({ id: runId }: DetachedRun, error: unknown): void {
    // Its own call waits for a person.
    if (error instanceof ApprovalNeeded) return;
    this.parts.logger.warn({ runId, error }, 'a run that went on without its caller failed');
  }
}
