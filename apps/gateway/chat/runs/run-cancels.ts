// The runs that go on in this gateway, and what stops each: its caller going away, or a request to cancel it.
import type { StoppableContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';

export interface RunCancel {
  signal: AbortSignal;
  abort: StoppableContext['abort'];
  release: () => void;
}

/** The reason of a signal that a request to cancel aborted. */
class Cancelled extends AppError {
  constructor() {
    super('cancelled', 'The run was cancelled');
  }
}

export const whenCancelled = (signal: AbortSignal): boolean => signal.reason instanceof Cancelled;

export class RunCancels {
  /** What stops each. */
  private readonly running = new Map<string, StoppableContext['abort']>();
  private readonly held = new Set<string>();
  /** Those whose end is written behind their answer. */
  private readonly ending = new Map<string, Promise<void>>();

  /** `detached`: the caller may go. `release` must be called when the run has ended. */
  register(runId: string, caller: StoppableContext, detached: boolean): RunCancel {
    const { signal, abort } = detached ? alone() : caller;
    this.running.set(runId, abort);
    return { signal, abort, release: () => void this.running.delete(runId) };
  }

  /** Known here from before it is written until `register`, or until the returned function is called. */
  hold(runId: string): () => void {
    this.held.add(runId);
    return () => void this.held.delete(runId);
  }

  /** The run has answered; it is released when its end has been written. `ending` never rejects. */
  releaseAfter(runId: string, ending: Promise<void>): void {
    this.ending.set(runId, ending);
    void ending.then(() => {
      this.ending.delete(runId);
      this.running.delete(runId);
    });
  }

  /** Resolves when the end of a run that has answered here is written; of all runs where none is named. */
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

  /** False when the run does not go on here. */
  cancel(runId: string): boolean {
    const abort = this.running.get(runId);
    abort?.(new Cancelled());
    return abort !== undefined;
  }

  /** Ends what is left at the end of a stop's grace time; keyed runs can go on elsewhere. */
  stopAll(): void {
    for (const abort of this.running.values()) abort(new AppError('shutting_down', 'This gateway is stopping'));
  }
}

function alone(): Pick<StoppableContext, 'signal' | 'abort'> {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}
