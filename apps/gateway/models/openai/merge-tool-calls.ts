// Puts the fragments of streamed tool calls together. Nothing ends before the provider ended the message: a prefix of
// arguments that happens to parse never counts, and a repeated fragment or id never makes a second call.
import { isJsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';

interface OpenCall {
  index: number;
  id: string;
  name: string;
  arguments: string;
  started: boolean;
  /** The chunk that it began in: two entries of one chunk are two calls even when they look alike. */
  chunk: number;
}

interface Fragment {
  index: number | undefined;
  id: string;
  name: string;
  arguments: string;
}

export class ToolCallMerger {
  private readonly calls: OpenCall[] = [];
  /** The call that each of the provider's indexes means now. */
  private readonly byIndex = new Map<number, OpenCall>();
  private readonly byId = new Map<string, OpenCall>();
  private chunk = 0;

  /** `nameOf` turns the provider's name of a tool into the one the caller knows. */
  constructor(private readonly nameOf: (wireName: string) => string) {}

  get count(): number {
    return this.calls.length;
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

  /** Ends the calls in order. `cut`: the message was, so its last call is not complete and never ends. */
  finish(cut: boolean, out: ModelEvent[]): void {
    const last = this.calls.length - 1;
    for (const call of this.calls) {
      const { text, parseError } = completeArguments(call.arguments);
      if (cut && (call.index === last || parseError !== undefined)) continue;
      if (!call.started) this.start(call, out);
      if (text !== call.arguments && call.arguments.trim() === '') {
        out.push({ type: 'tool_call_delta', index: call.index, arguments: text });
      }
      const end = { type: 'tool_call_end', index: call.index, id: call.id, name: this.nameOf(call.name) } as const;
      out.push(parseError === undefined ? { ...end, arguments: text } : { ...end, arguments: text, parseError });
    }
  }

  private find(fragment: Fragment): OpenCall | 'repeat' | undefined {
    const sameId = fragment.id === '' ? undefined : this.byId.get(fragment.id);
    const sameIndex = fragment.index === undefined ? undefined : this.byIndex.get(fragment.index);
    if (sameId !== undefined) {
      if (repeats(sameId, fragment)) return 'repeat';
      // The id of a complete call under another index: a provider that numbers all its calls alike.
      const recycled = sameId !== sameIndex && fragment.index !== undefined && isComplete(sameId.arguments);
      return recycled && fragment.arguments.startsWith('{') ? undefined : sameId;
    }
    if (sameIndex !== undefined) return this.findByIndex(sameIndex, fragment);
    if (fragment.index !== undefined || fragment.id !== '' || fragment.name !== '') return undefined;
    return this.calls.at(-1);
  }

  private findByIndex(call: OpenCall, fragment: Fragment): OpenCall | 'repeat' | undefined {
    if (fragment.id !== '' && call.id !== '') return undefined;
    if (fragment.name === '') return call;
    if (call.name !== '' && fragment.name !== call.name) return undefined;
    // No id to go by and the name again: a second call (Ollama), the same one told twice, or just a habit.
    if (call.chunk === this.chunk) return undefined;
    if (fragment.id === '' && repeats(call, fragment)) return 'repeat';
    return isComplete(call.arguments) ? undefined : call;
  }

  private open(fragment: Fragment): OpenCall {
    const call: OpenCall = {
      index: this.calls.length,
      id: '',
      name: '',
      arguments: '',
      started: false,
      chunk: this.chunk,
    };
    this.calls.push(call);
    if (fragment.index !== undefined) this.byIndex.set(fragment.index, call);
    return call;
  }

  private add(call: OpenCall, fragment: Fragment, out: ModelEvent[]): void {
    if (call.id === '' && fragment.id !== '') {
      call.id = fragment.id;
      this.byId.set(fragment.id, call);
    }
    if (fragment.index !== undefined) this.byIndex.set(fragment.index, call);
    if (call.name === '') call.name = fragment.name;
    call.arguments += fragment.arguments;
    if (call.started) {
      if (fragment.arguments !== '') {
        out.push({ type: 'tool_call_delta', index: call.index, arguments: fragment.arguments });
      }
    } else if (call.name !== '') this.start(call, out);
  }

  private start(call: OpenCall, out: ModelEvent[]): void {
    call.started = true;
    out.push({ type: 'tool_call_start', index: call.index, id: call.id, name: this.nameOf(call.name) });
    if (call.arguments !== '') out.push({ type: 'tool_call_delta', index: call.index, arguments: call.arguments });
  }
}

function readFragment(entry: Record<string, unknown>): Fragment {
  // The legacy `function_call` has name and arguments at its top.
  const target = isJsonObject(entry['function']) ? entry['function'] : entry;
  const index = entry['index'];
  const given = target['arguments'];
  return {
    index: typeof index === 'number' ? index : undefined,
    id: typeof entry['id'] === 'string' ? entry['id'] : '',
    name: typeof target['name'] === 'string' ? target['name'] : '',
    arguments: typeof given === 'string' ? given : isJsonObject(given) ? JSON.stringify(given) : '',
  };
}

/** All of a complete call told again; never true for a fragment that could be the next piece. */
function repeats(call: OpenCall, fragment: Fragment): boolean {
  if (fragment.arguments === '') return false;
  if (fragment.name !== '' && fragment.name !== call.name) return false;
  const again = parseObject(fragment.arguments);
  if (again === undefined) return false;
  const told = parseObject(call.arguments);
  return told !== undefined && JSON.stringify(told) === JSON.stringify(again);
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

function completeArguments(text: string): { text: string; parseError?: string } {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === 'null') return { text: '{}' };
  try {
    if (isJsonObject(JSON.parse(trimmed) as unknown)) return { text };
    return { text, parseError: 'The arguments are JSON but not an object' };
  } catch (error) {
    return { text, parseError: `The arguments are not JSON: ${(error as Error).message.slice(0, 200)}` };
  }
}
