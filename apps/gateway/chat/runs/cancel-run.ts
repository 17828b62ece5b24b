// Cancels a stored run, whichever gateway drives it, and waits a moment to be able to say that it is over.
import type { StoredRun } from '#libs/runs/run-store.js';
import { type FollowPorts, followRun } from './follow-run.js';
import { cancelElsewhere } from './listen-for-cancels.js';
import type { RunCancels } from './run-cancels.js';

export interface CancelPorts extends FollowPorts {
  cancels: RunCancels;
}

const patienceMs = 3_000;
/** After the last event of any run: who follows from there waits for its end only. */
const neverReached = 2_147_483_647;

/** The run as it is then; one that is over stays what it was. */
export async function cancelRun(run: StoredRun, ports: CancelPorts): Promise<StoredRun> {
  const { id, owner, principal, state } = run;
  if (state === 'running' && owner !== null && !ports.cancels.cancel(id)) {
    await cancelElsewhere(ports.channels, owner, id);
  }
  if (state === 'interrupted') await ports.runs.cancel(principal, id);
  const signal = AbortSignal.timeout(patienceMs);
  try {
    for await (const _ of followRun({ principal, runId: id, afterN: neverReached, signal }, ports));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return (await ports.runs.get(principal, id)) ?? run;
}
