// Converts a failure to the stored end of a run, and the stored end back to the error for later callers. Pure.
import type { NewRun, RunEnd, StoredRun } from '#libs/runs/run-store.js';
import { AppError, errorTable, type ErrorCode, toAppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { noUsage } from '#libs/schemas/usage.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import { wasCancelled } from './active-runs.js';

/** A failure of the run's surroundings, not of the run: the same request may succeed later. */
export const isPassing = (code: unknown): boolean =>
  code === 'shutting_down' || code === 'store_unavailable' || code === 'no_worker';

interface EndedRun extends Pick<NewRun, 'idempotencyKey' | 'detached' | 'replayOf'> {
  /** A round is stored: beginning the run again would repeat its calls. */
  underWay: boolean;
}

/**
 * The end of a run that did not finish. A run that was stopped from outside, but not cancelled, becomes `interrupted` if it has a
 * key, with which a retry continues it, or if it is detached; so does a replay, which nobody continues. So does a run whose failure is not the fault of the request, and,
 * without an error, one whose own call waits for a person.
 */
export function endOf(thrown: unknown, signal: AbortSignal, run: EndedRun): RunEnd {
  const { idempotencyKey, detached, replayOf, underWay } = run;
  if (thrown instanceof ApprovalNeeded && !signal.aborted) return { state: 'interrupted', usage: noUsage };
  const { code, message, http } = toAppError(thrown);
  const keyed = idempotencyKey !== undefined;
  const stopped = (keyed || detached || replayOf !== undefined) && !wasCancelled(signal) ? 'interrupted' : 'cancelled';
  const goesOn = (keyed && http >= 429) || (detached && underWay && isPassing(code));
  const state = signal.aborted ? stopped : goesOn ? 'interrupted' : 'failed';
  return { state, usage: noUsage, error: { code, message, type: errorTable[code].type } };
}

/** Whether some gateway will continue the run. A keyed run may have to wait for its caller's retry instead. */
export const advancesDetached = ({ state, detached, idempotencyKey }: StoredRun): boolean =>
  state === 'interrupted' && detached && idempotencyKey === undefined;

export function storedError(run: StoredRun): AppError {
  const stored = isJsonObject(run.error) ? run.error : {};
  const code =
    typeof stored['code'] === 'string' && stored['code'] in errorTable
      ? (stored['code'] as ErrorCode)
      : 'internal_error';
  return new AppError(code, typeof stored['message'] === 'string' ? stored['message'] : 'The run failed');
}
