// Whether the own call of an interrupted run waits for a person. Only reads, so that a caller may ask as often as it likes.
import type { StoredRun } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { Wait } from '#libs/waits/wait.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { RoundPorts } from '../round.js';
import type { RestorePorts } from './restore-rounds.js';

export type OwnCallPorts = Pick<RestorePorts, 'runs'> & Pick<RoundPorts, 'waitStore' | 'questions'>;

/** @throws ApprovalNeeded if the call waits for a decision, or for an answer for which this caller does not stay */
export async function throwIfWaits(run: StoredRun, caller: RequestContext, ports: OwnCallPorts): Promise<void> {
  const [asked] = await openWaits(run, caller, ports);
  if (asked !== undefined) throw new ApprovalNeeded(asked);
}

/** What people have to decide, or to answer unless this caller stays for its answers; oldest first. */
export async function openWaits(
  { id: runId }: Pick<StoredRun, 'id'>,
  caller: RequestContext,
  ports: OwnCallPorts,
): Promise<Wait[]> {
  const [call] = (await ports.runs.rounds(runId)).at(-1)?.calls ?? [];
  let asked: Wait[] = [];
  if (call?.state === 'parked') asked = await ports.waitStore.byIds([call.waitId!]);
  else if (call?.state === 'dispatched' && caller.questions !== 'hold') {
    asked = await ports.questions.open([call.id], { ...caller, runId });
  }
  return asked.filter(({ state }) => state === 'waiting');
}
