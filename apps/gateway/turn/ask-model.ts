// One model call of a turn, from the conversation to the complete message. Events for the caller are emitted as they come.
import type { Config } from '#libs/config/schema.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { StopCause } from '#libs/schemas/turn-event.js';
import type { ModelRequest, ModelRouter } from '../models/model-provider.js';
import { type AssembledMessage, MessageAssembler } from './assemble-message.js';
import { gatewayLabel, toolSearchForm } from './offer/tool-search.js';
import { isSearch, offeredTool, type ToolOffer } from './offer-tools.js';
import { startEvent, type Turn, type TurnRecord } from './turn.js';
import type { OwnCall, TurnRequest } from './turn-request.js';

export interface AskModelPorts {
  models: Pick<ModelRouter, 'call'>;
  limits: Pick<Config['limits'], 'final_answer_ms'>;
}

/** `stoppedBy`: a bound was reached, so the model is offered no tools and must answer. @throws AppError of the model */
export async function askModel(
  turn: Turn,
  stoppedBy: StopCause | null,
  { models, limits }: AskModelPorts,
  record: TurnRecord,
): Promise<AssembledMessage> {
  const { request, state, offer, context } = turn;
  const isFirst = state.round === 1;
  offer.search?.see(state.messages);
  const definitions = (isFirst ? offer.firstDefinitions : undefined) ?? offer.search?.definitions ?? offer.definitions;
  const tools = stoppedBy === null ? definitions : [];
  const toolChoice = isFirst ? offer.toolChoice : undefined;
  const answer = assembler(turn, stoppedBy, record);
  await models.call(
    turn.route,
    toModelRequest(request, state.messages, {
      definitions: tools,
      ...(toolChoice && { toolChoice }),
      ...(offer.search && { search: offer.search }),
      ...(stoppedBy === null ? providerTools(request, isFirst) : {}),
    }),
    {
      requestId: context.requestId,
      runId: turn.runId,
      paidBy: payer(context, state.round),
      // The last answer may take some time beyond the turn's own.
      deadline: context.deadline.at + limits.final_answer_ms,
      signal: context.signal,
      ...(context.traceparent === undefined ? {} : { traceparent: context.traceparent }),
    },
    answer.take,
  );
  answer.throwIfFailed();
  const message = answer.message();
  state.addUsage(message.usage);
  state.addWarnings(message.warnings);
  state.addText(message.text);
  return message;
}

/** What the caller itself says in place of a model: its one call. */
export async function sayOwnCall(turn: Turn, { name, argumentsText }: OwnCall, record: TurnRecord) {
  const said = assembler(turn, null, record);
  const call = { index: 0, id: '', name };
  await said.take([
    { type: 'message_start', model: '', responseId: '' },
    { type: 'tool_call_start', ...call },
    { type: 'tool_call_end', ...call, arguments: argumentsText },
    { type: 'message_end', finishReason: 'tool_calls' },
  ]);
  return said.message();
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

type Offering = Pick<ToolOffer, 'definitions' | 'toolChoice' | 'search'> & Pick<ModelRequest, 'providerTools'>;

export function toModelRequest(
  request: TurnRequest,
  messages: ChatMessage[],
  { definitions: tools, toolChoice, providerTools, search }: Offering,
): Omit<ModelRequest, 'model'> {
  return {
    messages,
    tools,
    stream: request.stream,
    parameters: request.parameters,
    unknown: request.unknown,
    ...(toolChoice === undefined || tools.length === 0 ? {} : { toolChoice }),
    ...(providerTools === undefined ? {} : { providerTools }),
    ...(search === undefined ? {} : { search: toolSearchForm }),
    ...(request.parallelToolCalls === undefined ? {} : { parallelToolCalls: request.parallelToolCalls }),
  };
}

function assembler(turn: Turn, stoppedBy: StopCause | null, record: TurnRecord): MessageAssembler {
  const { state, offer } = turn;
  return new MessageAssembler({
    idsAreStored: offer.runsHere,
    separator: state.separator(),
    numbering: state.numbering,
    isClientCall: stoppedBy === null ? (name: string) => isClientCall(offer, name) : undefined,
    emit: (events) => record.emit(events),
    serverOf: (name) => offeredTool(offer, name)?.tool?.server ?? (isSearch(offer, name) ? gatewayLabel : undefined),
    onStart: (model) => startEvent(turn, model),
  });
}

function isClientCall(offer: ToolOffer, name: string): boolean {
  if (!offer.runsHere) return true;
  const offered = offer.tools.get(name);
  return offered !== undefined && offered.tool === undefined;
}
