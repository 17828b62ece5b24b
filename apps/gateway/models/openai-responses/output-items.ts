// The output items of one response: text, reasoning and calls become events as they arrive, each exactly once. Items
// that later requests need are kept unchanged.
import { isJsonObject, jsonObjectOf, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { StreamedCall, StreamedCalls } from '../conversation/streamed-calls.js';

interface OutputItem {
  raw: JsonObject;
  /** Some of the item's text has been passed on. */
  emitted: boolean;
  /** The item is complete; earlier forms were only a part. */
  done: boolean;
  /** The call of a `function_call`. */
  call?: StreamedCall;
}

type Place = number | string;
type EmittedText = 'text_delta' | 'reasoning_delta';

export class OutputItems {
  /** Items in order of their beginning. */
  private readonly items = new Map<Place, OutputItem>();
  /** The part of text and of reasoning that was passed on last. */
  private readonly lastPart: Partial<Record<EmittedText, string>> = {};
  refused = false;

  constructor(
    private readonly calls: StreamedCalls,
    /** The provider's name of the function that a search of the client is a call of. */
    private readonly search: string | undefined,
  ) {}

  /** `response.output_item.added` */
  start(event: JsonObject, out: ModelEvent[]): void {
    const raw = event['item'];
    const item = this.at(placeOf(event, raw));
    if (!isJsonObject(raw) || item.done) return;
    item.raw = raw;
    // The arguments of a search come whole, with its end.
    if (this.isSearch(raw)) this.readCall(item, '', out);
    else if (raw['type'] === 'function_call') this.readCall(item, textOrEmpty(raw['arguments']), out);
  }

  /** `response.output_item.done` */
  end(event: JsonObject, out: ModelEvent[]): void {
    const raw = event['item'];
    if (isJsonObject(raw)) this.finish(placeOf(event, raw), raw, out);
  }

  /** A piece of text, of a refusal, or of reasoning. */
  text(type: EmittedText | 'refusal', event: JsonObject, out: ModelEvent[]): void {
    const place = placeOf(event, undefined);
    const item = this.at(place);
    if (item.done) return;
    item.emitted = true;
    const part = event['summary_index'] ?? (type === 'reasoning_delta' ? event['content_index'] : undefined) ?? '';
    this.emit(type, textOrEmpty(event['delta']), `${place} ${JSON.stringify(part)}`, out);
  }

  /** `response.function_call_arguments.delta` */
  arguments(event: JsonObject, out: ModelEvent[]): void {
    const item = this.at(placeOf(event, undefined));
    if (item.done) return;
    item.call ??= this.calls.open();
    this.calls.append(item.call, textOrEmpty(event['delta']), out);
  }

  /** `response.function_call_arguments.done` */
  wholeArguments(event: JsonObject, out: ModelEvent[]): void {
    const item = this.at(placeOf(event, undefined));
    if (item.done || typeof event['arguments'] !== 'string') return;
    item.call ??= this.calls.open();
    this.settle(item.call, event['arguments'], out);
  }

  /** The output of a response that has ended. Most servers have sent all items before; some leave the output empty. */
  complete(output: Json | undefined, out: ModelEvent[]): void {
    if (!Array.isArray(output)) return;
    // Events without indexes do not tell which items these are.
    if ([...this.items.keys()].some((place) => typeof place === 'string')) return;
    output.forEach((raw, place) => {
      if (isJsonObject(raw)) this.finish(place, raw, out);
    });
  }

  /**
   * The items to store for later requests, with each call replaced by its place in `ended`. Undefined if the history has
   * all that matters. Reasoning that can neither be read nor decrypted is lost, since the provider keeps nothing.
   */
  stored(ended: readonly StreamedCall[]): JsonObject[] | undefined {
    const kept = [...this.items.values()].flatMap(({ raw, call, done }): JsonObject[] => {
      if (!done || (raw['type'] === 'reasoning' && !isReadable(raw))) return [];
      if (call === undefined) return [raw];
      const { name: _, arguments: __, ...members } = raw;
      const place = ended.indexOf(call);
      return place === -1 ? [] : [{ ...members, call: place }];
    });
    // The API refuses reasoning that nothing follows.
    while (kept.at(-1)?.['type'] === 'reasoning') kept.pop();
    const isPlain = ({ type, phase }: JsonObject) =>
      type === 'function_call' || (type === 'message' && (phase ?? null) === null);
    return kept.every(isPlain) ? undefined : kept;
  }

  private finish(place: Place, raw: JsonObject, out: ModelEvent[]): void {
    const item = this.at(place);
    if (item.done) return;
    item.raw = raw;
    item.done = true;
    const { arguments: given } = raw;
    if (this.isSearch(raw)) return this.readCall(item, isJsonObject(given) ? JSON.stringify(given) : given, out);
    if (raw['type'] === 'function_call') return this.readCall(item, given, out);
    if (item.emitted) return;
    const isReasoning = raw['type'] === 'reasoning';
    for (const [at, part] of [...listOf(raw['summary']), ...listOf(raw['content'])].entries()) {
      const type = isReasoning ? 'reasoning_delta' : part['type'] === 'refusal' ? 'refusal' : 'text_delta';
      const text = textOrEmpty(part['text']) || textOrEmpty(part['refusal']);
      this.emit(type, text, isReasoning ? `${place} ${at}` : `${place}`, out);
    }
  }

  /** Separates parts of reasoning, and messages, from the one before. */
  private emit(type: EmittedText | 'refusal', text: string, part: string, out: ModelEvent[]): void {
    if (text === '') return;
    if (type === 'refusal') {
      this.refused = true;
      out.push({ type: 'text_delta', text: '', extras: { delta: { refusal: text } } });
      return;
    }
    const last = this.lastPart[type];
    this.lastPart[type] = part;
    out.push({ type, text: last === undefined || last === part ? text : `\n\n${text}` });
  }

  private readCall(item: OutputItem, given: Json | undefined, out: ModelEvent[]): void {
    const call = (item.call ??= this.calls.open());
    call.id ||= textOrEmpty(item.raw['call_id']) || textOrEmpty(item.raw['id']);
    call.name ||= this.isSearch(item.raw) ? this.search! : textOrEmpty(item.raw['name']);
    this.settle(call, typeof given === 'string' ? given : call.arguments, out);
  }

  /** Arguments that were passed on stay: complete arguments, which may be written differently, only add what is missing. */
  private settle(call: StreamedCall, whole: string, out: ModelEvent[]): void {
    const emitted = call.arguments;
    if (whole.startsWith(emitted)) return this.calls.append(call, whole.slice(emitted.length), out);
    this.calls.append(call, '', out);
    const isSame = whole === '' || JSON.stringify(jsonObjectOf(emitted)) === JSON.stringify(jsonObjectOf(whole));
    if (!isSame) call.broken = 'The arguments were sent twice, and differently';
  }

  private isSearch({ type, execution }: JsonObject): boolean {
    return this.search !== undefined && type === 'tool_search_call' && execution === 'client';
  }

  private at(place: Place): OutputItem {
    let item = this.items.get(place);
    if (item === undefined) this.items.set(place, (item = { raw: {}, emitted: false, done: false }));
    return item;
  }
}

/** The item's index, since some servers give an item another id in each event. */
function placeOf({ output_index: index, item_id: id }: JsonObject, item: Json | undefined): Place {
  if (typeof index === 'number') return index;
  return textOrEmpty(id) || (isJsonObject(item) ? textOrEmpty(item['id']) : '');
}

const isReadable = ({ encrypted_content: encrypted, content }: JsonObject) =>
  textOrEmpty(encrypted) !== '' || (Array.isArray(content) && content.length > 0);

const listOf = (parts: Json | undefined) => (Array.isArray(parts) ? parts.filter(isJsonObject) : []);
