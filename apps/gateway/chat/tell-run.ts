// The events of a stored run for someone who asks for it by its id: what is stored, what is still to come, and how it
// ended where it has no last event.
import type { NumberedEvent, StoredRun } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { answerEvents, type TurnAnswer } from './fold-turn.js';
import { type FollowPorts, followRun } from './follow-run.js';
import { storedError } from './run-errors.js';
import type { TakeTurnEvents } from './run-record.js';
import { storedEvents } from './stored-events.js';

export interface Telling {
  /** The last number that the reader has. */
  afterN: number;
  signal: AbortSignal;
}

/** Of a run that is done and whose own events were not kept, or are gone. */
export async function allEvents(run: StoredRun, { runs }: Pick<FollowPorts, 'runs'>): Promise<NumberedEvent[]> {
  const rounds = await runs.rounds(run.id);
  const events = rounds.length > 0 ? storedEvents(run, rounds) : answerEvents(run.answer as unknown as TurnAnswer);
  return [...events].map((event, index) => ({ n: index + 1, event }));
}

/** @throws AppError what the run failed with, shutting_down for one that was interrupted, cancelled */
export async function tellRun(
  run: StoredRun,
  { afterN, signal }: Telling,
  ports: FollowPorts,
  take: TakeTurnEvents,
): Promise<void> {
  let told = 0;
  for await (const numbered of followRun({ principal: run.principal, runId: run.id, afterN, signal }, ports)) {
    if (numbered.event.type === 'error') throw storedError({ ...run, error: numbered.event.error });
    told++;
    await take([numbered]);
    if (numbered.event.type === 'done') return;
  }
  const now = (await ports.runs.get(run.principal, run.id)) ?? run;
  if (now.state === 'done' && now.answer !== null) {
    // Its own events are gone: the whole answer, for a reader that has none of it.
    if (told > 0 || afterN > 0) return;
    await take(await allEvents(now, ports));
    return;
  }
  if (now.state === 'interrupted') {
    throw new AppError(
      'shutting_down',
      'The run was interrupted; send its request again with the same Idempotency-Key',
    );
  }
  throw now.state === 'failed' ? storedError(now) : new AppError('cancelled', 'The run was cancelled');
}
