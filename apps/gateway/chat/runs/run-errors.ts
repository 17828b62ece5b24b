// Failures as runs end with them, and back as whoever asks again is told. Pure.
import type { RunEnd, StoredRun } from '#libs/runs/run-store.js';
import { AppError, errorTable, type ErrorCode, toAppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { noUsage } from '#libs/schemas/usage.js';
import { whenCancelled } from './run-cancels.js';

interface Keyed {
  idempotencyKey?: string;
  /** Detached, and it waits for an approval: the decision continues it. */
  goesOnAlone?: boolean;
}

/** How a run ends that is stopped from outside: interrupted where it can be continued, unless somebody cancelled it. */
export function stoppedAs(signal: AbortSignal, { idempotencyKey, goesOnAlone }: Keyed): 'cancelled' | 'interrupted' {
  const canGoOn = idempotencyKey !== undefined || goesOnAlone === true;
  return canGoOn && !whenCancelled(signal) ? 'interrupted' : 'cancelled';
}

/** A retry with the same key may mend what is not the request's own fault. */
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
