// A turn and its rounds, as the loop, the dialects and the record of its run see them.
import type { Flow } from '#libs/concurrency/flow.js';
import type { ModelRound, PlannedCall } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import type { AnswerExtras } from '#libs/schemas/model-event.js';
import type { AssistantMessage, ToolMessage } from '#libs/schemas/message.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { ModelRoute } from '../models/model-provider.js';
import type { Call } from './call.js';
import type { ToolOffer } from './offer-tools.js';
import type { TurnRequest } from './turn-request.js';
import type { TurnState } from './turn-state.js';

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
  /** What has to be settled before a model is asked: the last round of a turn that is continued, rounds that the messages answer. */
  open: Round[];
}

export interface Round {
  /** The run that has the round: this turn's, or an earlier one. */
  runId: string;
  /** In that run, from 1. */
  number: number;
  /** `provider/model` */
  model: string;
  message: AssistantMessage;
  /** The model's calls in order, then those of the reserved function. */
  calls: Call[];
  /** For a round of an earlier turn: the places of its results in the conversation, by call id. */
  places: ReadonlyMap<string, ToolMessage> | undefined;
  /** What the provider said beside the message. */
  extras: AnswerExtras | undefined;
}

/** A round as the loop knows it; the record knows the numbers of its events. */
export type NewRound = Omit<ModelRound, 'lastEvent'>;

export type DoneEvent = Extract<TurnEvent, { type: 'done' }>;

/** Where a turn tells what happens, and commits it. */
export interface TurnRecord {
  /** What happened together; a promise holds the turn back. Never throws. */
  emit(events: readonly TurnEvent[]): Flow;
  /** A round and its calls, before any of them is dispatched. */
  commit(round: NewRound, calls: PlannedCall[]): Promise<void>;
  /** The turn is over. `round`: its last one, where that was not committed. */
  finish(done: DoneEvent, round?: NewRound): Promise<void> | undefined;
}

/** The event that begins a turn, once. */
export function startEvent(turn: Turn, model: string): TurnEvent | undefined {
  if (!turn.announce) return undefined;
  turn.announce = false;
  const { runId, request } = turn;
  const { sessionId } = request;
  return { type: 'start', model, runId, ...(sessionId === undefined ? {} : { sessionId }) };
}

/** What the calls of a round have in common. */
export function callContext(turn: Turn, round: number, model: string): Omit<CallContext, 'callId'> {
  const { context, runId, sessionId, request } = turn;
  const questions = request.approval === 'hold' ? 'hold' : 'return';
  return { ...context, runId, round, sessionId, questions, model, priority: request.priority };
}
