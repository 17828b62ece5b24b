// A stored run that is done told again as events, round by round: from its rounds, calls and answer, which last longer
// than the events themselves.
import type { StoredCall, StoredRound, StoredRun } from '#libs/runs/run-store.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { TurnAnswer } from './fold-turn.js';
import { lastRound } from './recall-turn.js';
import { unknownOutcome } from './restore-history.js';
import { roundSeparator, toShownResult } from './turn-state.js';

/** Of a run whose answer is there. */
export function* storedEvents(run: StoredRun, rounds: readonly StoredRound[]): Generator<TurnEvent> {
  const answer = run.answer as unknown as TurnAnswer;
  yield { type: 'start', model: answer.model, runId: run.id };
  let separator = '';
  const numbering = { index: 0, clientIndex: 0 };
  for (const round of rounds) {
    if (round.reasoning !== '') yield { type: 'reasoning', text: round.reasoning };
    if (round.content !== '') {
      yield { type: 'content', text: separator + round.content };
      separator = roundSeparator;
    }
    for (const call of round.calls) yield callEvent(call, round, numbering);
    for (const call of round.calls) {
      if (call.kind === 'client') continue;
      yield { type: 'tool_result', callId: call.id, result: toShownResult(call.outcome ?? unknownOutcome) };
    }
  }
  const { text, reasoning } = lastRound(answer, rounds);
  if (reasoning !== '') yield { type: 'reasoning', text: reasoning };
  if (text !== '') yield { type: 'content', text: separator + text };
  if (numbering.clientIndex === 0) {
    // Calls of a turn that ran nothing here are kept with the answer only.
    for (const { id, function: called } of answer.toolCalls) {
      const numbers = { index: numbering.index++, clientIndex: numbering.clientIndex++ };
      yield { type: 'tool_call', ...numbers, id, name: called.name, arguments: called.arguments };
    }
  }
  const { usage, toolExecution } = answer;
  const { finishReason } = answer.choices[0]!;
  yield { type: 'done', finishReason, usage, ...(toolExecution === undefined ? {} : { toolExecution }) };
}

function callEvent(
  call: StoredCall,
  round: StoredRound,
  numbering: { index: number; clientIndex: number },
): Extract<TurnEvent, { type: 'tool_call' }> {
  const asked = round.toolCalls.find(({ id }) => id === call.id)?.function.arguments;
  return {
    type: 'tool_call',
    index: numbering.index++,
    clientIndex: call.kind === 'client' ? numbering.clientIndex++ : null,
    id: call.id,
    name: call.name,
    ...(call.kind === 'client' || call.server === '' ? {} : { server: call.server }),
    arguments: asked ?? JSON.stringify(call.arguments),
  };
}
