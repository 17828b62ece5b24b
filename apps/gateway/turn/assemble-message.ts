// Reads one model answer: emits events for the caller at once, and collects the whole message for the loop. No call may run
// before the answer has ended, and only calls that the provider completed count.
import type { Flow } from '#libs/concurrency/flow.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintCallId } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { AssistantMessage, ProviderState } from '#libs/schemas/message.js';
import type { AnswerExtras, FinishReason } from '#libs/schemas/model-event.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { noUsage, type Usage } from '#libs/schemas/usage.js';
import type { Warning } from '#libs/schemas/warning.js';
import type { RoutedModelEvent } from '../models/model-provider.js';
import { Call } from './call.js';

export interface AssembledMessage {
  provider: string;
  model: string;
  text: string;
  reasoning: string;
  calls: Call[];
  usage: Usage;
  finishReason: FinishReason;
  /** One for each choice, if the caller asked for several. */
  finishReasons: FinishReason[];
  /** When the model was called. */
  startedAt: Date;
  extras?: AnswerExtras;
  providerState?: ProviderState;
  warnings?: readonly Warning[];
}

export interface CallNumbering {
  /** Number of calls of the run so far; no number is reused. */
  calls: number;
  clientCalls: number;
}

export interface AssembleOptions {
  /** Whether the caller runs calls of this name. Undefined: the model was offered no tools, and its calls are dropped. */
  isClientCall: ((name: string) => boolean) | undefined;
  /** The server that runs a call of this name. */
  serverOf: (name: string) => string | undefined;
  idsAreStored: boolean;
  /** Called whenever an answer begins; returns the run's start event the first time. */
  onStart: (model: string) => TurnEvent | undefined;
  /** Precedes the first text of the answer: the blank line between two rounds. */
  separator: string;
  numbering: CallNumbering;
  /** Gets the events for the caller at once. */
  emit: (events: readonly TurnEvent[]) => Flow;
}

type EventOf<Type extends RoutedModelEvent['type']> = Extract<RoutedModelEvent, { type: Type }>;

export class MessageAssembler {
  private readonly assembled: AssembledMessage = {
    provider: '',
    model: '',
    text: '',
    reasoning: '',
    calls: [],
    usage: noUsage,
    finishReason: 'stop',
    finishReasons: [],
    startedAt: new Date(),
  };
  private open = new Map<number, Call>();
  private ended = false;
  private failure: AppError | undefined;

  constructor(private readonly options: AssembleOptions) {}

  /** Takes one batch; batches after a failure are ignored. */
  readonly take = (batch: readonly RoutedModelEvent[]): Flow => {
    const emitted: TurnEvent[] = [];
    for (const event of batch) {
      if (this.failure !== undefined) break;
      this.note(event, emitted);
    }
    const flow = emitted.length > 0 ? this.options.emit(emitted) : undefined;
    return this.failure === undefined ? flow : 'enough';
  };

  /** @throws the AppError of an `error` event; model_bad_response if the message restarted after a client call was shown */
  throwIfFailed(): void {
    if (this.failure !== undefined) throw this.failure;
  }

  /** The complete message, after its last event. @throws AppError model_stream_cut if the answer never ended */
  message(): AssembledMessage {
    if (!this.ended) throw new AppError('model_stream_cut', 'The model stopped in the middle of its answer');
    const { assembled: message } = this;
    message.finishReason = message.finishReasons[0] ?? 'stop';
    message.calls = [...this.open.values()].filter((call) => call.complete);
    return message;
  }

  private note(event: RoutedModelEvent, emitted: TurnEvent[]): void {
    const { assembled: message, options } = this;
    switch (event.type) {
      case 'routed':
        message.provider = event.provider;
        break;
      case 'message_start': {
        this.restart();
        message.model = event.model;
        if (event.warnings !== undefined) message.warnings = event.warnings;
        const start = options.onStart(event.model);
        if (start !== undefined) emitted.push(start);
        break;
      }
      case 'text_delta':
        this.text(event, emitted);
        break;
      case 'reasoning_delta':
        if (event.text === '') break;
        if ((event.choice ?? 0) === 0) message.reasoning += event.text;
        emitted.push({ type: 'reasoning', text: event.text, ...choiceOf(event) });
        break;
      case 'tool_call_start':
        this.begin(event, emitted);
        break;
      case 'tool_call_delta': {
        const call = this.open.get(event.index);
        if (call === undefined || (event.arguments === '' && event.extras === undefined)) break;
        call.sentText += event.arguments;
        emitted.push({ type: 'tool_call', ...numbersOf(call), ...extrasOf(event), arguments: event.arguments });
        break;
      }
      case 'tool_call_end':
        this.end(event, emitted);
        break;
      case 'usage':
        message.usage = event.usage;
        break;
      case 'message_end':
        this.ended = true;
        message.finishReasons[event.choice ?? 0] = event.finishReason;
        if (event.extras !== undefined) message.extras = event.extras;
        if (event.providerState !== undefined) message.providerState = event.providerState;
        break;
      case 'error':
        this.failure = event.error;
    }
  }

  private text(event: EventOf<'text_delta'>, emitted: TurnEvent[]): void {
    const { text, extras, choice } = event;
    if (text === '' && extras === undefined) return;
    const { assembled: message, options } = this;
    const shown = message.text === '' && text !== '' ? options.separator + text : text;
    if ((choice ?? 0) === 0) message.text += text;
    const content: TurnEvent = { type: 'content', text: shown };
    if (choice !== undefined) content.choice = choice;
    if (extras !== undefined) content.extras = extras;
    emitted.push(content);
  }

  private begin(event: EventOf<'tool_call_start'>, emitted: TurnEvent[]): void {
    const { index, name } = event;
    const { isClientCall, numbering, idsAreStored: idsAreKept, serverOf } = this.options;
    if (isClientCall === undefined) return;
    const call = new Call(mintCallId(idsAreKept), name);
    call.number = numbering.calls++;
    if (isClientCall(name)) call.clientNumber = numbering.clientCalls++;
    this.open.set(index, call);
    const server = call.clientNumber === null ? serverOf(name) : undefined;
    emitted.push({
      type: 'tool_call',
      ...numbersOf(call),
      id: call.id,
      name,
      ...(server === undefined ? {} : { server }),
      ...extrasOf(event),
      arguments: '',
    });
  }

  private end(event: EventOf<'tool_call_end'>, emitted: TurnEvent[]): void {
    const call = this.open.get(event.index);
    if (call === undefined) return;
    // Some adapters give the arguments only at the end: whole answers, and `{}` for none.
    if (call.sentText === '' && event.arguments !== '') {
      emitted.push({ type: 'tool_call', ...numbersOf(call), arguments: event.arguments });
    }
    call.sentText = event.arguments;
    call.complete = true;
    call.parseError = event.parseError;
  }

  /** A provider may restart its message, but a client call that has been streamed to the caller cannot be withdrawn. */
  private restart(): void {
    for (const call of this.open.values()) {
      if (call.clientNumber === null) continue;
      const message = 'The model began its answer again after it had called a tool of the caller';
      this.failure = new AppError('model_bad_response', message);
      return;
    }
    this.assembled.text = '';
    this.assembled.reasoning = '';
    this.open.clear();
  }
}

const numbersOf = (call: Call) => ({ index: call.number, clientIndex: call.clientNumber });
const extrasOf = ({ extras }: { extras?: JsonObject }) => (extras === undefined ? {} : { extras });
const choiceOf = (event: { choice?: number }) => (event.choice === undefined ? {} : { choice: event.choice });

/** The message as the model sees it in the next round. */
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
            function: { name: call.name, arguments: call.parseError === undefined ? call.sentText : '{}' },
          })),
        }),
    ...(message.reasoning === '' ? {} : { reasoning_content: message.reasoning }),
    ...(message.providerState === undefined ? {} : { provider_state: message.providerState }),
  };
}
