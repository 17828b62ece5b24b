// The loop: call the model, run what it asks for, call it again, until it stops, a call goes back to the caller, or a
// bound is hit. It knows ports only. What it tells and commits goes to the record of its run.
import type { Flow } from '#libs/concurrency/flow.js';
import type { Config } from '#libs/config/schema.js';
import type { Journal, ModelRound, PlannedCall } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { AnswerExtras, FinishReason } from '#libs/schemas/model-event.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { StopCause, TurnEvent } from '#libs/schemas/turn-event.js';
import type { Budgets } from '#libs/usage/budgets.js';
import { budgetStop, type Stop, toldToCaller } from '#libs/limits/stop-notice.js';
import type { ModelRequest, ModelRoute, ModelRouter } from '../models/model-provider.js';
import type { Approvals } from '../govern/approvals.js';
import type { ToolRunner } from './dispatch/tool-runner.js';
import { approvalRequest, askQuestions, requestEvents } from './ask-approval.js';
import { type AssembledMessage, MessageAssembler, toAssistantMessage } from './assemble-message.js';
import type { ToolOffer } from './offer-tools.js';
import { planCalls, type PlanPorts, type TurnCall } from './plan-calls.js';
import { runCalls } from './run-calls.js';
import { type EndedCall, type TurnState, toToolMessage } from './turn-state.js';
import type { TurnRequest } from './turn-request.js';

export interface Turn {
  runId: string;
  /** Of the request, or made for it; a workspace appears when a tool uses it. */
  sessionId: string;
  request: TurnRequest;
  context: RequestContext;
  route: ModelRoute;
  offer: ToolOffer;
  /** New, or rebuilt from the rounds that are stored already. */
  state: TurnState;
  /** False when the caller has been told that the turn began, before it was continued. */
  announce: boolean;
}

export interface TurnPorts extends PlanPorts {
  models: ModelRouter;
  runner: ToolRunner;
  approvals: Pick<Approvals, 'decided' | 'notify'>;
  journal: Pick<Journal, 'get' | 'plan'>;
  limits: Config['limits'];
  budgets: Pick<Budgets, 'spentBy' | 'knownSpent'>;
}

/** A round as the loop knows it; the record knows the numbers of its events. */
export type ToldRound = Omit<ModelRound, 'lastEvent'>;

export type DoneEvent = Extract<TurnEvent, { type: 'done' }>;

/** Where a turn tells what happens, and commits it. */
export interface TurnRecord {
  /** What happened together; a promise holds the turn back. Never throws. */
  tell(events: readonly TurnEvent[]): Flow;
  /** A round and its calls, before any of them is dispatched. */
  commit(round: ToldRound, calls: PlannedCall[]): Promise<void>;
  /** The turn is over. `round`: its last one, where that was not committed. */
  finish(done: DoneEvent, round?: ToldRound): Promise<void> | undefined;
}

/** One turn, from its first model call to `done`. @throws AppError where it cannot go on */
export async function runChatTurn(turn: Turn, ports: TurnPorts, record: TurnRecord): Promise<void> {
  const { state, offer } = turn;
  for (;;) {
    const reached = offer.runsHere ? reachedBound(turn, ports) : undefined;
    const stop = reached instanceof Promise ? await reached : reached;
    const stoppedBy = stop?.cause ?? null;
    if (stop !== undefined) state.addWarnings([{ message: toldToCaller(stop) }]);
    state.round++;
    const answer = assembler(turn, stoppedBy, record);
    await callModel(turn, stoppedBy, ports, answer);
    answer.throwIfFailed();
    const message = answer.message();
    state.addUsage(message.usage);
    state.addWarnings(message.warnings);
    state.addText(message.text);

    const mayRun = message.finishReason === 'tool_calls' || message.finishReason === 'stop';
    const calls = mayRun ? message.calls : [];
    if (!offer.runsHere || calls.length === 0) {
      // Without server tools every call belongs to the caller, whatever its name, as with the provider itself.
      const end = done(turn, message, calls.length > 0 ? 'tool_calls' : message.finishReason, stoppedBy);
      message.calls = calls;
      const round = toldRound(state.round, message);
      if (calls.length === 0 || message.providerState === undefined) return record.finish(end, round);
      await record.commit(round, await planForFollowUp(turn, message, ports));
      return record.finish(end);
    }

    const context = { ...turn.context, ...callContext(turn, message) };
    const planning = planCalls({ calls, offer, context, admit: admission(turn, ports) }, ports);
    const planned = planning instanceof Promise ? await planning : planning;
    const rows = planned.map((call) => call.planned);
    // A caller that is not held answers for the calls that wait; they stay parked until it comes back.
    const holds = turn.request.approval === 'hold';
    const requests = holds ? [] : rows.flatMap((row) => approvalRequest(row) ?? []);
    await record.commit(toldRound(state.round, message), [...rows, ...requests]);
    if (planned.some(waits)) ports.approvals.notify();
    if (requests.length > 0) await record.tell(requestEvents(requests, state.numbering));
    const server = planned.filter((call) => isServerCall(call) && (holds || !waits(call)));

    const { outcomes, asked, waitedMs } = await runCalls(server, ports, {
      parallel: turn.request.parallelToolCalls !== false,
      tell: (events) => record.tell(events),
    });
    turn.context.signal.throwIfAborted();
    if (waitedMs > 0) holdTurn(turn, waitedMs);
    // In the order of the model's calls, whatever order they ended in.
    const ended = server.flatMap((call) => {
      const outcome = outcomes.get(call);
      return outcome === undefined ? [] : toEndedCall(call, outcome, state.round);
    });
    for (const call of ended) state.addEnded(call);
    if (asked.length > 0) {
      const place = { runId: turn.runId, round: state.round, position: rows.length + requests.length };
      await record.tell(requestEvents(await askQuestions(asked, place, turn, ports.journal), state.numbering));
    }
    if (ended.length < planned.length) return record.finish(done(turn, message, 'tool_calls', null));
    state.messages.push(toAssistantMessage(message), ...ended.map(({ id, outcome }) => toToolMessage(id, outcome)));
  }
}

/** Why the model may call no more tools. A turn that begins was admitted by its budget. */
function reachedBound({ state, context }: Turn, { budgets }: TurnPorts): Stop | undefined | Promise<Stop | undefined> {
  const bound = state.bound();
  if (bound !== undefined || state.round === 0) return bound;
  const spent = budgets.spentBy(context);
  return spent instanceof Promise ? spent.then((read) => read && budgetStop(read)) : spent && budgetStop(spent);
}

const admission =
  ({ state, context }: Turn, { budgets }: TurnPorts) =>
  (): Stop | undefined => {
    const stop = state.countCall();
    const spent = stop === undefined ? budgets.knownSpent(context) : undefined;
    return spent === undefined ? stop : budgetStop(spent);
  };

export function toEndedCall({ planned }: TurnCall, outcome: ToolOutcome, round: number): EndedCall {
  return {
    id: planned.id,
    name: planned.name,
    server: planned.server,
    argumentsText: JSON.stringify(planned.arguments),
    round,
    dispatched: planned.outcome === undefined && outcome.state !== 'denied',
    outcome,
  };
}

/** One model call. At a bound no tools are offered, so that the caller always gets an answer. */
function callModel(turn: Turn, stoppedBy: StopCause | null, ports: TurnPorts, answer: MessageAssembler): Promise<void> {
  const { request, state, offer, context } = turn;
  const isFirst = state.round === 1;
  const definitions = (isFirst ? offer.firstDefinitions : undefined) ?? offer.definitions;
  const tools = stoppedBy === null ? definitions : [];
  const toolChoice = isFirst ? offer.toolChoice : undefined;
  return ports.models.call(
    turn.route,
    toModelRequest(request, state.messages, {
      definitions: tools,
      ...(toolChoice && { toolChoice }),
      ...(stoppedBy === null ? providerTools(request, isFirst) : {}),
    }),
    {
      requestId: context.requestId,
      runId: turn.runId,
      paidBy: payer(context, state.round),
      // Past the turn's own time there is an allowance for the last answer.
      deadline: context.deadline + ports.limits.final_answer_ms,
      signal: context.signal,
      ...(context.traceparent === undefined ? {} : { traceparent: context.traceparent }),
    },
    answer.take,
  );
}

const providerTools = (
  { providerTools: given }: TurnRequest,
  isFirst: boolean,
): Pick<ModelRequest, 'providerTools'> => {
  if (given === undefined) return {};
  return { providerTools: isFirst ? given : given.map(({ api, tool }) => ({ api, tool })) };
};

const payer = ({ principal, keyId, access, parentCall }: RequestContext, round: number) => ({
  principal,
  round,
  ...(parentCall === undefined ? {} : { parentCall }),
  ...(keyId === undefined ? {} : { keyId }),
  ...(access === undefined ? {} : { access }),
});

type Offering = Pick<ToolOffer, 'definitions' | 'toolChoice'> & Pick<ModelRequest, 'providerTools'>;

export function toModelRequest(
  request: TurnRequest,
  messages: ChatMessage[],
  { definitions: tools, toolChoice, providerTools }: Offering,
): Omit<ModelRequest, 'model'> {
  return {
    messages,
    tools,
    stream: request.stream,
    parameters: request.parameters,
    unknown: request.unknown,
    ...(toolChoice === undefined || tools.length === 0 ? {} : { toolChoice }),
    ...(providerTools === undefined ? {} : { providerTools }),
    ...(request.parallelToolCalls === undefined ? {} : { parallelToolCalls: request.parallelToolCalls }),
  };
}

function assembler(turn: Turn, stoppedBy: StopCause | null, record: TurnRecord): MessageAssembler {
  const { request, state, offer } = turn;
  return new MessageAssembler({
    idsAreKept: offer.runsHere,
    separator: state.separator(),
    numbering: state.numbering,
    ...(stoppedBy === null ? { isClientCall: (name: string) => isClientCall(offer, name) } : {}),
    tell: (events) => record.tell(events),
    serverOf: (name) => offer.tools.get(name)?.tool?.server,
    onStart: (model) => {
      if (!turn.announce) return undefined;
      turn.announce = false;
      const { sessionId } = request;
      return { type: 'start', model, runId: turn.runId, ...(sessionId === undefined ? {} : { sessionId }) };
    },
  });
}

function isClientCall(offer: ToolOffer, name: string): boolean {
  if (!offer.runsHere) return true;
  const offered = offer.tools.get(name);
  return offered !== undefined && offered.tool === undefined;
}

const isServerCall = (call: TurnCall): boolean => call.planned.kind === 'server';
const waits = (call: TurnCall): boolean => call.awaits !== undefined;

/** The end of a turn that gives calls back to its caller without another model call. */
export function givenBack({ state, sessionId }: Turn): DoneEvent {
  const toolExecution = state.toolExecution(sessionId, null);
  return {
    type: 'done',
    finishReason: 'tool_calls',
    usage: state.usage,
    ...(toolExecution === undefined ? {} : { toolExecution }),
    ...(state.warnings === undefined ? {} : { warnings: state.warnings }),
  };
}

/** Time that a turn waits for approvals is not its own. */
export function holdTurn(turn: Turn, ms: number): void {
  turn.context = { ...turn.context, deadline: turn.context.deadline + ms };
  turn.state.extend(ms);
}

function callContext(turn: Turn, message: AssembledMessage) {
  return {
    runId: turn.runId,
    round: turn.state.round,
    sessionId: turn.sessionId,
    questions: questionsOf(turn),
    model: `${message.provider}/${message.model}`,
    priority: turn.request.priority,
  };
}

export const questionsOf = ({ request }: Pick<Turn, 'request'>): 'hold' | 'return' =>
  request.approval === 'hold' ? 'hold' : 'return';

function toldRound(round: number, message: AssembledMessage): ToldRound {
  const { provider, model, text, reasoning, usage, finishReason, startedAt, providerState } = message;
  return {
    round,
    provider,
    model,
    content: text,
    reasoning,
    toolCalls: toAssistantMessage(message).tool_calls ?? [],
    usage,
    finishReason,
    startedAt,
    providerState,
  };
}

/** The caller's own calls. They are journaled because the provider expects something back that clients drop. */
async function planForFollowUp(turn: Turn, message: AssembledMessage, ports: TurnPorts): Promise<PlannedCall[]> {
  const context = { ...turn.context, ...callContext(turn, message) };
  const offer: ToolOffer = {
    ...turn.offer,
    tools: new Map(message.calls.map((call) => [call.name, { definition: { name: call.name } }])),
  };
  const planned = await planCalls({ calls: message.calls, offer, context, admit: () => undefined }, ports);
  return planned.map((call) => call.planned);
}

function done(
  turn: Turn,
  message: AssembledMessage,
  finishReason: FinishReason,
  stoppedBy: StopCause | null,
): DoneEvent {
  const { warnings } = turn.state;
  const toolExecution = turn.state.toolExecution(turn.sessionId, stoppedBy);
  const extras: AnswerExtras | undefined = message.extras;
  return {
    type: 'done',
    finishReason: finishReason === 'tool_calls' && message.calls.length === 0 ? 'stop' : finishReason,
    usage: turn.state.usage,
    ...(message.finishReasons.length > 1 ? { finishReasons: message.finishReasons } : {}),
    ...(toolExecution === undefined ? {} : { toolExecution }),
    ...(extras === undefined ? {} : { extras }),
    ...(warnings === undefined ? {} : { warnings }),
  };
}
