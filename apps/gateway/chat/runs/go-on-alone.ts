// Continues a detached run of a gateway that is gone, without its caller: as soon as none of its calls waits for a decision, and
// for as long as the caller's key is in force. What cannot go on is ended, so that nobody decides about it in vain.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { LoneRun, RunStore, StoredRun } from '#libs/runs/run-store.js';
import type { RequestContext, StoppableContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ToolRunner } from '../../tools/calls/tool-runner.js';
import type { StartedTurn } from '../chat-service.js';
import { endOf } from './run-errors.js';

export interface GoOnAlonePorts {
  gatewayId: string;
  runs: Pick<RunStore, 'get' | 'adopt' | 'end'>;
  runner: Pick<ToolRunner, 'hasWorker'>;
  /** Who made a run. Undefined: its key is not in force any more, or it was a token, which cannot be checked again. */
  callerOf: (run: LoneRun) => Promise<Pick<RequestContext, 'principal' | 'keyId' | 'roles' | 'access'> | undefined>;
  /** Undefined if another gateway was quicker. @throws AppError if the request of the run cannot be served any more */
  resume: (run: StoredRun, context: StoppableContext) => Promise<StartedTurn | undefined>;
  /** The time that it may take from now on. */
  turnMs: number;
  logger: Logger;
}

/** A run that has ended so many gateways is not given to another one. */
const maxAdoptions = 5;

/**
 * Undefined: it waits for a decision, a worker or its caller; another gateway was quicker; or it cannot go on, and has failed.
 * @throws AppError store_unavailable
 */
export async function goOnAlone(lone: LoneRun, ports: GoOnAlonePorts): Promise<StartedTurn | undefined> {
  // What failed may be tried again by its caller.
  if (lone.keyed && lone.error !== null && lone.error['code'] !== 'shutting_down') return undefined;
  const caller = await ports.callerOf(lone);
  const mayGoOn = caller !== undefined && lone.adoptions < maxAdoptions;
  if (mayGoOn ? lone.waits || !ports.runner.hasWorker() : lone.keyed) return undefined;
  const run = await ports.runs.get(lone.principal, lone.id);
  if (run?.state !== 'interrupted') return undefined;
  const stop = new AbortController();
  try {
    if (!mayGoOn) throw cannotGoOn(caller === undefined);
    return await ports.resume(run, {
      ...caller,
      requestId: run.requestId,
      signal: stop.signal,
      abort: (reason) => stop.abort(reason),
      deadline: steadyNow() + ports.turnMs,
    });
  } catch (error) {
    if (error instanceof AppError && error.code === 'store_unavailable') throw error;
    ports.logger.warn({ runId: run.id, error }, 'a detached run could not go on');
    // Nothing is changed if it was continued, and has ended, before this.
    if (await ports.runs.adopt(run.id, ports.gatewayId)) {
      await ports.runs.end(run.id, ports.gatewayId, endOf(error, stop.signal, run));
    }
    return undefined;
  }
}

function cannotGoOn(withoutKey: boolean): AppError {
  const why = withoutKey
    ? 'it has no API key that is still in force, which it needs to go on without its caller'
    : 'so did every gateway that continued it';
  return new AppError('shutting_down', `The gateway of this run stopped, and ${why}`);
}
