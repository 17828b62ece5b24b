// Reads one model answer: passes on what a caller sees at once, and gathers the whole message for the loop.
// Nothing may run before the answer has ended; only calls that the provider ended count.
import { AppError } from '#libs/schemas/errors.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import type { AssistantMessage, ProviderState } from '#libs/schemas/message.js';
import type { AnswerExtras, FinishReason } from '#libs/schemas/model-event.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { NO_USAGE, type Usage } from '#libs/schemas/usage.js';
import type { RoutedModelEvent } from '../models/model-provider.js';

export interface AssembledCall {
  id: string;
  name: string;
  /** JSON text of the arguments, whole. */
  arguments: string;
  parseError?: string;
}

export interface AssembledMessage {
  provider: string;
  model: string;
  text: string;
  reasoning: string;
  calls: AssembledCall[];
  usage: Usage;
  finishReason: FinishReason;
  /** Of each choice, where the caller asked for several. */
  finishReasons: FinishReason[];
  extras?: AnswerExtras;
  providerState?: ProviderState;
}

export interface CallNumbering {
  /** Calls of the run so far: their numbers are never used again. */
  calls: number;
  clientCalls: number;
}

export interface AssembleOptions {
  /** Whether a call of this name goes back to the caller. Undefined: no calls are expected, they are dropped. */
  isClientCall?: (name: string) => boolean;
  /** The server that runs a call of this name. */
  serverOf: (name: string) => string | undefined;
  idsAreKept: boolean;
  /** Once a run: its first answer has begun. */
  onStart: (model: string) => TurnEvent | undefined;
  /** Put before the first text of this answer: the blank line between two rounds. */
  separator: string;
  numbering: CallNumbering;
}

type OpenCall = AssembledCall & { number: number; clientNumber: number | null; ended: boolean };

/** @throws the AppError of an `error` event; model_stream_cut when the answer never ended */
export async function* assembleMessage(
  events: AsyncIterable<RoutedModelEvent>,
  options: AssembleOptions,
): AsyncGenerator<TurnEvent, AssembledMessage> {
  const message: AssembledMessage = {
    provider: '',
    model: '',
    text: '',
    reasoning: '',
    calls: [],
    usage: NO_USAGE,
    finishReason: 'stop',
    finishReasons: [],
  };
  let open = new Map<number, OpenCall>();
  let ended = false;
  for await (const event of events) {
    switch (event.type) {
      case 'routed':
        message.provider = event.provider;
        break;
      case 'message_start': {
        restart(message, open);
        open = new Map();
        message.model = event.model;
        const start = options.onStart(event.model);
        if (start !== undefined) yield start;
        break;
      }
      case 'text_delta': {
        if (event.text === '' && event.extras === undefined) break;
        const text = message.text === '' && event.text !== '' ? options.separator + event.text : event.text;
        if ((event.choice ?? 0) === 0) message.text += event.text;
        yield {
          type: 'content',
          text,
          ...choiceOf(event),
          ...(event.extras === undefined ? {} : { extras: event.extras }),
        };
        break;
      }
      case 'reasoning_delta':
        if (event.text === '') break;
        message.reasoning += event.text;
        yield { type: 'reasoning', text: event.text, ...choiceOf(event) };
        break;
      case 'tool_call_start': {
        if (options.isClientCall === undefined) break;
        const call = begin(event.name, options.isClientCall(event.name), options);
        open.set(event.index, call);
        const { extraContent } = event;
        const server = call.clientNumber === null ? options.serverOf(call.name) : undefined;
        const first = {
          id: call.id,
          name: call.name,
          ...(server === undefined ? {} : { server }),
          ...(extraContent === undefined ? {} : { extraContent }),
        };
        yield { type: 'tool_call', ...numbersOf(call), ...first, arguments: '' };
        break;
      }
      case 'tool_call_delta': {
        const call = open.get(event.index);
        if (call === undefined || event.arguments === '') break;
        call.arguments += event.arguments;
        yield { type: 'tool_call', ...numbersOf(call), arguments: event.arguments };
        break;
      }
      case 'tool_call_end': {
        const call = open.get(event.index);
        if (call === undefined) break;
        // An adapter that had nothing to stream (whole answers, `{}` for nothing) says the arguments here only.
        if (call.arguments === '' && event.arguments !== '') {
          yield { type: 'tool_call', ...numbersOf(call), arguments: event.arguments };
        }
        call.arguments = event.arguments;
        call.ended = true;
        if (event.parseError !== undefined) call.parseError = event.parseError;
        break;
      }
      case 'usage':
        message.usage = event.usage;
        break;
      case 'message_end':
        ended = true;
        message.finishReasons[event.choice ?? 0] = event.finishReason;
        if (event.extras !== undefined) message.extras = event.extras;
        if (event.providerState !== undefined) message.providerState = event.providerState;
        break;
      case 'error':
        throw event.error;
    }
  }
  if (!ended) throw new AppError('model_stream_cut', 'The model ended its answer in the middle');
  message.finishReason = message.finishReasons[0] ?? 'stop';
  message.calls = [...open.values()].filter((call) => call.ended).map(toAssembledCall);
  return message;
}

/** A provider may begin its message again; what was streamed of a call to the caller cannot be taken back. */
function restart(message: AssembledMessage, open: Map<number, OpenCall>): void {
  if ([...open.values()].some((call) => call.clientNumber !== null)) {
    throw new AppError(
      'model_bad_response',
      'The model began its answer again after it had called a tool of the caller',
    );
  }
  message.text = '';
  message.reasoning = '';
}

function begin(name: string, isClient: boolean, { numbering, idsAreKept }: AssembleOptions): OpenCall {
  return {
    id: mintCallId(idsAreKept),
    name,
    arguments: '',
    number: numbering.calls++,
    clientNumber: isClient ? numbering.clientCalls++ : null,
    ended: false,
  };
}

const numbersOf = (call: OpenCall) => ({ index: call.number, clientIndex: call.clientNumber });
const choiceOf = (event: { choice?: number }) => (event.choice === undefined ? {} : { choice: event.choice });

function toAssembledCall({ id, name, arguments: text, parseError }: OpenCall): AssembledCall {
  return { id, name, arguments: text, ...(parseError === undefined ? {} : { parseError }) };
}

/** The message as the model is shown it again in the next round. */
export function toAssistantMessage(message: AssembledMessage): AssistantMessage {
  return {
    role: 'assistant',
    content: message.text === '' ? null : message.text,
    ...(message.calls.length === 0
      ? {}
      : {
          tool_calls: message.calls.map((call) => ({
            id: call.id,
            type: 'function',
            function: { name: call.name, arguments: call.parseError === undefined ? call.arguments : '{}' },
          })),
        }),
    ...(message.reasoning === '' ? {} : { reasoning_content: message.reasoning }),
    ...(message.providerState === undefined ? {} : { provider_state: message.providerState }),
  };
}
