// Cancels a run, and says what became of it.
import type { ListedRun, Run } from '@signalbox/client';
import { api } from '../../api/api.js';
import { isGoing } from './run-words.js';

/** `stopping`: another gateway runs it, and has not said yet that it stopped. */
export type Cancelled = 'cancelled' | 'ended' | 'stopping';

const lookMs = 300;
const mostLooks = 10;

export async function cancelRun({ id, state: before }: Pick<ListedRun, 'id' | 'state'>): Promise<Cancelled> {
  let run: Pick<Run, 'state' | 'error'> = await api.runs.cancel(id);
  // A call that waits for a person is let go a moment after its run.
  for (let looks = 0; looks < mostLooks && isStopping(run); looks += 1) {
    await new Promise((resolve) => setTimeout(resolve, lookMs));
    run = await api.runs.get(id);
  }
  if (before !== 'cancelled' && (run.state === 'cancelled' || run.error?.code === 'cancelled')) return 'cancelled';
  return run.state === 'running' ? 'stopping' : 'ended';
}

const isStopping = ({ state, error }: Pick<Run, 'state' | 'error'>): boolean =>
  state === 'running' || (isGoing(state) && error?.code === 'cancelled');
