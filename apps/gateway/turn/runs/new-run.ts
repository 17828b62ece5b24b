// Makes the store's row of a turn.
import { createHash } from 'node:crypto';
import type { NewRun, StoredRun } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { mintRunId, mintSessionId } from '#libs/schemas/identifiers.js';
import { storedRequest, type TurnRequest } from '../turn-request.js';

/** `owner`: the gateway that runs the turn. */
export function newRun(
  request: TurnRequest,
  { principal, keyId, requestId }: RequestContext,
  idempotencyKey: string | undefined,
  owner: string,
): NewRun {
  return {
    id: mintRunId(),
    principal,
    requestId,
    requestHash: idempotencyKey === undefined ? '' : (request.sentHash ?? hashRequest(request)),
    sessionId: request.sessionId ?? mintSessionId(),
    dialect: request.dialect,
    detached: request.onDisconnect === 'detach',
    request: storedRequest(request),
    owner,
    keyId,
    idempotencyKey,
  };
}

export const continuedRun = (run: NewRun, from: StoredRun): NewRun => ({
  ...run,
  id: from.id,
  sessionId: from.sessionId ?? run.sessionId!,
});

export function hashRequest(request: TurnRequest): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('hex');
}
