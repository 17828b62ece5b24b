// A turn that goes on after its last complete round: its state rebuilt from the store, its tools not run again. Calls of
// that round that never began run now.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { EventLog, NumberedEvent, RunStore, StoredCall, StoredRound, StoredRun } from '#libs/runs/run-store.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { terminalStates } from '#libs/schemas/tool-outcome.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { toolOfCall } from '../../tools/catalog/tool-of-call.js';
import type { ToolRunner } from '../../tools/calls/tool-runner.js';
import type { DoneEvent, Turn } from '../chat-turn.js';
import { toAssistant, unknownOutcome } from './restore-history.js';
import { readLog } from './retell-run.js';
import { toShownResult, toToolMessage } from '../turn-state.js';

export interface ResumedTurn {
  /** What the caller was told up to the last stored round, from the log. */
  told: NumberedEvent[];
  lastN: number;
  /** The results of that round, which the log may have missed. */
  results: TurnEvent[];
  /** Instead of another model call, where the round gave calls to the caller. */
  ends?: DoneEvent;
}

interface ResumePorts {
  runs: RunStore;
  log: EventLog;
  runner: ToolRunner;
}

const settleMs = 20_000;
const askAgainMs = 250;

export async function resumeTurn(turn: Turn, run: StoredRun, ports: ResumePorts): Promise<ResumedTurn> {
  const rounds = await settledRounds(run.id, turn, ports);
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

/**
 * Calls that were dispatched end by themselves or are judged within the lease time. Those that are planned run, in the order
 * of the calls and after what goes before them: that may change the same session.
 */
async function settledRounds(runId: string, turn: Turn, { runs, runner }: ResumePorts): Promise<StoredRound[]> {
  let until = steadyNow() + settleMs;
  const begun = new Set<string>();
  for (;;) {
    const rounds = await runs.rounds(runId);
    const last = rounds.at(-1);
    const next = last?.calls.find((call) => !hasEnded(call));
    if (last === undefined || next === undefined) return rounds;
    if (next.state === 'planned' && !begun.has(next.id)) {
      begun.add(next.id);
      await runPlanned(next, last, turn, runner);
      until = steadyNow() + settleMs;
      continue;
    }
    turn.context.signal.throwIfAborted();
    if (steadyNow() > until)
      throw new AppError('store_unavailable', 'Tools of this run are still under way', { retryAfterSeconds: 5 });
    // The journal has no event for another gateway's calls; this wait happens after a crash only.
    await new Promise((resolve) => setTimeout(resolve, askAgainMs));
  }
}

/** Under its own id; the journal has its outcome afterwards, or says who runs it. */
async function runPlanned(call: StoredCall, round: StoredRound, turn: Turn, runner: ToolRunner): Promise<void> {
  const context: CallContext = {
    ...turn.context,
    callId: call.id,
    runId: turn.runId,
    round: round.round,
    sessionId: call.sessionId,
    model: `${round.provider}/${round.model}`,
    priority: turn.request.priority,
  };
  try {
    await runner.run(runner.plan(toolOf(call, turn), call.arguments, context, { again: true }), () => undefined);
  } catch (error) {
    // Others say that the call was refused a place, and was ended in the journal.
    if (!(error instanceof AppError) || error.code === 'store_unavailable') throw error;
  }
}

/** As it was planned. Where it is not offered like that any more, what its job says: the worker knows whether it is there. */
function toolOf(call: StoredCall, turn: Turn): CatalogTool {
  const offered = turn.offer.tools.get(call.name)?.tool;
  if (offered?.definitionHash === call.definitionHash) return toolOfCall(offered, call.arguments);
  const { name, server, tool, definitionHash, safe, job } = call;
  return {
    name,
    server,
    tool,
    definitionHash,
    safe,
    readOnly: false,
    stateful: job?.stateful === true,
    description: '',
    inputSchema: {},
    annotations: {},
    available: true,
    timeoutMs: job?.timeoutMs ?? settleMs,
    maxTimeoutMs: job?.maxTimeoutMs ?? settleMs,
  };
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
