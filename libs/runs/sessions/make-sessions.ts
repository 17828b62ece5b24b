// Sessions are created in the statement that journals their calls, so that no worker waits for a separate commit. The
// worker creates the others: sessions of stateful servers, which may take the directory of a spare instance.
import type { PlannedCall } from '../run-store.js';
import type { SessionStore } from './session-store.js';

/** Its writes share statements with those of the calls. */
export type SessionMaker = Pick<SessionStore, 'ensure'>;

/** Call it in the same turn of the event loop that submits the calls. Never rejects. */
export async function makeSessions(calls: readonly PlannedCall[], sessions: SessionMaker | undefined): Promise<void> {
  if (sessions === undefined) return;
  const dispatched = calls.filter(
    ({ job, outcome }) => outcome === undefined && job !== undefined && job.stateful !== true,
  );
  await Promise.allSettled(dispatched.map(({ principal, sessionId }) => sessions.ensure(principal, sessionId)));
}
