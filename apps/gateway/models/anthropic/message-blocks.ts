// The content blocks of one message as they stream in: what a caller sees becomes events at once, and every block is kept
// as it came, so that thinking and its signature can go back unchanged.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { readArguments } from '../conversation/read-conversation.js';
import type { StreamedCall, StreamedCalls } from '../conversation/streamed-calls.js';

interface OpenBlock {
  raw: JsonObject;
  /** Of a `tool_use` block. */
  call?: StreamedCall;
  /** Streamed input: of a call, or of a tool that runs at the provider. */
  json: string;
  /** A call told again by its id: none of its own, unless its input turns out to be another. */
  again?: StreamedCall;
}

export class MessageBlocks {
  private readonly all: OpenBlock[] = [];
  /** The block that each index means now; indexes need not begin at 0 and may be used again. */
  private readonly byIndex = new Map<number, OpenBlock>();

  private readonly begun = new Set<number>();

  constructor(private readonly calls: StreamedCalls) {}

  /** Whether a block of that index was begun. */
  has(index: number): boolean {
    return this.begun.has(index);
  }

  start(index: number, given: Json | undefined, out: ModelEvent[]): void {
    if (!isJsonObject(given)) return;
    const open = this.byIndex.get(index);
    // The same call told twice stays one.
    if (open?.call !== undefined && open.call.id !== '' && open.call.id === given['id']) return;
    if (open !== undefined) this.stop(index, out);
    const block: OpenBlock = { raw: { ...given }, json: '' };
    this.byIndex.set(index, block);
    this.begun.add(index);
    const again = this.toldBefore(given);
    if (again !== undefined) return void (block.again = again);
    this.all.push(block);
    if (given['type'] === 'text') tell('text_delta', given['text'], out);
    if (given['type'] === 'thinking') tell('reasoning_delta', given['thinking'], out);
    if (given['type'] === 'tool_use') this.call(block, out);
  }

  /** False for a piece of a call that never began. */
  delta(index: number, given: Json | undefined, out: ModelEvent[]): boolean {
    if (!isJsonObject(given)) return true;
    const block = this.byIndex.get(index) ?? this.implied(index, given['type']);
    if (block === undefined) return given['type'] !== 'input_json_delta' || text(given['partial_json']) === '';
    const { raw } = block;
    switch (given['type']) {
      case 'text_delta':
        raw['text'] = text(raw['text']) + text(given['text']);
        tell('text_delta', given['text'], out);
        break;
      case 'thinking_delta':
        raw['thinking'] = text(raw['thinking']) + text(given['thinking']);
        tell('reasoning_delta', given['thinking'], out);
        break;
      case 'signature_delta':
        raw['signature'] = text(given['signature']);
        break;
      case 'citations_delta':
        raw['citations'] = [...(Array.isArray(raw['citations']) ? raw['citations'] : []), given['citation'] ?? null];
        break;
      case 'input_json_delta': {
        const piece = text(given['partial_json']);
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
    if (block.again !== undefined) {
      const told = JSON.stringify(readArguments(block.again.arguments));
      const said = block.json === '' ? JSON.stringify(input ?? {}) : JSON.stringify(readArguments(block.json));
      if (said === '{}' || said === told) return;
      // A server that gives all its calls one id.
      this.all.push(block);
      this.call(block, out);
      if (block.json !== '') this.calls.append(block.call!, block.json, out);
    }
    // Whole answers, and servers that do not stream input, have it in the block itself.
    if (block.call !== undefined && block.json === '' && isJsonObject(input) && Object.keys(input).length > 0) {
      this.calls.append(block.call, JSON.stringify(input), out);
    }
    if (block.json !== '') block.raw['input'] = readArguments(block.json);
  }

  /** Of a message that has ended: blocks that were not closed are whole too. */
  stopAll(out: ModelEvent[]): void {
    for (const index of this.byIndex.keys()) this.stop(index, out);
  }

  private call(block: OpenBlock, out: ModelEvent[]): void {
    block.call = this.calls.open();
    block.call.id = text(block.raw['id']);
    block.call.name = text(block.raw['name']);
    this.calls.append(block.call, '', out);
  }

  private toldBefore({ type, id, name }: JsonObject): StreamedCall | undefined {
    if (type !== 'tool_use' || text(id) === '') return undefined;
    return this.calls.list.find((call) => call.id === id && call.name === name);
  }

  /** What a model says must not be lost because the start of its block was. */
  private implied(index: number, type: Json | undefined): OpenBlock | undefined {
    if (type !== 'text_delta' && type !== 'thinking_delta') return undefined;
    const raw: JsonObject =
      type === 'text_delta' ? { type: 'text' } : { type: 'thinking', thinking: '', signature: '' };
    const block: OpenBlock = { raw, json: '' };
    this.all.push(block);
    this.byIndex.set(index, block);
    return block;
  }

  /** As they came, to be sent back at once. */
  get raw(): JsonObject[] {
    return this.all.map((block) => block.raw);
  }

  /**
   * To be sent back later, a call by its number among those that ended; undefined when text and calls are all there is,
   * which the history has anyhow.
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

const text = (value: Json | undefined) => (typeof value === 'string' ? value : '');

function tell(type: 'text_delta' | 'reasoning_delta', said: Json | undefined, out: ModelEvent[]): void {
  if (typeof said === 'string' && said !== '') out.push({ type, text: said });
}
