// Turn events as Anthropic's stream events: the one translation that the stream writes and the JSON answer folds.
// Blocks follow one another: of calls that a model streams at once, the later ones wait for the first to be whole.
import type { FinishReason } from '#libs/schemas/model-event.js';
import { isJsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { Usage } from '#libs/schemas/usage.js';
import { roundSeparator } from '../chat/turn-state.js';
import { refusalOf } from '../chat-apis/refusal.js';
import { toShownCallId } from './server-call-ids.js';
import type { WireBlock, WireDelta, WireEvent, WireStopReason, WireUsage } from './wire-types.js';

type CallEvent = Extract<TurnEvent, { type: 'tool_call' }>;
type DoneEvent = Extract<TurnEvent, { type: 'done' }>;

interface PendingCall {
  block: WireBlock;
  /** Arguments that are not told yet. */
  untold: string;
  told: string;
}

export class MessageEvents {
  private blocks = 0;
  private open: WireBlock['type'] | undefined;
  /** Calls of the message that is being streamed, by their number, in the order they began. */
  private readonly calls = new Map<number, PendingCall>();
  /** Calls that run here and have no result yet, by our ids. */
  private readonly running = new Set<string>();
  private hasText = false;
  private resultsSinceText = false;
  private refused = false;

  /** `id` of the message. */
  constructor(private readonly id: string) {}

  /** What a reader is told of one event. */
  *add(event: TurnEvent): Generator<WireEvent> {
    if (event.type === 'tool_call') {
      yield* this.call(event);
      return;
    }
    yield* this.flushCalls();
    switch (event.type) {
      case 'start':
        yield this.begin(event.model);
        break;
      case 'content':
        if ((event.choice ?? 0) > 0) break;
        this.refused ||= refusalOf(event) !== '';
        yield* this.text(event.text || refusalOf(event));
        break;
      case 'reasoning':
        if ((event.choice ?? 0) === 0) yield* this.thinking(event.text);
        break;
      case 'tool_result':
        // Of a call that an earlier message showed: a result stands in the message of its call, or nowhere.
        if (!this.running.delete(event.callId)) break;
        yield* this.whole({
          type: 'mcp_tool_result',
          tool_use_id: toShownCallId(event.callId),
          is_error: !event.result.success,
          content: [{ type: 'text', text: event.result.content, citations: null }],
        });
        this.resultsSinceText = true;
        break;
      case 'done':
        yield* this.finish(event);
        break;
      case 'tool_progress':
      case 'approval_required':
      case 'error':
        break;
    }
  }

  private begin(model: string): WireEvent {
    return {
      type: 'message_start',
      message: {
        id: this.id,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        container: null,
        // Known when the model has ended: `message_delta` says it.
        usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    };
  }

  private *text(given: string): Generator<WireEvent> {
    // The blocks between two rounds separate their texts.
    const text = this.resultsSinceText && this.hasText ? withoutSeparator(given) : given;
    if (text === '') return;
    this.hasText = true;
    this.resultsSinceText = false;
    if (this.open !== 'text') yield* this.start({ type: 'text', text: '', citations: null });
    yield this.delta({ type: 'text_delta', text });
  }

  private *thinking(thinking: string): Generator<WireEvent> {
    if (this.open !== 'thinking') yield* this.start({ type: 'thinking', thinking: '', signature: '' });
    yield this.delta({ type: 'thinking_delta', thinking });
  }

  private *call(event: CallEvent): Generator<WireEvent> {
    if (event.id !== undefined) {
      const name = event.name ?? '';
      if (event.clientIndex === null) this.running.add(event.id);
      const block: WireBlock =
        event.clientIndex === null
          ? { type: 'mcp_tool_use', id: toShownCallId(event.id), name, server_name: event.server ?? '', input: {} }
          : { type: 'tool_use', id: event.id, name, input: {} };
      const first = this.calls.size === 0;
      this.calls.set(event.index, { block, untold: '', told: '' });
      if (first) yield* this.start(block);
    }
    const call = this.calls.get(event.index);
    if (call === undefined) return;
    call.untold += event.arguments;
    yield* this.tellCalls();
  }

  /** The first call is told as it comes; the next one when that is whole. */
  private *tellCalls(): Generator<WireEvent> {
    for (;;) {
      const [current] = this.calls;
      if (current === undefined) return;
      const [number, call] = current;
      yield* this.tell(call);
      if (this.calls.size === 1 || !isWhole(call.told)) return;
      yield* this.nextCall(number);
    }
  }

  /** The message has moved on: its calls are whole, or never will be. */
  private *flushCalls(): Generator<WireEvent> {
    for (const [number, call] of this.calls) {
      yield* this.tell(call);
      yield* this.nextCall(number);
    }
  }

  private *tell(call: PendingCall): Generator<WireEvent> {
    if (call.untold === '') return;
    const partial_json = call.untold;
    call.told += partial_json;
    call.untold = '';
    yield this.delta({ type: 'input_json_delta', partial_json });
  }

  private *nextCall(number: number): Generator<WireEvent> {
    this.calls.delete(number);
    yield* this.stop();
    const [next] = this.calls.values();
    if (next !== undefined) yield* this.start(next.block);
  }

  private *finish(event: DoneEvent): Generator<WireEvent> {
    yield* this.stop();
    const stop_reason = this.refused ? 'refusal' : stopReasons[event.finishReason];
    yield {
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null, stop_details: null, container: null },
      usage: toWireUsage(event.usage),
      ...(event.toolExecution === undefined ? {} : { tool_execution: event.toolExecution }),
    };
    yield { type: 'message_stop' };
  }

  private *whole(block: WireBlock): Generator<WireEvent> {
    yield* this.start(block);
    yield* this.stop();
  }

  private *start(block: WireBlock): Generator<WireEvent> {
    yield* this.stop();
    this.open = block.type;
    yield { type: 'content_block_start', index: this.blocks, content_block: block };
  }

  private delta(delta: WireDelta): WireEvent {
    return { type: 'content_block_delta', index: this.blocks, delta };
  }

  private *stop(): Generator<WireEvent> {
    if (this.open === undefined) return;
    this.open = undefined;
    yield { type: 'content_block_stop', index: this.blocks++ };
  }
}

const stopReasons: Record<FinishReason, WireStopReason> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
};

const withoutSeparator = (text: string): string =>
  text.startsWith(roundSeparator) ? text.slice(roundSeparator.length) : text;

/** A whole object cannot go on. */
function isWhole(text: string): boolean {
  if (!text.trimEnd().endsWith('}')) return false;
  try {
    return isJsonObject(JSON.parse(text));
  } catch {
    return false;
  }
}

/** OpenAI counts cached tokens among the prompt's, Anthropic beside them. */
export function toWireUsage(usage: Usage): WireUsage {
  const details = usage['prompt_tokens_details'];
  const count = (name: string) => {
    const value = isJsonObject(details) ? details[name] : undefined;
    return typeof value === 'number' ? value : 0;
  };
  const read = count('cached_tokens');
  const written = count('cache_creation_tokens');
  return {
    input_tokens: Math.max(0, usage.prompt_tokens - read - written),
    output_tokens: usage.completion_tokens,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
  };
}
