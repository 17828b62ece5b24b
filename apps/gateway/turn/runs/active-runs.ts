// The runs under way in this gateway. Each can be stopped: when its caller leaves, on a request to cancel, or at shutdown.
import type { NewRun } from '#libs/runs/run-store.js';
import type { StoppableContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';

/** The caller of a detached run may leave. The caller of a run with a key may come back, on another gateway. */
type RegisteredRun = Pick<NewRun, 'detached' | 'idempotencyKey'>;

export interface ActiveRun {
  signal: AbortSignal;
  abort: StoppableContext['abort'];
  release: () => void;
}

/** The abort reason after a request to cancel. */
class Cancelled extends AppError {
  constructor() {
    super('cancelled', 'The run was cancelled');
  }
}

/** The abort reason of a run that continues elsewhere when this gateway stops; its calls are not ended here. */
export class HandedOver extends AppError {
  constructor() {
    super('shutting_down', 'This gateway is stopping');
  }
}

export const isHandedOver = (signal: AbortSignal): boolean => signal.reason instanceof HandedOver;

export const wasCancelled = (signal: AbortSignal): boolean => signal.reason instanceof Cancelled;

export class ActiveRuns {
  /** By run id: the function that stops the run, and whether the run outlives this gateway. */
  private readonly running = new Map<string, { abort: StoppableContext['abort']; outlives: boolean }>();
  private readonly reserved = new Set<string>();
  /** Runs that have answered and whose end is still being written. */
  private readonly ending = new Map<string, Promise<void>>();
  private stopped = false;

  /** `release` must be called when the run has ended. */
  register(runId: string, caller: StoppableContext, { detached, idempotencyKey }: RegisteredRun): ActiveRun {
    const { signal, abort } = detached ? alone() : caller;
    const running = { abort, outlives: detached || idempotencyKey !== undefined };
    this.running.set(runId, running);
    if (this.stopped) stop(running);
    return { signal, abort, release: () => void this.running.delete(runId) };
  }

  /** Counts a run as under way before it is written, until the returned function is called. */
  reserve(runId: string): () => void {
    this.reserved.add(runId);
    return () => void this.reserved.delete(runId);
  }

  /** Releases a run that has answered after its end is written. `ending` never rejects. */
  releaseAfter(runId: string, ending: Promise<void>): void {
    this.ending.set(runId, ending);
    void ending.then(() => {
      this.ending.delete(runId);
      this.running.delete(runId);
    });
  }

  /** Resolves when the end of a run that answered here is written; without an id, when all ends are. */
  async written(runId?: string): Promise<void> {
    if (runId === undefined) await Promise.all(this.ending.values());
    else await this.ending.get(runId);
  }

  isUnderWay(runId: string): boolean {
    return this.running.has(runId) || this.reserved.has(runId);
  }

  /** True from `register` to release. */
  isRunning(runId: string): boolean {
    return this.running.has(runId);
  }

  /** False if the run is not registered here. */
  cancel(runId: string): boolean {
    const running = this.running.get(runId);
    running?.abort(new Cancelled());
    return running !== undefined;
  }

  /**
   * Stops all runs at the end of the grace time, and every run that is registered later. Detached runs continue on another
   * gateway; a retry can continue runs with an Idempotency-Key.
   */
  stopAll(): void {
    this.stopped = true;
    for (const running of this.running.values()) stop(running);
  }
}

function stop({ abort, outlives }: { abort: StoppableContext['abort']; outlives: boolean }): void {
  abort(outlives ? new HandedOver() : new AppError('shutting_down', 'This gateway is stopping'));
}

function alone(): Pick<StoppableContext, 'signal' | 'abort'> {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}
