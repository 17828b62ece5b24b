// Creates sessions in the statement that journals their calls, so that no worker waits for a separate commit. Sessions of stateful
// servers are created by the worker, which may use the directory of a standby instance.
import type { PlannedCall } from '../run-store.js';
import type { SessionStore } from './session-store.js';

/** The session store whose writes share statements with those of the calls. */
export type SessionMaker = Pick<SessionStore, 'ensure'>;

/**
 * Call it in the tick of the event loop that submits the calls. The returned promises never reject: a worker makes the sessions
 * that could not be made here.
 */
export function makeSessions(calls: readonly PlannedCall[], sessions: SessionMaker | undefined): Promise<unknown>[] {
  const making: Promise<unknown>[] = [];
  if (sessions === undefined) return making;
  for (const { principal, sessionId, job, outcome } of calls) {
    if (outcome !== undefined || job === undefined || job.stateful === true) continue;
    making.push(sessions.ensure(principal, sessionId).catch(() => undefined));
  }
  return making;
}
