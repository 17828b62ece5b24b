// Makes events of a stored run: from its event log while the log is kept, afterwards from its rounds, calls and answer. Nothing
// else makes events of stored data.
import type { EventLog, NumberedEvent, StoredCall, StoredRound, StoredRun } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { TurnAnswer } from './fold-turn.js';
import { shownServer } from './offer/tool-search.js';
import { roundSeparator, toShownResult } from './turn-state.js';
import { askedBy } from './wait.js';
import { type FollowOptions, type FollowPorts, followRun, type RunReader } from './follow.js';
import { unknownOutcome } from './runs/restore-history.js';
import { storedError } from './runs/run-errors.js';
import type { TakeTurnEvents } from './record.js';

export type StoredRunReplayOptions = RunReader & Pick<FollowOptions, 'signal'>;

/** @throws AppError the run's own failure; shutting_down if it was interrupted; cancelled */
export async function replayStoredRun(
  run: StoredRun,
  options: StoredRunReplayOptions,
  ports: FollowPorts,
  take: TakeTurnEvents,
): Promise<void> {
  let seen = 0;
  for await (const numbered of followRun({ principal: run.principal, runId: run.id, ...options }, ports)) {
    if (numbered.event.type === 'error') throw storedError({ ...run, error: numbered.event.error });
    seen++;
    await take([numbered]);
    if (numbered.event.type === 'done') return;
  }
  const now = (await ports.runs.get(run.principal, run.id)) ?? run;
  if (now.state === 'done' && now.answer !== null) {
    // The run has no event log any more. The events get new numbers, which only a reader without events can use.
    if (seen === 0 && options.afterN === 0) await take(await replayedEvents(now, ports));
    return;
  }
  if (now.state === 'interrupted') {
    const again =
      run.replayOf === undefined ? 'send its request again with the same Idempotency-Key' : 'start the replay again';
    throw new AppError('shutting_down', `The run was interrupted; ${again}`);
  }
  throw now.state === 'failed' ? storedError(now) : new AppError('cancelled', 'The run was cancelled');
}

/** All events of a completed run, from its rounds, calls and answer. */
export async function replayedEvents(run: StoredRun, { runs }: Pick<FollowPorts, 'runs'>): Promise<NumberedEvent[]> {
  const events = [...storedEvents(run, await runs.rounds(run.id))];
  return events.map((event, index) => ({ n: index + 1, event }));
}

/** All events of a run in the log, without withdrawals. */
export async function readLog(runId: string, log: EventLog): Promise<NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  for (;;) {
    const more = await log.read(runId, events.at(-1)?.n ?? 0, 64);
    if (more.length === 0) return events.filter(({ event }) => event.type !== 'rewind');
    events.push(...more);
  }
}

/** Events of a completed run. A fold over the events gives the stored answer. */
export function* storedEvents(run: StoredRun, rounds: readonly StoredRound[]): Generator<TurnEvent> {
  const answer = run.answer as unknown as TurnAnswer;
  const { sessionId } = answer;
  yield { type: 'start', model: answer.model, runId: run.id, ...(sessionId === undefined ? {} : { sessionId }) };
  let separator = '';
  const numbering = { index: 0, clientIndex: 0 };
  for (const round of [...rounds, lastRound(answer, rounds)]) {
    if (round.reasoning !== '') yield { type: 'reasoning', text: round.reasoning };
    if (round.content !== '') {
      yield { type: 'content', text: separator + round.content };
      separator = roundSeparator;
    }
    for (const call of round.calls) yield callEvent(call, round, numbering);
    const requested = new Set(round.calls.map(askedBy));
    const isAsked = (id: string | undefined) => id !== undefined && requested.has(id);
    for (const call of round.calls) {
      // If the caller was asked for an approval or a sign-in, the result of the call belongs to a later turn.
      if (call.kind === 'client' || isAsked(call.approvalId) || isAsked(call.waitId)) continue;
      yield { type: 'tool_result', callId: call.id, result: toShownResult(call.outcome ?? unknownOutcome) };
    }
  }
  for (const [choice, { reasoning, text }] of answer.choices.entries()) {
    if (choice === 0) continue;
    if (reasoning !== '') yield { type: 'reasoning', text: reasoning, choice };
    if (text !== '') yield { type: 'content', text, choice };
  }
  if (numbering.clientIndex === 0) yield* clientCalls(answer, numbering);
  yield doneEvent(answer);
}

interface ReplayedRound {
  content: string;
  reasoning: string;
  toolCalls: StoredRound['toolCalls'];
  calls: readonly StoredCall[];
}

/** The part of the answer that no round has: versions before 0.2 stored the last round only in the answer. */
export function lastRound(answer: TurnAnswer, rounds: readonly StoredRound[]): ReplayedRound {
  const { text, reasoning } = answer.choices[0]!;
  const before = rounds.flatMap(({ content }) => (content === '' ? [] : content)).join(roundSeparator);
  const rest = text.slice(before.length);
  return {
    content: before !== '' && rest.startsWith(roundSeparator) ? rest.slice(roundSeparator.length) : rest,
    reasoning: reasoning.slice(rounds.reduce((length, round) => length + round.reasoning.length, 0)),
    toolCalls: [],
    calls: [],
  };
}

function callEvent(
  call: StoredCall,
  round: ReplayedRound,
  numbering: { index: number; clientIndex: number },
): Extract<TurnEvent, { type: 'tool_call' }> {
  const asked = round.toolCalls.find(({ id }) => id === call.id)?.function.arguments;
  const server = call.kind === 'client' ? '' : shownServer(call);
  return {
    type: 'tool_call',
    index: numbering.index++,
    clientIndex: call.kind === 'client' ? numbering.clientIndex++ : null,
    id: call.id,
    name: call.name,
    ...(server === '' ? {} : { server }),
    arguments: asked ?? JSON.stringify(call.arguments),
  };
}

/** Calls of the caller, from the answer: turns without server tools have no calls in the journal. */
function* clientCalls(answer: TurnAnswer, numbering: { index: number; clientIndex: number }): Generator<TurnEvent> {
  for (const { id, type: _, function: called, form, ...extras } of answer.toolCalls) {
    yield {
      type: 'tool_call',
      index: numbering.index++,
      clientIndex: numbering.clientIndex++,
      id,
      name: called.name,
      arguments: called.arguments,
      ...(form === undefined ? {} : { form }),
      ...(Object.keys(extras).length === 0 ? {} : { extras }),
    };
  }
}

function doneEvent({ choices, extras, usage, toolExecution, warnings }: TurnAnswer): TurnEvent {
  const first = choices[0]!;
  return {
    type: 'done',
    finishReason: first.finishReason,
    usage,
    extras: { chunk: extras, choice: first.choiceExtras, delta: first.messageExtras },
    ...(choices.length > 1 ? { finishReasons: choices.map((choice) => choice.finishReason) } : {}),
    ...(toolExecution === undefined ? {} : { toolExecution }),
    ...(warnings === undefined ? {} : { warnings }),
  };
}
