// The runs that go on in this gateway, and what stops each: its caller going away, or a request to cancel it.
import { setMaxListeners } from 'node:events';
import { AppError } from '#libs/schemas/errors.js';

export interface RunCancel {
  signal: AbortSignal;
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
  private readonly running = new Map<string, AbortController>();
  private readonly held = new Set<string>();

  /** `detached`: the caller may go. `release` must be called when the run has ended. */
  register(runId: string, callerGone: AbortSignal, detached: boolean): RunCancel {
    const controller = new AbortController();
    // Each call of the turn listens; a turn may have many.
    setMaxListeners(0, controller.signal);
    const leave = () => controller.abort(callerGone.reason);
    if (!detached) {
      if (callerGone.aborted) leave();
      else callerGone.addEventListener('abort', leave, { once: true });
    }
    this.running.set(runId, controller);
    return {
      signal: controller.signal,
      release: () => {
        callerGone.removeEventListener('abort', leave);
        this.running.delete(runId);
      },
    };
  }

  /** Known here from before it is written until `register`, or until the returned function is called. */
  hold(runId: string): () => void {
    this.held.add(runId);
    return () => void this.held.delete(runId);
  }

  isUnderWay(runId: string): boolean {
    return this.running.has(runId) || this.held.has(runId);
  }

  /** False when the run does not go on here. */
  cancel(runId: string): boolean {
    const controller = this.running.get(runId);
    controller?.abort(new Cancelled());
    return controller !== undefined;
  }

  /** Ends what is left at the end of a stop's grace time; keyed runs can go on elsewhere. */
  stopAll(): void {
    for (const controller of this.running.values())
      controller.abort(new AppError('shutting_down', 'This gateway is stopping'));
  }
}
