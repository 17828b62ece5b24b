// Makes rounds that can be settled of stored rounds: for a turn that is continued after its last round, and for an earlier turn
// whose calls the messages of a new turn answer. Nothing runs here.
import type { EventLog, NumberedEvent, RunStore, StoredCall, StoredRound, StoredRun } from '#libs/runs/run-store.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { toolOfCall } from '../../tools/tool-of-call.js';
import { Call } from '../call.js';
import type { ToolRunner } from '../dispatch/tool-runner.js';
import { offeredTool } from '../offer-tools.js';
import { addResults, isOpen } from '../round.js';
import { callContext, modelOf, type Round, type Turn } from '../turn.js';
import { askedBy } from '../wait.js';
import { type OpenRound, toAssistant } from './restore-history.js';
import { readLog } from '../replay-events.js';

/** More events than a gateway can have shown before they were stored: no event number is used twice. */
const unstoredEvents = 100_000;

export interface RestorePorts {
  runs: Pick<RunStore, 'rounds'>;
  log: EventLog;
  runner: Pick<ToolRunner, 'plan'>;
}

export interface RestoredTurn {
  /** The stored events up to the last stored round, then a `rewind` that withdraws later events. */
  emitted: NumberedEvent[];
  lastN: number;
}

/**
 * Rebuilds the state of a turn from its rounds. The last round, whose calls may not have ended, becomes the open round; but if
 * the caller's own call never began, the call is made again.
 */
export async function restoreTurn(turn: Turn, run: StoredRun, ports: RestorePorts): Promise<RestoredTurn> {
  const { log } = ports;
  const rounds = await ports.runs.rounds(run.id);
  const last = rounds.at(-1);
  const emitted = last === undefined ? [] : belongingTo(last, await readLog(run.id, log));
  const to = emitted.at(-1)?.n ?? 0;
  const lastN = (await log.truncate(run.id, to)) + unstoredEvents;
  emitted.push({ n: lastN, event: { type: 'rewind', to } });
  await log.append(run.id, emitted.slice(-1));
  turn.announce = !emitted.some(({ event }) => event.type === 'start');
  for (const stored of rounds) {
    const round = ownRound(stored, turn, ports.runner);
    if (stored === last && !(turn.request.call !== undefined && neverBegan(stored))) {
      turn.open = [withEmitted(round, emitted, turn)];
      continue;
    }
    for (const call of round.calls) if (call.outcome !== undefined) turn.state.addEnded(call);
    addResults(round, turn);
  }
  return { emitted, lastN };
}

/** Its call was refused a place, or cancelled while planned: no worker ran it, and none can any more. */
const neverBegan = ({ calls }: StoredRound): boolean =>
  calls.every(({ state, attempt, fence }) => state === 'cancelled' && attempt === 0 && fence === null);

/** A round of an earlier turn; its results take their places in the conversation of this turn. */
export function earlierRound({ round, results: places }: OpenRound, turn: Turn, runner: RestorePorts['runner']): Round {
  const earlier = toRound(round, turn, runner);
  // Results of ended calls are in the conversation already; calls of the reserved function are emitted again.
  for (const call of earlier.calls) call.emitted = call.kind === 'server' && !isOpen(call);
  return { ...earlier, places };
}

function ownRound(stored: StoredRound, turn: Turn, runner: RestorePorts['runner']): Round {
  const { state } = turn;
  const round = toRound(stored, turn, runner);
  state.round = stored.round;
  state.addUsage(stored.usage);
  state.addText(stored.content);
  state.numbering.calls += stored.toolCalls.length;
  for (const call of round.calls) {
    call.round = stored.round;
    if (call.kind === 'server') state.countCall();
  }
  return round;
}

/** Marks the calls of the round whose events were emitted. */
function withEmitted(round: Round, emitted: readonly NumberedEvent[], { state }: Turn): Round {
  const calls = new Set(emitted.map(({ event }) => (event.type === 'tool_call' ? event.id : undefined)));
  const results = new Set(emitted.map(({ event }) => (event.type === 'tool_result' ? event.callId : undefined)));
  for (const call of round.calls) call.emitted = (call.kind === 'server' ? results : calls).has(call.id);
  state.numbering.clientCalls = round.calls.filter((call) => call.kind === 'client' && call.emitted).length;
  return round;
}

/** Events up to the round's message, and later events of its calls. All others belong to a round that was never stored. */
function belongingTo(round: StoredRound, events: NumberedEvent[]): NumberedEvent[] {
  const requests = new Set(round.calls.filter((call) => askedBy(call) !== undefined).map(({ id }) => id));
  const ofCalls = (event: TurnEvent) =>
    event.type === 'tool_progress' ||
    event.type === 'tool_result' ||
    event.type === 'approval_required' ||
    event.type === 'sign_in_required' ||
    (event.type === 'tool_call' && event.id !== undefined && requests.has(event.id));
  const end = events.findIndex(({ n, event }) => n > round.lastEvent && !ofCalls(event));
  return end === -1 ? events : events.slice(0, end);
}

function toRound(stored: StoredRound, turn: Turn, runner: RestorePorts['runner']): Round {
  const { runId, round: number, model } = stored;
  const context = callContext(turn, number, modelOf(stored));
  const calls = stored.calls.map((row) => {
    const call = Call.stored(row, { ...context, callId: row.id, runId, sessionId: row.sessionId });
    if (!isOpen(call)) return call;
    const offered = toolOf(row, turn);
    call.tool = offered;
    call.offered = offered;
    // The call keeps its id: the journal decides whether this gateway may run the call.
    if (call.state === 'planned') runner.plan(call, toolOfCall(offered, row.arguments), row.arguments);
    return call;
  });
  return { runId, number, model, message: toAssistant(stored), calls, places: undefined, extras: undefined };
}

const unknownToolMs = 20_000;

/** The tool with the planned definition; if that is not offered any more, one rebuilt from the job, which the worker checks. */
function toolOf({ name, server, tool, definitionHash, safe, job }: StoredCall, { offer }: Turn): CatalogTool {
  const isSame = (offered: CatalogTool | undefined) =>
    offered?.server === server && offered.tool === tool && offered.definitionHash === definitionHash;
  const offered = offeredTool(offer, name)?.tool;
  if (isSame(offered)) return offered!;
  // Under another name too, if a toolset offers it.
  for (const each of offer.tools.values()) if (isSame(each.tool)) return each.tool!;
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
    timeoutMs: job?.timeoutMs ?? unknownToolMs,
    maxTimeoutMs: job?.maxTimeoutMs ?? unknownToolMs,
  };
}
