// Ends a planned call that its caller was refused while the journal could not be told: what is left there as planned is put
// into the queue by whoever finds it, and would run after its caller has asked again.
import { setTimeout as delay } from 'node:timers/promises';
import type { AuditContext, Journal } from '#libs/runs/run-store.js';

const pauseMs = { first: 100, most: 1_000 };
/** A statement that was given up may still be carried out: so long a call is looked for that is not there. */
const lateMs = 5_000;
const patienceMs = 60_000;

/** Resolves when the call has ended, or has begun, or the journal stayed away. Never rejects. */
export async function cancelLater(journal: Journal, callId: string, audit: AuditContext): Promise<void> {
  let until = performance.now() + patienceMs;
  let answered = false;
  for (let pause = pauseMs.first; performance.now() < until; pause = Math.min(pause * 2, pauseMs.most)) {
    try {
      if ((await journal.cancelPlanned([callId], audit)).length > 0) return;
      if (!answered) until = Math.min(until, performance.now() + lateMs);
      answered = true;
    } catch {
      // Asked again.
    }
    await delay(pause, undefined, { ref: false });
  }
}
