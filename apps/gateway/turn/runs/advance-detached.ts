// Continues a detached run whose gateway is gone, without its caller: as soon as none of its calls waits for a decision, and only
// while the caller's key is in force. A run that cannot continue is ended, so that nobody decides about its calls in vain.
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
  /** Who made a run. Undefined if the key of the run is not in force any more, or was a token, which cannot be checked again. */
  callerOf: (run: DetachedRun) => Promise<Pick<RequestContext, 'principal' | 'keyId' | 'roles' | 'access'> | undefined>;
  /** Undefined if another gateway took the run first. @throws AppError if the request of the run cannot be served any more */
  advance: (run: StoredRun, context: StoppableContext) => Promise<StartedTurn | undefined>;
  /** How long the continued turn may take. */
  turnMs: number;
  logger: Logger;
}

/** The caller by the API key of the run, if that key is still in force; without keys, everybody is one principal. */
export const ownerOf =
  (keys: Pick<KeyStore, 'inForce'>, ring: Pick<KeyRing, 'required'>): AdvanceDetachedPorts['callerOf'] =>
  async ({ principal, keyId }) => {
    if (keyId === null) return principal === keylessPrincipal && !ring.required ? { principal } : undefined;
    const key = await keys.inForce(keyId);
    return key && { principal: key.owner, keyId: key.id, roles: key.roles, access: key };
  };

/** A run that so many gateways did not survive is not given to another gateway. */
const maxAdoptions = 5;

/**
 * Undefined if the run waits for a decision, a worker or its caller, if another gateway took it first, or if the run cannot
 * continue and was ended.
 * @throws AppError for a failure that passes: the run stays interrupted
 */
export async function advanceDetached(
  interrupted: DetachedRun,
  ports: AdvanceDetachedPorts,
): Promise<StartedTurn | undefined> {
  // The caller may retry a keyed run that failed.
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
    if (isPassing(code)) throw error;
    return giveUp(run, error, ports);
  }
}

/** Ends the run, unless another gateway has continued or ended it. */
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
