// Continues a turn after its last complete round: rebuilds its state from the store, without running its tools again.
import type { EventLog, NumberedEvent, RunStore, StoredCall, StoredRound, StoredRun } from '#libs/runs/run-store.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { approvalIdOf, requestEvents } from '../ask-approval.js';
import { type DoneEvent, givenBack, type Turn, type TurnRecord } from '../chat-turn.js';
import { toShownResult, toToolMessage } from '../turn-state.js';
import { toAssistant, unknownOutcome } from './restore-history.js';
import { readLog } from './retell-run.js';
import { askInRound } from './answer-approvals.js';
import { hasEnded, isServer, type SettlePorts, settleRound } from './settle-round.js';

/** More than a gateway can have shown before it stored them: no number is used again, whatever readers have. */
const unstoredEvents = 100_000;

export interface ResumedTurn {
  /** What the caller has seen up to the last stored round, from the log; then, what is withdrawn of the rest. */
  told: NumberedEvent[];
  lastN: number;
  /** Some of its calls may not have ended. */
  last?: StoredRound;
}

/** Afterwards the turn's state includes all rounds except the last one. */
export async function resumeTurn(
  turn: Turn,
  run: StoredRun,
  { runs, log }: { runs: RunStore; log: EventLog },
): Promise<ResumedTurn> {
  const rounds = await runs.rounds(run.id);
  const last = rounds.pop();
  const told = last === undefined ? [] : belongingTo(last, await readLog(run.id, log));
  const to = told.at(-1)?.n ?? 0;
  const lastN = (await log.truncate(run.id, to)) + unstoredEvents;
  told.push({ n: lastN, event: { type: 'rewind', to } });
  await log.append(run.id, told.slice(-1));
  for (const round of rounds) replay(turn, round);
  turn.announce = !told.some(({ event }) => event.type === 'start');
  return { told, lastN, ...(last === undefined ? {} : { last }) };
}

/**
 * Finishes the last round; calls that never began run now. Returns the end of the turn if the round gave calls to the
 * caller.
 */
export async function resumeRound(
  turn: Turn,
  { told, last }: ResumedTurn & { last: StoredRound },
  ports: SettlePorts,
  record: TurnRecord,
): Promise<DoneEvent | undefined> {
  const shown = new Set(told.map(({ event }) => (event.type === 'tool_result' ? event.callId : undefined)));
  const { round: settled, asked } = await settleRound(last, turn, ports, (events) => {
    for (const event of events) if (event.type === 'tool_result') shown.add(event.callId);
    return record.tell(events);
  });
  const missed: TurnEvent[] = settled.calls
    .filter((call) => isServer(call) && hasEnded(call) && !shown.has(call.id))
    .map(({ id, outcome = unknownOutcome }) => ({ type: 'tool_result', callId: id, result: toShownResult(outcome) }));
  replay(turn, settled);
  const toldCalls = new Set(told.map(({ event }) => (event.type === 'tool_call' ? event.id : undefined)));
  const { numbering } = turn.state;
  const { added } = await askInRound(asked, settled, turn, ports);
  numbering.clientCalls = last.calls.filter((call) => !isServer(call) && toldCalls.has(call.id)).length;
  missed.push(
    ...requestEvents(
      [...requestsOf(last), ...added].filter(({ id }) => !toldCalls.has(id)),
      numbering,
    ),
  );
  if (missed.length > 0) await record.tell(missed);
  return asked.length > 0 || last.calls.some((call) => !isServer(call)) ? givenBack(turn) : undefined;
}

/** Events up to the round's message, and later events of its calls; the rest belongs to a round that was never stored. */
function belongingTo(round: StoredRound, events: NumberedEvent[]): NumberedEvent[] {
  const requests = new Set(requestsOf(round).map(({ id }) => id));
  const ofCalls = (event: TurnEvent) =>
    event.type === 'tool_progress' ||
    event.type === 'tool_result' ||
    event.type === 'approval_required' ||
    (event.type === 'tool_call' && event.id !== undefined && requests.has(event.id));
  const end = events.findIndex(({ n, event }) => n > round.lastEvent && !ofCalls(event));
  return end === -1 ? events : events.slice(0, end);
}

const requestsOf = ({ calls }: StoredRound): StoredCall[] => calls.filter((call) => approvalIdOf(call) !== undefined);

function replay(turn: Turn, round: StoredRound): void {
  const { state } = turn;
  state.round = round.round;
  state.addUsage(round.usage);
  state.addText(round.content);
  state.numbering.calls += round.toolCalls.length;
  const server = round.calls.filter(isServer);
  for (const call of server) {
    state.countCall();
    if (!hasEnded(call)) continue;
    state.addEnded({
      id: call.id,
      name: call.name,
      server: call.server,
      argumentsText: JSON.stringify(call.arguments),
      round: round.round,
      dispatched: call.tool !== '',
      outcome: call.outcome ?? unknownOutcome,
    });
  }
  const results = server.map((call) => toToolMessage(call.id, call.outcome ?? unknownOutcome));
  state.messages.push(toAssistant(round), ...results);
}
