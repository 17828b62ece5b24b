// Converts failures to the stored end of a run, and back to the error for later callers. Pure.
import type { RunEnd, StoredRun } from '#libs/runs/run-store.js';
import { AppError, errorTable, type ErrorCode, toAppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { noUsage } from '#libs/schemas/usage.js';
import { whenCancelled } from './run-cancels.js';

interface Keyed {
  idempotencyKey?: string;
  /** A detached run that waits for an approval: the decision continues it. */
  goesOnAlone?: boolean;
}

/** The end of a run that is stopped from outside: interrupted if it can be continued, unless somebody cancelled it. */
export function stoppedAs(signal: AbortSignal, { idempotencyKey, goesOnAlone }: Keyed): 'cancelled' | 'interrupted' {
  const canGoOn = idempotencyKey !== undefined || goesOnAlone === true;
  return canGoOn && !whenCancelled(signal) ? 'interrupted' : 'cancelled';
}

/** A failure that is not the request's fault leaves the run open for a retry with the same key. */
export function endOf(thrown: unknown, signal: AbortSignal, keyed: Keyed): RunEnd {
  const { code, message, http } = toAppError(thrown);
  const mendable = keyed.idempotencyKey !== undefined && http >= 429;
  const state = signal.aborted ? stoppedAs(signal, keyed) : mendable ? 'interrupted' : 'failed';
  return { state, usage: noUsage, error: { code, message, type: errorTable[code].type } };
}

export function storedError(run: StoredRun): AppError {
  const stored = isJsonObject(run.error) ? run.error : {};
  const code =
    typeof stored['code'] === 'string' && stored['code'] in errorTable
      ? (stored['code'] as ErrorCode)
      : 'internal_error';
  return new AppError(code, typeof stored['message'] === 'string' ? stored['message'] : 'The run failed');
}
