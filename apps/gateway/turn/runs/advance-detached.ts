// Continues a detached run of a gateway that is gone, without its caller: as soon as none of its calls waits for a decision, and
// for as long as the caller's key is in force. What cannot go on is ended, so that nobody decides about it in vain.
import type { KeyRing } from '#libs/access/key-ring.js';
import type { KeyStore } from '#libs/access/key-store.js';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { DetachedRun, RunStore, StoredRun } from '#libs/runs/run-store.js';
import { keylessPrincipal, type RequestContext, type StoppableContext } from '#libs/schemas/call-context.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import type { ToolRunner } from '../dispatch/tool-runner.js';
import type { StartedTurn } from './started-turn.js';
import { endOf, isPassing } from './run-errors.js';

export interface AdvanceDetachedPorts {
  gatewayId: string;
  runs: Pick<RunStore, 'get' | 'adopt' | 'end'>;
  runner: Pick<ToolRunner, 'hasWorker'>;
  /** Who made a run. Undefined: its key is not in force any more, or it was a token, which cannot be checked again. */
  callerOf: (run: DetachedRun) => Promise<Pick<RequestContext, 'principal' | 'keyId' | 'roles' | 'access'> | undefined>;
  /** Undefined if another gateway was quicker. @throws AppError if the request of the run cannot be served any more */
  advance: (run: StoredRun, context: StoppableContext) => Promise<StartedTurn | undefined>;
  /** The time that it may take from now on. */
  turnMs: number;
  logger: Logger;
}

/** By the API key of the run, if it is still in force; where no keys are needed, everybody is one principal. */
export const ownerOf =
  (keys: Pick<KeyStore, 'inForce'>, ring: Pick<KeyRing, 'required'>): AdvanceDetachedPorts['callerOf'] =>
  async ({ principal, keyId }) => {
    if (keyId === null) return principal === keylessPrincipal && !ring.required ? { principal } : undefined;
    const key = await keys.inForce(keyId);
    return key && { principal: key.owner, keyId: key.id, roles: key.roles, access: key };
  };

/** A run that has ended so many gateways is not given to another one. */
const maxAdoptions = 5;

/**
 * Undefined: it waits for a decision, a worker or its caller; another gateway was quicker; or it cannot go on, and has failed.
 * @throws AppError for what passes
 */
export async function advanceDetached(
  interrupted: DetachedRun,
  ports: AdvanceDetachedPorts,
): Promise<StartedTurn | undefined> {
  // What failed may be tried again by its caller.
  if (interrupted.keyed && interrupted.error !== null && !isPassing(interrupted.error['code'])) return undefined;
  const caller = await ports.callerOf(interrupted);
  const mayGoOn = caller !== undefined && interrupted.adoptions < maxAdoptions;
  if (mayGoOn ? interrupted.waits || !ports.runner.hasWorker() : interrupted.keyed) return undefined;
  const run = await ports.runs.get(interrupted.principal, interrupted.id);
  if (run?.state !== 'interrupted') return undefined;
  if (!mayGoOn) return giveUp(run, cannotGoOn(caller === undefined), ports);
  const stop = new AbortController();
  try {
    return await ports.advance(run, {
      ...caller,
      requestId: run.requestId,
      signal: stop.signal,
      abort: (reason) => stop.abort(reason),
      deadline: new Deadline(steadyNow() + ports.turnMs),
    });
  } catch (error) {
    const { code } = toAppError(error);
    // It is due again.
    if (isPassing(code)) throw error;
    return giveUp(run, error, ports);
  }
}

/** Nothing is changed if it was continued, and has ended, before this. */
async function giveUp(run: StoredRun, error: unknown, ports: AdvanceDetachedPorts): Promise<undefined> {
  const { runs, gatewayId, logger } = ports;
  logger.warn({ runId: run.id, error }, 'a detached run could not continue');
  const end = endOf(error, new AbortController().signal, { ...run, underWay: false });
  if (await runs.adopt(run.id, gatewayId)) await runs.end(run.id, gatewayId, end);
}

function cannotGoOn(withoutKey: boolean): AppError {
  const why = withoutKey
    ? 'it has no valid API key, which it needs to continue without its caller'
    : 'so did every gateway that continued it';
  return new AppError('shutting_down', `The gateway of this run stopped, and ${why}`);
}
