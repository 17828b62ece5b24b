// A turn that goes on after its last complete round: its state rebuilt from the store, its tools not run again.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { EventLog, NumberedEvent, RunStore, StoredCall, StoredRound, StoredRun } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import { terminalStates } from '#libs/schemas/tool-outcome.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { DoneEvent, Turn } from './chat-turn.js';
import { readLog } from './read-log.js';
import { toAssistant, unknownOutcome } from './restore-history.js';
import { toShownResult, toToolMessage } from './turn-state.js';

export interface ResumedTurn {
  /** What the caller was told up to the last stored round, from the log. */
  told: NumberedEvent[];
  lastN: number;
  /** The results of that round, which the log may have missed. */
  results: TurnEvent[];
  /** Instead of another model call, where the round gave calls to the caller. */
  ends?: DoneEvent;
}

const settleMs = 20_000;
const askAgainMs = 250;

export async function resumeTurn(
  turn: Turn,
  run: StoredRun,
  ports: { runs: RunStore; log: EventLog },
): Promise<ResumedTurn> {
  const rounds = await settledRounds(run.id, turn, ports.runs);
  const last = rounds.at(-1);
  const told = last === undefined ? [] : belongingTo(last, await readLog(run.id, ports.log));
  const lastN = await ports.log.truncate(run.id, told.at(-1)?.n ?? 0);
  for (const round of rounds) replay(turn, round);
  turn.announce = !told.some(({ event }) => event.type === 'start');
  const ended = new Set(told.map(({ event }) => (event.type === 'tool_result' ? event.callId : undefined)));
  const untold = (last?.calls ?? []).filter((call) => isServer(call) && !ended.has(call.id));
  const results: TurnEvent[] = untold.map((call) => ({
    type: 'tool_result',
    callId: call.id,
    result: toShownResult(call.outcome ?? unknownOutcome),
  }));
  const givesBack = last?.calls.some((call) => call.kind === 'client') === true;
  return { told, lastN, results, ...(givesBack ? { ends: withCalls(turn) } : {}) };
}

/** Up to the round's message, and what was told of its calls after it; the rest is of a round that never was. */
function belongingTo(round: StoredRound, events: NumberedEvent[]): NumberedEvent[] {
  const ofCalls = (event: TurnEvent) => event.type === 'tool_progress' || event.type === 'tool_result';
  const end = events.findIndex(({ n, event }) => n > round.lastEvent && !ofCalls(event));
  return end === -1 ? events : events.slice(0, end);
}

/** Calls that were dispatched end by themselves or are judged within the lease time; nothing new is started. */
async function settledRounds(runId: string, turn: Turn, runs: RunStore): Promise<StoredRound[]> {
  const until = steadyNow() + settleMs;
  for (;;) {
    const rounds = await runs.rounds(runId);
    if ((rounds.at(-1)?.calls ?? []).every(hasEnded)) return rounds;
    turn.context.signal.throwIfAborted();
    if (steadyNow() > until)
      throw new AppError('store_unavailable', 'Tools of this run are still under way', { retryAfterSeconds: 5 });
    // The journal has no event for another gateway's calls; this wait happens after a crash only.
    await new Promise((resolve) => setTimeout(resolve, askAgainMs));
  }
}

const isServer = (call: StoredCall): boolean => call.kind === 'server';
const hasEnded = (call: StoredCall): boolean =>
  !isServer(call) || (terminalStates as readonly string[]).includes(call.state);

function replay(turn: Turn, round: StoredRound): void {
  const { state } = turn;
  state.round = round.round;
  state.addUsage(round.usage);
  state.addText(round.content);
  state.numbering.calls += round.toolCalls.length;
  for (const call of round.calls.filter(isServer)) {
    state.admitCall();
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
  const results = round.calls.filter(isServer).map((call) => toToolMessage(call.id, call.outcome ?? unknownOutcome));
  state.messages.push(toAssistant(round), ...results);
}

function withCalls(turn: Turn): DoneEvent {
  const toolExecution = turn.state.toolExecution(turn.sessionId, null);
  return {
    type: 'done',
    finishReason: 'tool_calls',
    usage: turn.state.usage,
    ...(toolExecution === undefined ? {} : { toolExecution }),
  };
}
