// The loop of a turn: settles the open rounds, asks the model, plans and commits the calls of its message, until the model stops,
// a call goes back to the caller, or a bound is reached. The loop knows ports only; all events and rounds go to the run's record.
import { budgetStop, type Stop, noticeForCaller } from '#libs/limits/stop-notice.js';
import type { AnswerExtras, FinishReason } from '#libs/schemas/model-event.js';
import type { AssistantMessage } from '#libs/schemas/message.js';
import type { StopCause } from '#libs/schemas/turn-event.js';
import type { Budgets } from '#libs/usage/budgets.js';
import type { Waits } from '../govern/waits.js';
import { askModel, type AskModelPorts, sayOwnCall } from './ask-model.js';
import { type AssembledMessage, toAssistantMessage } from './assemble-message.js';
import { planCalls, type PlanPorts } from './plan.js';
import type { ToolRunner } from './dispatch/tool-runner.js';
import { addResults, isOpen, type RoundPorts, settleRound } from './round.js';
import { callContext, type DoneEvent, modelOf, startEvent, type NewRound, type Turn, type TurnRecord } from './turn.js';
import { approvalRequest } from './wait.js';

export interface TurnPorts extends PlanPorts, RoundPorts, AskModelPorts {
  runner: ToolRunner;
  approvals: Pick<Waits, 'decided' | 'notify'>;
  budgets: Pick<Budgets, 'spentBy' | 'knownSpent'>;
}

/** Runs a turn to its end, from wherever it stands. @throws AppError if the turn cannot continue */
export async function runTurn(turn: Turn, ports: TurnPorts, record: TurnRecord): Promise<void> {
  const { state, offer } = turn;
  const { call: ownCall } = turn.request;
  for (;;) {
    if (turn.open.length > 0) {
      if (await settleOpen(turn, ports, record)) {
        return record.finish(done(turn, 'tool_calls', null, turn.open[0]!.extras));
      }
      if (ownCall !== undefined) return record.finish(done(turn, 'stop', null));
    }
    const reached = offer.runsHere && ownCall === undefined ? reachedBound(turn, ports) : undefined;
    const stop = reached instanceof Promise ? await reached : reached;
    const stoppedBy = stop?.cause ?? null;
    if (stop !== undefined) state.addWarnings([{ message: noticeForCaller(stop) }]);
    state.round++;
    const message = await (ownCall === undefined
      ? askModel(turn, stoppedBy, ports, record)
      : sayOwnCall(turn, ownCall, record));
    if (message.finishReason !== 'tool_calls' && message.finishReason !== 'stop') message.calls = [];
    const { calls } = message;
    const said = toAssistantMessage(message);
    const round = newRound(state.round, message, said);
    // If the caller runs all calls, they are journaled only if the provider expects data back that clients drop.
    const runsHere = offer.runsHere && calls.length > 0;
    if (!runsHere && (calls.length === 0 || message.providerState === undefined)) {
      return record.finish(answered(turn, message, stoppedBy), round);
    }
    const planning = plan(turn, message, runsHere, ports);
    if (planning !== undefined) await planning;
    const parked = calls.filter((call) => call.state === 'parked');
    // A caller that does not stay is given a request for each parked call, which stays parked until that caller comes back. The
    // caller of an own call gets an error instead, which names the approval.
    const getsRequests = turn.request.approval !== 'hold' && ownCall === undefined;
    const all = getsRequests ? [...calls, ...parked.map(approvalRequest)] : calls;
    // The worker is waited for before an own call is journaled, so that a call refused for lack of a worker leaves nothing behind.
    if (ownCall !== undefined && calls[0]!.state === 'planned')
      await ports.runner.untilWorker(calls[0]!.tool!, turn.context);
    const rows = all.map((call) => call.row);
    await record.commit(round, rows);
    if (parked.length > 0) ports.approvals.notify();
    if (!runsHere) return record.finish(answered(turn, message, stoppedBy));
    const { runId } = turn;
    const { model, extras } = message;
    turn.open = [{ runId, number: state.round, model, message: said, calls: all, places: undefined, extras }];
  }
}

/** True if any call waits for the caller. */
async function settleOpen(turn: Turn, ports: TurnPorts, record: TurnRecord): Promise<boolean> {
  let anyWaits = false;
  for (const round of turn.open) {
    const start = startEvent(turn, round.model);
    if (start !== undefined) await record.emit([start]);
    const { calls, places } = round;
    const isOwn = places === undefined;
    const counted = isOwn ? calls : calls.filter(isOpen);
    await settleRound(round, turn, ports, record);
    turn.context.signal.throwIfAborted();
    for (const call of counted) if (call.outcome !== undefined) turn.state.addEnded(call);
    const waits = calls.some(isOwn ? (call) => call.outcome === undefined : isOpen);
    if (!isOwn || !waits) addResults(round, turn);
    anyWaits ||= waits;
  }
  if (!anyWaits) turn.open = [];
  return anyWaits;
}

/** Why the model may call no more tools. The budget is not asked in round 0: admission has just done that. */
function reachedBound({ state, context }: Turn, { budgets }: TurnPorts): Stop | undefined | Promise<Stop | undefined> {
  const bound = state.bound();
  if (bound !== undefined || state.round === 0) return bound;
  const spent = budgets.spentBy(context);
  return spent instanceof Promise ? spent.then((read) => read && budgetStop(read)) : spent && budgetStop(spent);
}

function plan(turn: Turn, message: AssembledMessage, runsHere: boolean, ports: TurnPorts): Promise<void> | undefined {
  const { state, offer } = turn;
  const { calls } = message;
  const context = callContext(turn, state.round, modelOf(message));
  if (!runsHere) {
    for (const call of calls) call.of('client', { ...context, callId: call.id });
    return undefined;
  }
  return planCalls(calls, { offer, context, admit: () => admit(turn, ports) }, ports);
}

function admit({ state, context, request }: Turn, { budgets }: TurnPorts): Stop | undefined {
  if (request.call !== undefined) return undefined;
  const stop = state.countCall();
  const spent = stop === undefined ? budgets.knownSpent(context) : undefined;
  return spent === undefined ? stop : budgetStop(spent);
}

function newRound(round: number, message: AssembledMessage, said: AssistantMessage): NewRound {
  const { provider, model, text, reasoning, usage, finishReason, startedAt, providerState } = message;
  const toolCalls = said.tool_calls ?? [];
  return { round, provider, model, content: text, reasoning, toolCalls, usage, finishReason, startedAt, providerState };
}

function answered(turn: Turn, message: AssembledMessage, stoppedBy: StopCause | null): DoneEvent {
  const { calls, finishReason, finishReasons, extras } = message;
  const stops = finishReason === 'tool_calls' ? 'stop' : finishReason;
  const end = done(turn, calls.length > 0 ? 'tool_calls' : stops, stoppedBy, extras);
  if (finishReasons.length > 1) end.finishReasons = finishReasons;
  return end;
}

function done(turn: Turn, finishReason: FinishReason, stoppedBy: StopCause | null, extras?: AnswerExtras): DoneEvent {
  const { state, sessionId } = turn;
  const { usage, warnings } = state;
  const toolExecution = state.toolExecution(sessionId, stoppedBy);
  return {
    type: 'done',
    finishReason,
    usage,
    ...(toolExecution === undefined ? {} : { toolExecution }),
    ...(extras === undefined ? {} : { extras }),
    ...(warnings === undefined ? {} : { warnings }),
  };
}
