// The content blocks of one streamed message. Text, thinking and calls become events at once. Every block is also stored
// unchanged, because thinking must be sent back with its signature.
import { isJsonObject, jsonObjectOf, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { StreamedCall, StreamedCalls } from '../conversation/streamed-calls.js';

interface OpenBlock {
  raw: JsonObject;
  /** The call of a `tool_use` block. */
  call?: StreamedCall;
  /** Streamed input of a call, or of a tool that the provider runs. */
  json: string;
  /** The earlier call with the same id, which the block repeats unless its input differs. */
  repeats?: StreamedCall;
}

export class MessageBlocks {
  private readonly all: OpenBlock[] = [];
  /** The open block of each index. Indexes need not start at 0 and may be reused. */
  private readonly byIndex = new Map<number, OpenBlock>();

  private readonly begun = new Set<number>();

  constructor(private readonly calls: StreamedCalls) {}

  has(index: number): boolean {
    return this.begun.has(index);
  }

  start(index: number, given: Json | undefined, out: ModelEvent[]): void {
    if (!isJsonObject(given)) return;
    const open = this.byIndex.get(index);
    if (open?.call !== undefined && open.call.id !== '' && open.call.id === given['id']) return;
    if (open !== undefined) this.stop(index, out);
    const block: OpenBlock = { raw: { ...given }, json: '' };
    this.byIndex.set(index, block);
    this.begun.add(index);
    const repeated = this.sameCall(given);
    if (repeated !== undefined) return void (block.repeats = repeated);
    this.all.push(block);
    if (given['type'] === 'text') pushDelta('text_delta', given['text'], out);
    if (given['type'] === 'thinking') pushDelta('reasoning_delta', given['thinking'], out);
    if (given['type'] === 'tool_use') this.call(block, out);
  }

  /** Returns false for input of a call that never started. */
  delta(index: number, given: Json | undefined, out: ModelEvent[]): boolean {
    if (!isJsonObject(given)) return true;
    const block = this.byIndex.get(index) ?? this.implied(index, given['type']);
    if (block === undefined) return given['type'] !== 'input_json_delta' || textOrEmpty(given['partial_json']) === '';
    const { raw } = block;
    switch (given['type']) {
      case 'text_delta':
        raw['text'] = textOrEmpty(raw['text']) + textOrEmpty(given['text']);
        pushDelta('text_delta', given['text'], out);
        break;
      case 'thinking_delta':
        raw['thinking'] = textOrEmpty(raw['thinking']) + textOrEmpty(given['thinking']);
        pushDelta('reasoning_delta', given['thinking'], out);
        break;
      case 'signature_delta':
        raw['signature'] = textOrEmpty(given['signature']);
        break;
      case 'citations_delta':
        raw['citations'] = [...(Array.isArray(raw['citations']) ? raw['citations'] : []), given['citation'] ?? null];
        break;
      case 'input_json_delta': {
        const piece = textOrEmpty(given['partial_json']);
        block.json += piece;
        if (block.call !== undefined) this.calls.append(block.call, piece, out);
        break;
      }
      default:
    }
    return true;
  }

  stop(index: number, out: ModelEvent[]): void {
    const block = this.byIndex.get(index);
    if (block === undefined) return;
    this.byIndex.delete(index);
    const { input } = block.raw;
    if (block.repeats !== undefined) {
      const before = JSON.stringify(jsonObjectOf(block.repeats.arguments));
      const now = JSON.stringify(block.json === '' ? (input ?? {}) : jsonObjectOf(block.json));
      if (now === '{}' || now === before) return;
      // Some servers give all calls the same id.
      this.all.push(block);
      this.call(block, out);
      if (block.json !== '') this.calls.append(block.call!, block.json, out);
    }
    // Whole answers, and servers that do not stream input, have the input in the block.
    if (block.call !== undefined && block.json === '' && isJsonObject(input) && Object.keys(input).length > 0) {
      this.calls.append(block.call, JSON.stringify(input), out);
    }
    if (block.json !== '') block.raw['input'] = jsonObjectOf(block.json);
  }

  /** The message has ended, so blocks that are still open are complete. */
  stopAll(out: ModelEvent[]): void {
    for (const index of this.byIndex.keys()) this.stop(index, out);
  }

  private call(block: OpenBlock, out: ModelEvent[]): void {
    block.call = this.calls.open();
    block.call.id = textOrEmpty(block.raw['id']);
    block.call.name = textOrEmpty(block.raw['name']);
    this.calls.append(block.call, '', out);
  }

  private sameCall({ type, id, name }: JsonObject): StreamedCall | undefined {
    if (type !== 'tool_use' || textOrEmpty(id) === '') return undefined;
    return this.calls.list.find((call) => call.id === id && call.name === name);
  }

  /** A block for a delta whose `content_block_start` is missing, so that its text is not lost. */
  private implied(index: number, type: Json | undefined): OpenBlock | undefined {
    if (type !== 'text_delta' && type !== 'thinking_delta') return undefined;
    const raw: JsonObject =
      type === 'text_delta' ? { type: 'text' } : { type: 'thinking', thinking: '', signature: '' };
    const block: OpenBlock = { raw, json: '' };
    this.all.push(block);
    this.byIndex.set(index, block);
    return block;
  }

  /** All blocks unchanged. */
  get raw(): JsonObject[] {
    return this.all.map((block) => block.raw);
  }

  /**
   * The blocks to store for later requests, with each call replaced by its position in `ended`. Undefined if there are
   * only text and calls, since the history has these.
   */
  replayed(ended: readonly StreamedCall[]): JsonObject[] | undefined {
    if (this.all.every(({ raw }) => raw['type'] === 'text' || raw['type'] === 'tool_use')) return undefined;
    return this.all.flatMap(({ raw, call }) => {
      if (call === undefined) return [raw];
      const number = ended.indexOf(call);
      return number === -1 ? [] : [{ type: 'tool_use', call: number }];
    });
  }
}

function pushDelta(type: 'text_delta' | 'reasoning_delta', text: Json | undefined, out: ModelEvent[]): void {
  if (typeof text === 'string' && text !== '') out.push({ type, text });
}
