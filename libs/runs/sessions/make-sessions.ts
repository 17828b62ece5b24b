// Sessions are created in the statement that journals their calls, so that no worker waits for a separate commit. The
// worker creates the others: sessions of stateful servers, which may take the directory of a spare instance.
import type { PlannedCall } from '../run-store.js';
import type { SessionStore } from './session-store.js';

/** Its writes share statements with those of the calls. */
export type SessionMaker = Pick<SessionStore, 'ensure'>;

/**
 * Call it in the same turn of the event loop that submits the calls. The returned promises never reject: a worker makes what
 * could not be made here.
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
