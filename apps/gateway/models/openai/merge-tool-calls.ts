// Finds the call that each fragment of a streamed tool call belongs to: a repeated fragment or id never makes a second
// call, two calls that look alike are two.
import { isJsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { StreamedCalls, type StreamedCall } from '../conversation/streamed-calls.js';

interface Fragment {
  index: number | undefined;
  id: string;
  name: string;
  arguments: string;
}

export class ToolCallMerger {
  private readonly calls: StreamedCalls;
  /** The call that each of the provider's indexes means now. */
  private readonly byIndex = new Map<number, StreamedCall>();
  private readonly byId = new Map<string, StreamedCall>();
  /** The chunk that a call began in: two entries of one chunk are two calls even when they look alike. */
  private readonly bornIn = new Map<StreamedCall, number>();
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

  /** The `tool_calls` of one delta; `whole`: of a complete message, where each entry is a call of its own. */
  push(entries: unknown[], whole: boolean, out: ModelEvent[]): void {
    this.chunk += 1;
    for (const entry of entries) {
      if (!isJsonObject(entry)) continue;
      const fragment = readFragment(entry);
      const found = whole ? undefined : this.find(fragment);
      if (found === 'repeat') continue;
      this.add(found ?? this.open(fragment), fragment, out);
    }
  }

  finish(cut: boolean, out: ModelEvent[]): void {
    this.calls.finish(cut, out);
  }

  private find(fragment: Fragment): StreamedCall | 'repeat' | undefined {
    const sameId = fragment.id === '' ? undefined : this.byId.get(fragment.id);
    const sameIndex = fragment.index === undefined ? undefined : this.byIndex.get(fragment.index);
    if (sameId !== undefined) {
      // A provider that gives all its calls one id tells them apart by index.
      const known = sameIndex?.id === fragment.id ? sameIndex : sameId;
      const isElsewhere = fragment.index !== undefined && known !== sameIndex;
      if (repeats(known, fragment)) return isElsewhere && this.bornIn.get(known) === this.chunk ? undefined : 'repeat';
      const mayBegin = isElsewhere && (sameIndex === undefined || isComplete(known.arguments));
      return mayBegin && begins(fragment) ? undefined : known;
    }
    if (sameIndex !== undefined) return this.findByIndex(sameIndex, fragment);
    if (fragment.index !== undefined || fragment.id !== '') return undefined;
    const last = this.calls.list.at(-1);
    // The name again, beside the rest of arguments that were begun.
    const goesOn = last?.name === fragment.name && last.arguments.trim() !== '' && !isComplete(last.arguments);
    return fragment.name === '' || (goesOn && this.bornIn.get(last) !== this.chunk) ? last : undefined;
  }

  private findByIndex(call: StreamedCall, fragment: Fragment): StreamedCall | 'repeat' | undefined {
    if (fragment.id !== '' && call.id !== '') return undefined;
    if (fragment.name === '') return call;
    if (call.name !== '' && fragment.name !== call.name) return undefined;
    // No id to go by and the name again: a second call (Ollama), the same one told twice, or just a habit.
    if (this.bornIn.get(call) === this.chunk) return undefined;
    if (fragment.id === '' && repeats(call, fragment)) return 'repeat';
    return isComplete(call.arguments) ? undefined : call;
  }

  private open(fragment: Fragment): StreamedCall {
    const call = this.calls.open();
    this.bornIn.set(call, this.chunk);
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
    this.calls.append(call, fragment.arguments, out);
  }
}

function readFragment(entry: Record<string, unknown>): Fragment {
  // The legacy `function_call` has name and arguments at its top.
  const target = isJsonObject(entry['function']) ? entry['function'] : entry;
  return {
    index: readIndex(entry['index']),
    id: typeof entry['id'] === 'string' ? entry['id'] : '',
    name: typeof target['name'] === 'string' ? target['name'] : '',
    arguments: argumentsText(target['arguments']),
  };
}

function readIndex(index: unknown): number | undefined {
  if (typeof index === 'string' && /^\d{1,6}$/.test(index)) return Number(index);
  return typeof index === 'number' ? index : undefined;
}

/** What is neither text nor an object is kept as it is written, so that the model is told what is wrong with it. */
function argumentsText(given: unknown): string {
  if (typeof given === 'string') return given;
  return given === undefined || given === null ? '' : JSON.stringify(given);
}

/** All of a complete call told again; never true for a fragment that could be the next piece. */
function repeats(call: StreamedCall, fragment: Fragment): boolean {
  if (fragment.arguments === '') return false;
  if (fragment.name !== '' && fragment.name !== call.name) return false;
  const again = parseObject(fragment.arguments);
  if (again === undefined) return false;
  const told = parseObject(call.arguments);
  return told !== undefined && JSON.stringify(told) === JSON.stringify(again);
}

/** Looks like the first fragment of a call; the rest of an object that was begun hardly does. */
function begins(fragment: Fragment): boolean {
  const text = fragment.arguments.trimStart();
  return text === '' ? fragment.name !== '' : text.startsWith('{');
}

const isComplete = (text: string) => parseObject(text) !== undefined;

function parseObject(text: string): Record<string, unknown> | undefined {
  // The cheap look first: this runs on fragments.
  if (!text.trimStart().startsWith('{') || !text.trimEnd().endsWith('}')) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
