// Converts failures to the stored end of a run, and back to the error for later callers. Pure.
import type { NewRun, RunEnd, StoredRun } from '#libs/runs/run-store.js';
import { AppError, errorTable, type ErrorCode, toAppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { noUsage } from '#libs/schemas/usage.js';
import { wasCancelled } from './active-runs.js';

/** Nothing is wrong with the run, only around it. */
export const isPassing = (code: unknown): boolean =>
  code === 'shutting_down' || code === 'store_unavailable' || code === 'no_worker';

interface EndedRun extends Pick<NewRun, 'idempotencyKey' | 'detached'> {
  /** A round of it is stored: to begin again would repeat its calls. */
  underWay: boolean;
}

/**
 * The end of a run that did not finish. One that was stopped from outside can be continued by a retry with its key, or goes on
 * by itself, unless somebody cancelled it. So it is with a failure that is not the request's fault.
 */
export function endOf(thrown: unknown, signal: AbortSignal, { idempotencyKey, detached, underWay }: EndedRun): RunEnd {
  const { code, message, http } = toAppError(thrown);
  const keyed = idempotencyKey !== undefined;
  const stopped = (keyed || detached) && !wasCancelled(signal) ? 'interrupted' : 'cancelled';
  const goesOn = (keyed && http >= 429) || (detached && underWay && isPassing(code));
  const state = signal.aborted ? stopped : goesOn ? 'interrupted' : 'failed';
  return { state, usage: noUsage, error: { code, message, type: errorTable[code].type } };
}

/** An interrupted run that somebody continues without its caller. A keyed one may have to wait for the caller's retry. */
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
