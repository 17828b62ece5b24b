// Translates turn events to Anthropic's stream events, for both the stream and the JSON answer. Only one block is open at a
// time: if a model streams parallel calls, the later ones wait until the first is complete.
import type { FinishReason } from '#libs/schemas/model-event.js';
import { parseJsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { usageDetail, type Usage } from '#libs/schemas/usage.js';
import { roundSeparator } from '../turn/turn-state.js';
import { refusalOf } from '../chat-apis/refusal.js';
import type { WireBlock, WireDelta, WireEvent, WireStopReason, WireUsage } from './wire-types.js';

type CallEvent = Extract<TurnEvent, { type: 'tool_call' }>;
type DoneEvent = Extract<TurnEvent, { type: 'done' }>;

interface PendingCall {
  block: WireBlock;
  /** Arguments that are still to be sent. */
  unsent: string;
  sent: string;
}

export class MessageEvents {
  private blocks = 0;
  private open: WireBlock['type'] | undefined;
  /** Calls of the current message by index, in order of their start. */
  private readonly calls = new Map<number, PendingCall>();
  /** Calls that run here and have no result yet, by our ids. */
  private readonly running = new Set<string>();
  private hasText = false;
  private resultsSinceText = false;
  private refused = false;

  /** `emit` gets each event at once. */
  constructor(
    private readonly messageId: string,
    private readonly emit: (event: WireEvent) => void,
  ) {}

  add(event: TurnEvent): void {
    if (event.type === 'tool_call') {
      this.call(event);
      return;
    }
    this.flushCalls();
    switch (event.type) {
      case 'start':
        this.begin(event.model);
        break;
      case 'content':
        if ((event.choice ?? 0) > 0) break;
        this.refused ||= refusalOf(event) !== '';
        this.text(event.text || refusalOf(event));
        break;
      case 'reasoning':
        if ((event.choice ?? 0) === 0) this.thinking(event.text);
        break;
      case 'tool_result':
        // A result is shown only in the message that shows its call.
        if (!this.running.delete(event.callId)) break;
        this.whole({
          type: 'mcp_tool_result',
          tool_use_id: toShownCallId(event.callId),
          is_error: !event.result.success,
          content: [{ type: 'text', text: event.result.content, citations: null }],
        });
        this.resultsSinceText = true;
        break;
      case 'done':
        this.finish(event);
        break;
      case 'tool_progress':
      case 'approval_required':
      case 'sign_in_required':
      case 'error':
      case 'rewind':
        break;
    }
  }

  private begin(model: string): void {
    this.emit({
      type: 'message_start',
      message: {
        id: this.messageId,
        type: 'message',
        role: 'assistant',
        model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        container: null,
        // The counts follow in `message_delta`.
        usage: { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    });
  }

  private text(given: string): void {
    // Blocks between the texts of two rounds make the separator unnecessary.
    const text = this.resultsSinceText && this.hasText ? withoutSeparator(given) : given;
    if (text === '') return;
    this.hasText = true;
    this.resultsSinceText = false;
    if (this.open !== 'text') this.start({ type: 'text', text: '', citations: null });
    this.delta({ type: 'text_delta', text });
  }

  private thinking(thinking: string): void {
    if (this.open !== 'thinking') this.start({ type: 'thinking', thinking: '', signature: '' });
    this.delta({ type: 'thinking_delta', thinking });
  }

  private call(event: CallEvent): void {
    if (event.id !== undefined) {
      const name = event.name ?? '';
      if (event.clientIndex === null) this.running.add(event.id);
      const block: WireBlock =
        event.clientIndex === null
          ? { type: 'mcp_tool_use', id: toShownCallId(event.id), name, server_name: event.server ?? '', input: {} }
          : { type: 'tool_use', id: event.id, name, input: {} };
      const first = this.calls.size === 0;
      this.calls.set(event.index, { block, unsent: '', sent: '' });
      if (first) this.start(block);
    }
    const call = this.calls.get(event.index);
    if (call === undefined) return;
    call.unsent += event.arguments;
    this.sendCalls();
  }

  /** Sends the arguments of the first call so far, and of later calls once the calls before them are complete. */
  private sendCalls(): void {
    for (;;) {
      const [current] = this.calls;
      if (current === undefined) return;
      const [number, call] = current;
      this.send(call);
      if (this.calls.size === 1 || !isComplete(call.sent)) return;
      this.nextCall(number);
    }
  }

  /** Another event follows, so no more arguments will come. */
  private flushCalls(): void {
    for (const [number, call] of this.calls) {
      this.send(call);
      this.nextCall(number);
    }
  }

  private send(call: PendingCall): void {
    if (call.unsent === '') return;
    const partial_json = call.unsent;
    call.sent += partial_json;
    call.unsent = '';
    this.delta({ type: 'input_json_delta', partial_json });
  }

  private nextCall(number: number): void {
    this.calls.delete(number);
    this.stop();
    const [next] = this.calls.values();
    if (next !== undefined) this.start(next.block);
  }

  private finish(event: DoneEvent): void {
    this.stop();
    const stop_reason = this.refused ? 'refusal' : stopReasons[event.finishReason];
    this.emit({
      type: 'message_delta',
      delta: { stop_reason, stop_sequence: null, stop_details: null, container: null },
      usage: toWireUsage(event.usage),
      tool_execution: event.toolExecution,
      warnings: event.warnings,
    });
    this.emit({ type: 'message_stop' });
  }

  private whole(block: WireBlock): void {
    this.start(block);
    this.stop();
  }

  private start(block: WireBlock): void {
    this.stop();
    this.open = block.type;
    this.emit({ type: 'content_block_start', index: this.blocks, content_block: block });
  }

  private delta(delta: WireDelta): void {
    this.emit({ type: 'content_block_delta', index: this.blocks, delta });
  }

  private stop(): void {
    if (this.open === undefined) return;
    this.open = undefined;
    this.emit({ type: 'content_block_stop', index: this.blocks++ });
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

/** Server calls get Anthropic's id prefix for them, so that in a history they are never taken for the caller's own calls. */
const toShownCallId = (id: string): string => id.replace(/^call_/, 'mcptoolu_');

const isComplete = (text: string): boolean => text.trimEnd().endsWith('}') && parseJsonObject(text) !== undefined;

/** Anthropic's `input_tokens` do not include cached tokens; OpenAI's `prompt_tokens` do. */
export function toWireUsage(usage: Usage): WireUsage {
  const read = usageDetail(usage, 'prompt_tokens_details', 'cached_tokens');
  const written = usageDetail(usage, 'prompt_tokens_details', 'cache_creation_tokens');
  return {
    input_tokens: Math.max(0, usage.prompt_tokens - read - written),
    output_tokens: usage.completion_tokens,
    cache_creation_input_tokens: written,
    cache_read_input_tokens: read,
  };
}
