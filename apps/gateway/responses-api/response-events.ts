// Translates turn events to the events of OpenAI's responses stream. The last one contains the whole response.
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { roundSeparator } from '../turn/turn-state.js';
import { CallerEvents, type CallerForms } from '../chat-apis/caller-events.js';
import { refusalOf } from '../chat-apis/refusal.js';
import { type CallItem, deltaTypes, isOwnCall, newCall, toResponseUsage } from './wire-items.js';
import type {
  WireResponseEvent,
  WireItem,
  WireMcpCall,
  WireMcpListTools,
  WireMessageItem,
  WireReasoning,
  WireResponse,
} from './wire-types.js';

type CallEvent = Extract<TurnEvent, { type: 'tool_call' }>;
type ResultEvent = Extract<TurnEvent, { type: 'tool_result' }>;
type DoneEvent = Extract<TurnEvent, { type: 'done' }>;

interface Shown {
  listed?: readonly WireMcpListTools[] | undefined;
  forms?: CallerForms | undefined;
  /** Gets each event at once, because the response and items of an event change later. */
  emit?: (event: WireResponseEvent) => void;
}

export class ResponseEvents {
  private open: WireMessageItem | WireReasoning | undefined;
  private readonly calls = new Map<number, CallItem>();
  /** Server calls without a result yet, by their id here. */
  private readonly running = new Map<string, WireMcpCall>();
  private hasText = false;
  private resultsSinceText = false;

  private readonly listed: readonly WireMcpListTools[];
  private readonly caller: CallerEvents | undefined;
  private readonly emit: (event: WireResponseEvent) => void;

  /** `response` must be new, without output. */
  constructor(
    readonly response: WireResponse,
    { listed = [], forms, emit = () => undefined }: Shown = {},
  ) {
    this.listed = listed;
    this.caller = forms && new CallerEvents(forms);
    this.emit = emit;
  }

  get begun(): boolean {
    return this.response.model !== '';
  }

  add(event: TurnEvent): void {
    if (this.caller === undefined) this.translate(event);
    else for (const each of this.caller.of(event)) this.translate(each);
  }

  private translate(event: TurnEvent): void {
    if (event.type === 'tool_call') {
      this.call(event);
      return;
    }
    this.endCalls();
    switch (event.type) {
      case 'start':
        this.begin(event.model);
        break;
      case 'content':
        if ((event.choice ?? 0) > 0) break;
        this.text(event.text);
        this.refusal(refusalOf(event));
        break;
      case 'reasoning':
        if ((event.choice ?? 0) === 0) this.reasoning(event.text);
        break;
      case 'tool_result':
        this.result(event);
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
    this.response.model = model;
    this.emit({ type: 'response.created', response: this.response });
    this.emit({ type: 'response.in_progress', response: this.response });
    for (const list of this.listed) {
      const of = this.put(list);
      this.emit({ type: 'response.mcp_list_tools.in_progress', ...of });
      this.emit({ type: 'response.mcp_list_tools.completed', ...of });
      this.itemDone(list);
    }
  }

  private text(given: string): void {
    // Items between the texts of two rounds make the separator unnecessary.
    const separated = this.resultsSinceText && this.hasText && given.startsWith(roundSeparator);
    const delta = separated ? given.slice(roundSeparator.length) : given;
    if (delta === '') return;
    this.hasText = true;
    this.resultsSinceText = false;
    const part = this.part({ type: 'output_text', text: '', annotations: [], logprobs: [] });
    part.text += delta;
    this.emit({ type: 'response.output_text.delta', ...this.of(this.open!), content_index: 0, delta, logprobs: [] });
  }

  private refusal(delta: string): void {
    if (delta === '') return;
    const part = this.part({ type: 'refusal', refusal: '' });
    part.refusal += delta;
    this.emit({ type: 'response.refusal.delta', ...this.of(this.open!), content_index: 0, delta });
  }

  /** The part of the open message, or of a new message if there is none or its part has another type. */
  private part<Part extends WireMessageItem['content'][number]>(empty: Part): Part {
    const { open } = this;
    if (open?.type === 'message' && open.content[0]!.type === empty.type) return open.content[0] as Part;
    this.endItem();
    const id = this.itemId('msg');
    const message: WireMessageItem = { type: 'message', id, role: 'assistant', status: 'in_progress', content: [] };
    const of = this.put(message);
    message.content.push(empty);
    this.open = message;
    this.emit({ type: 'response.content_part.added', ...of, content_index: 0, part: empty });
    return empty;
  }

  private reasoning(delta: string): void {
    if (this.open?.type !== 'reasoning') {
      this.endItem();
      const item: WireReasoning = { type: 'reasoning', id: this.itemId('rs'), summary: [] };
      const of = this.put(item);
      item.summary.push({ type: 'summary_text', text: '' });
      this.open = item;
      const part = item.summary[0]!;
      this.emit({ type: 'response.reasoning_summary_part.added', ...of, summary_index: 0, part });
    }
    const item = this.open;
    item.summary[0]!.text += delta;
    this.emit({ type: 'response.reasoning_summary_text.delta', ...this.of(item), summary_index: 0, delta });
  }

  private call(event: CallEvent): void {
    if (event.id !== undefined) {
      this.endItem();
      const item = newCall(event.id, event);
      this.calls.set(event.index, item);
      if (item.type === 'mcp_call') this.running.set(event.id, item);
      const of = this.put(item);
      if (item.type === 'mcp_call') this.emit({ type: 'response.mcp_call.in_progress', ...of });
    }
    const item = this.calls.get(event.index);
    const delta = event.arguments;
    if (item === undefined || delta === '') return;
    if (item.type === 'custom_tool_call') item.input += delta;
    else item.arguments += delta;
    this.emit({ type: deltaTypes[item.type], ...this.of(item), delta });
  }

  /** Another event follows, so the calls are complete. Server calls end with their results. */
  private endCalls(): void {
    for (const item of this.calls.values()) {
      if (item.type === 'mcp_call') {
        this.emit({ type: 'response.mcp_call_arguments.done', ...this.of(item), arguments: item.arguments });
        continue;
      }
      item.status = 'completed';
      if (item.type === 'custom_tool_call') {
        this.emit({ type: 'response.custom_tool_call_input.done', ...this.of(item), input: item.input });
      } else {
        const { name, arguments: args } = item;
        this.emit({ type: 'response.function_call_arguments.done', ...this.of(item), name, arguments: args });
      }
      this.itemDone(item);
    }
    this.calls.clear();
  }

  private result({ callId, result }: ResultEvent): void {
    this.resultsSinceText = true;
    const item = this.running.get(callId);
    if (item === undefined) return;
    this.running.delete(callId);
    item.status = result.success ? 'completed' : 'failed';
    if (result.success) item.output = result.content;
    else item.error = { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: result.content }] };
    this.emit({ type: result.success ? 'response.mcp_call.completed' : 'response.mcp_call.failed', ...this.of(item) });
    this.itemDone(item);
  }

  private finish(event: DoneEvent): void {
    this.endItem();
    const { response } = this;
    const cut = event.finishReason === 'length' || event.finishReason === 'content_filter';
    // A call that was cut is incomplete.
    for (const item of cut ? response.output : []) {
      if (isOwnCall(item) || (item.type === 'mcp_call' && item.status === 'in_progress')) {
        item.status = 'incomplete';
      }
    }
    response.status = cut ? 'incomplete' : 'completed';
    if (cut) {
      const reason = event.finishReason === 'length' ? 'max_output_tokens' : 'content_filter';
      response.incomplete_details = { reason };
    }
    response.usage = toResponseUsage(event.usage);
    response.tool_execution = event.toolExecution;
    response.warnings = event.warnings;
    this.emit({ type: cut ? 'response.incomplete' : 'response.completed', response: this.response });
  }

  private put(item: WireItem): { item_id: string; output_index: number } {
    this.response.output.push(item);
    this.emit({ type: 'response.output_item.added', output_index: this.response.output.length - 1, item });
    return this.of(item);
  }

  private endItem(): void {
    const item = this.open;
    this.open = undefined;
    if (item === undefined) return;
    const of = this.of(item);
    if (item.type === 'message') {
      const part = item.content[0]!;
      item.status = 'completed';
      if (part.type === 'refusal') {
        this.emit({ type: 'response.refusal.done', ...of, content_index: 0, refusal: part.refusal });
      } else {
        this.emit({ type: 'response.output_text.done', ...of, content_index: 0, text: part.text, logprobs: [] });
      }
      this.emit({ type: 'response.content_part.done', ...of, content_index: 0, part });
    } else {
      const part = item.summary[0]!;
      this.emit({ type: 'response.reasoning_summary_text.done', ...of, summary_index: 0, text: part.text });
      this.emit({ type: 'response.reasoning_summary_part.done', ...of, summary_index: 0, part });
    }
    this.itemDone(item);
  }

  private itemDone(item: WireItem): void {
    this.emit({ type: 'response.output_item.done', output_index: this.response.output.indexOf(item), item });
  }

  private of(item: WireItem): { item_id: string; output_index: number } {
    return { item_id: item.id, output_index: this.response.output.indexOf(item) };
  }

  /** An id that is the same each time a response is rendered, with or without the list of tools. */
  private itemId(kind: string): string {
    const number = this.response.output.length - this.listed.length;
    return `${kind}_${this.response.id.slice('resp_'.length)}${number.toString(16).padStart(4, '0')}`;
  }
}
