// Cancels a stored run on whichever gateway runs it, and waits briefly for its end.
import type { StoredRun } from '#libs/runs/run-store.js';
import { channelNames, type ToolControl } from '#libs/schemas/tool-job.js';
import { type FollowPorts, followRun } from '../follow.js';
import { cancelElsewhere } from './listen-for-cancels.js';
import type { ActiveRuns } from './active-runs.js';

export interface CancelPorts extends FollowPorts {
  activeRuns: ActiveRuns;
}

const patienceMs = 3_000;
/** Greater than any event number, so that following only waits for the end of the run. */
const neverReached = 2_147_483_647;

/** No gateway waits for the calls of an interrupted run, which may still run. */
async function stopCalls(runId: string, { runs, channels }: CancelPorts): Promise<void> {
  const calls = (await runs.rounds(runId)).flatMap((round) => round.calls);
  const callIds = calls.filter(({ state }) => state === 'dispatched').map(({ id }) => id);
  const control: ToolControl = { version: 1, kind: 'cancel', callIds, reason: 'cancelled' };
  if (callIds.length > 0) await channels.publish(channelNames.workers, JSON.stringify(control));
}

/** Returns the current run. A run that has ended does not change. */
export async function cancelRun(run: StoredRun, ports: CancelPorts): Promise<StoredRun> {
  const { id, owner, principal, state } = run;
  const isHere = state === 'running' && ports.activeRuns.cancel(id);
  if (!isHere && (state === 'running' || state === 'interrupted') && (await ports.runs.cancel(principal, id))) {
    await stopCalls(id, ports);
  }
  if (!isHere && state === 'running' && owner !== null) await cancelElsewhere(ports.channels, owner, id);
  const signal = AbortSignal.timeout(patienceMs);
  try {
    for await (const _ of followRun({ principal, runId: id, afterN: neverReached, rewinds: true, signal }, ports));
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return (await ports.runs.get(principal, id)) ?? run;
}
