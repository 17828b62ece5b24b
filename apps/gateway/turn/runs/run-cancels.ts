// The runs under way in this gateway, and how to stop each: when its caller leaves, or on a request to cancel.
import type { NewRun } from '#libs/runs/run-store.js';
import type { StoppableContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';

/** Detached: its caller may leave. With a key: its caller may come back, on another gateway. */
type RegisteredRun = Pick<NewRun, 'detached' | 'idempotencyKey'>;

export interface RunCancel {
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

/** The abort reason of a run that others go on with when this gateway stops: nothing of its calls is ended here. */
export class HandedOver extends AppError {
  constructor() {
    super('shutting_down', 'This gateway is stopping');
  }
}

export const isHandedOver = (signal: AbortSignal): boolean => signal.reason instanceof HandedOver;

export const whenCancelled = (signal: AbortSignal): boolean => signal.reason instanceof Cancelled;

export class RunCancels {
  /** The function that stops each run, by id, and whether the run outlives this gateway. */
  private readonly running = new Map<string, { abort: StoppableContext['abort']; outlives: boolean }>();
  private readonly held = new Set<string>();
  /** Runs that have answered and whose end is still being written. */
  private readonly ending = new Map<string, Promise<void>>();
  private stopped = false;

  /** `release` must be called when the run has ended. */
  register(runId: string, caller: StoppableContext, { detached, idempotencyKey }: RegisteredRun): RunCancel {
    const { signal, abort } = detached ? alone() : caller;
    const running = { abort, outlives: detached || idempotencyKey !== undefined };
    this.running.set(runId, running);
    if (this.stopped) stop(running);
    return { signal, abort, release: () => void this.running.delete(runId) };
  }

  /** Marks a run as known before it is written, until `register` or the returned function is called. */
  hold(runId: string): () => void {
    this.held.add(runId);
    return () => void this.held.delete(runId);
  }

  /** The run has answered; releases it after its end has been written. `ending` never rejects. */
  releaseAfter(runId: string, ending: Promise<void>): void {
    this.ending.set(runId, ending);
    void ending.then(() => {
      this.ending.delete(runId);
      this.running.delete(runId);
    });
  }

  /** Resolves when the end of a run that answered here is written; without an id, when all are. */
  async written(runId?: string): Promise<void> {
    if (runId === undefined) await Promise.all(this.ending.values());
    else await this.ending.get(runId);
  }

  isUnderWay(runId: string): boolean {
    return this.running.has(runId) || this.held.has(runId);
  }

  /** Registered and not yet released. */
  isRunning(runId: string): boolean {
    return this.running.has(runId);
  }

  /** False if the run is not under way here. */
  cancel(runId: string): boolean {
    const running = this.running.get(runId);
    running?.abort(new Cancelled());
    return running !== undefined;
  }

  /**
   * Stops remaining runs at the end of the grace time, and what comes after them: detached runs go on elsewhere, and those with
   * an Idempotency-Key can.
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
