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
  /** The session of the request, or one made for the turn. The workspace is made when a tool first uses the session. */
  sessionId: string;
  request: TurnRequest;
  context: RequestContext;
  /** Empty for a call of the caller's own, for which no model is asked. */
  route: ModelRoute;
  offer: ToolOffer;
  state: TurnState;
  /** The start event is still to be emitted. A continued run may have emitted it before. */
  announce: boolean;
  /** Rounds to settle before a model is asked: the last round of a continued turn, and rounds that the messages answer. */
  open: Round[];
}

export interface Round {
  /** The run of the round: this turn's, or an earlier one. */
  runId: string;
  /** Position in that run, from 1. */
  number: number;
  /** `provider/model` */
  model: string;
  message: AssistantMessage;
  /** The model's calls in order, then the calls of the reserved function. */
  calls: Call[];
  /** The results' places in the conversation, by call id, for a round of an earlier turn. */
  places: ReadonlyMap<string, ToolMessage> | undefined;
  /** Members of the provider's answer beside the message. */
  extras: AnswerExtras | undefined;
}

/** A round before the record adds the number of its last event. */
export type NewRound = Omit<ModelRound, 'lastEvent'>;

export type DoneEvent = Extract<TurnEvent, { type: 'done' }>;

/** Takes the events of a turn, and commits its rounds. */
export interface TurnRecord {
  /** Takes a batch of events; the turn waits for a returned promise. Never throws. */
  emit(events: readonly TurnEvent[]): Flow;
  /** Writes a round and its calls before any of the calls is dispatched. */
  commit(round: NewRound, calls: PlannedCall[]): Promise<void>;
  /** Ends the turn. `round`: the last round, unless it was committed. */
  finish(done: DoneEvent, round?: NewRound): Promise<void> | undefined;
}

/** The event that begins a turn; undefined if it was emitted before. */
export function startEvent(turn: Turn, model: string): TurnEvent | undefined {
  if (!turn.announce) return undefined;
  turn.announce = false;
  const { runId, request } = turn;
  const { sessionId } = request;
  return { type: 'start', model, runId, ...(sessionId === undefined ? {} : { sessionId }) };
}

/** The name of the model that made a round; undefined if the caller itself made the call. */
export const modelOf = ({ provider, model }: Pick<ModelRound, 'provider' | 'model'>): string | undefined =>
  provider === '' ? undefined : `${provider}/${model}`;

/** The context that the calls of a round share. */
export function callContext(turn: Turn, round: number, model: string | undefined): Omit<CallContext, 'callId'> {
  const { context, runId, sessionId, request } = turn;
  const questions = request.approval ?? context.questions ?? 'return';
  return { ...context, runId, round, sessionId, questions, model, priority: request.priority };
}
