// Whether the own call of an interrupted run waits for a person. Only reads, so that a caller may ask as often as it likes.
import type { StoredRun } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { Wait } from '#libs/waits/wait.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { RoundPorts } from '../round.js';
import type { RestorePorts } from './restore-rounds.js';

type Ports = Pick<RestorePorts, 'runs'> & Pick<RoundPorts, 'waitStore' | 'questions'>;

/** @throws ApprovalNeeded if the call waits for a decision, or for an answer for which this caller does not stay */
export async function throwIfWaits(run: StoredRun, caller: RequestContext, ports: Ports): Promise<void> {
  const [call] = (await ports.runs.rounds(run.id)).at(-1)?.calls ?? [];
  let asked: Wait[] = [];
  if (call?.state === 'parked') asked = await ports.waitStore.byIds([call.waitId!]);
  else if (call?.state === 'dispatched' && caller.questions !== 'hold') {
    asked = await ports.questions.open([call.id], { ...caller, runId: run.id });
  }
  if (asked[0]?.state === 'waiting') throw new ApprovalNeeded(asked[0]);
}
