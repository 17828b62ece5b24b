// Decides which call each fragment of a streamed tool call belongs to. A repeated fragment or id never makes a second
// call, but two equal calls stay two.
import { isJsonObject, parseJsonObject, textOrEmpty, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { StreamedCalls, type StreamedCall } from '../conversation/streamed-calls.js';
import { keptMembers, unknownMembers } from './read-openai-content.js';

interface Fragment {
  /** Other members, which the provider wants back. */
  extras: JsonObject | undefined;
  index: number | undefined;
  id: string;
  name: string;
  arguments: string;
}

export class ToolCallMerger {
  private readonly calls: StreamedCalls;
  /** The current call of each index. */
  private readonly byIndex = new Map<number, StreamedCall>();
  private readonly byId = new Map<string, StreamedCall>();
  /** The number of the chunk in which a call started. Two entries of one chunk are two calls, even if they are equal. */
  private readonly startChunk = new Map<StreamedCall, number>();
  private chunk = 0;

  constructor(nameOf: (wireName: string) => string) {
    this.calls = new StreamedCalls(nameOf);
  }

  get count(): number {
    return this.calls.list.length;
  }

  get broken(): boolean {
    return this.calls.broken;
  }

  /** Takes the `tool_calls` of one delta or, with `whole`, of a complete message, where each entry is its own call. */
  push(entries: unknown[], whole: boolean, out: ModelEvent[]): void {
    this.chunk += 1;
    for (const entry of entries) {
      if (!isJsonObject(entry)) continue;
      const fragment = readFragment(entry);
      const found = whole ? undefined : this.find(fragment);
      this.add(found ?? this.open(fragment), fragment, out);
    }
  }

  /** The calls that ended. */
  finish(cut: boolean, out: ModelEvent[]): StreamedCall[] {
    return this.calls.finish(cut, out);
  }

  private find(fragment: Fragment): StreamedCall | undefined {
    const sameId = fragment.id === '' ? undefined : this.byId.get(fragment.id);
    const sameIndex = fragment.index === undefined ? undefined : this.byIndex.get(fragment.index);
    if (sameId !== undefined) {
      // If a provider gives all calls the same id, the index distinguishes them.
      const known = sameIndex?.id === fragment.id ? sameIndex : sameId;
      const isElsewhere = fragment.index !== undefined && known !== sameIndex;
      if (repeats(known, fragment))
        return isElsewhere && this.startChunk.get(known) === this.chunk ? undefined : repeated(known, fragment);
      const mayBegin = isElsewhere && (sameIndex === undefined || isComplete(known.arguments));
      return mayBegin && begins(fragment) ? undefined : known;
    }
    if (sameIndex !== undefined) return this.findByIndex(sameIndex, fragment);
    if (fragment.index !== undefined || fragment.id !== '') return undefined;
    const last = this.calls.list.at(-1);
    // Some providers repeat the name in each fragment.
    const continues = last?.name === fragment.name && last.arguments.trim() !== '' && !isComplete(last.arguments);
    return fragment.name === '' || (continues && this.startChunk.get(last) !== this.chunk) ? last : undefined;
  }

  private findByIndex(call: StreamedCall, fragment: Fragment): StreamedCall | undefined {
    if (fragment.id !== '' && call.id !== '') return undefined;
    if (fragment.name === '') return call;
    if (call.name !== '' && fragment.name !== call.name) return undefined;
    // The name again, without an id: a second call (Ollama), a repeated call, or a fragment that repeats the name.
    if (this.startChunk.get(call) === this.chunk) return undefined;
    if (fragment.id === '' && repeats(call, fragment)) return repeated(call, fragment);
    return isComplete(call.arguments) ? undefined : call;
  }

  private open(fragment: Fragment): StreamedCall {
    const call = this.calls.open();
    this.startChunk.set(call, this.chunk);
    if (fragment.index !== undefined) this.byIndex.set(fragment.index, call);
    return call;
  }

  private add(call: StreamedCall, fragment: Fragment, out: ModelEvent[]): void {
    if (call.id === '' && fragment.id !== '') {
      call.id = fragment.id;
      this.byId.set(fragment.id, call);
    }
    if (fragment.index !== undefined) this.byIndex.set(fragment.index, call);
    if (call.name === '') call.name = fragment.name;
    this.calls.append(call, fragment.arguments, out, fragment.extras);
  }
}

function readFragment(entry: JsonObject): Fragment {
  // The legacy `function_call` has name and arguments at the top level.
  const target = isJsonObject(entry['function']) ? entry['function'] : entry;
  return {
    extras: keptMembers(unknownMembers('call', entry, false)),
    index: readIndex(entry['index']),
    id: textOrEmpty(entry['id']),
    name: textOrEmpty(target['name']),
    arguments: argumentsText(target['arguments']),
  };
}

function readIndex(index: unknown): number | undefined {
  if (typeof index === 'string' && /^\d{1,6}$/.test(index)) return Number(index);
  return typeof index === 'number' ? index : undefined;
}

/** Other JSON values stay as text, so that the error can show them to the model. */
function argumentsText(given: unknown): string {
  if (typeof given === 'string') return given;
  return given === undefined || given === null ? '' : JSON.stringify(given);
}

/** Whether a fragment repeats a complete call. False for anything that could be the next fragment. */
function repeats(call: StreamedCall, fragment: Fragment): boolean {
  if (fragment.arguments === '') return false;
  if (fragment.name !== '' && fragment.name !== call.name) return false;
  const again = parseObject(fragment.arguments);
  if (again === undefined) return false;
  const emitted = parseObject(call.arguments);
  return emitted !== undefined && JSON.stringify(emitted) === JSON.stringify(again);
}

/** The fragment adds nothing but its other members. */
function repeated(call: StreamedCall, fragment: Fragment): StreamedCall {
  fragment.arguments = '';
  return call;
}

/** Whether the fragment looks like the first of a call. */
function begins(fragment: Fragment): boolean {
  const text = fragment.arguments.trimStart();
  return text === '' ? fragment.name !== '' : text.startsWith('{');
}

const isComplete = (text: string) => parseObject(text) !== undefined;

/** Checks the ends of the text first, because every fragment is parsed. */
function parseObject(text: string): JsonObject | undefined {
  return text.trimStart().startsWith('{') && text.trimEnd().endsWith('}') ? parseJsonObject(text) : undefined;
}
