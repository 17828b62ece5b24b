// The tool calls of one message as they stream in. Nothing ends before the provider ended the message: a prefix of
// arguments that happens to parse never counts. Which fragment belongs to which call is the family's to say.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';

export interface StreamedCall {
  readonly index: number;
  id: string;
  /** The provider's name of the tool; '' until it is known, and the call is not told before. */
  name: string;
  arguments: string;
  started: boolean;
  /** Why its arguments cannot be whole, whatever they look like. */
  broken?: string;
  /** What the vendor wants back with the call, offered to the caller. */
  extraContent?: JsonObject;
}

export class StreamedCalls {
  readonly list: StreamedCall[] = [];

  /** `nameOf` turns the provider's name of a tool into the one the caller knows. */
  constructor(private readonly nameOf: (wireName: string) => string) {}

  /** Arguments of a call are not whole, or no object. */
  get broken(): boolean {
    return this.list.some((call) => completeArguments(call.arguments).parseError !== undefined);
  }

  open(): StreamedCall {
    const call: StreamedCall = { index: this.list.length, id: '', name: '', arguments: '', started: false };
    this.list.push(call);
    return call;
  }

  append(call: StreamedCall, text: string, out: ModelEvent[]): void {
    call.arguments += text;
    if (call.started) {
      if (text !== '') out.push({ type: 'tool_call_delta', index: call.index, arguments: text });
    } else if (call.name !== '') this.start(call, out);
  }

  /**
   * Ends the calls in order and returns those that ended. `cut`: the message was, so its last call is not complete and
   * never ends.
   */
  finish(cut: boolean, out: ModelEvent[]): StreamedCall[] {
    const last = this.list.length - 1;
    const ended: StreamedCall[] = [];
    for (const call of this.list) {
      const { text, parseError = call.broken } = completeArguments(call.arguments);
      if (cut && (call.index === last || parseError !== undefined)) continue;
      if (!call.started) this.start(call, out);
      if (text !== call.arguments && call.arguments.trim() === '') {
        out.push({ type: 'tool_call_delta', index: call.index, arguments: text });
      }
      const end = { type: 'tool_call_end', index: call.index, id: call.id, name: this.nameOf(call.name) } as const;
      out.push(parseError === undefined ? { ...end, arguments: text } : { ...end, arguments: text, parseError });
      ended.push(call);
    }
    return ended;
  }

  private start(call: StreamedCall, out: ModelEvent[]): void {
    call.started = true;
    const { index, id, extraContent } = call;
    const name = this.nameOf(call.name);
    out.push({ type: 'tool_call_start', index, id, name, ...(extraContent && { extraContent }) });
    if (call.arguments !== '') out.push({ type: 'tool_call_delta', index: call.index, arguments: call.arguments });
  }
}

/** No arguments at all are `{}`. */
function completeArguments(text: string): { text: string; parseError?: string } {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed === 'null') return { text: '{}' };
  try {
    if (isJsonObject(JSON.parse(trimmed) as unknown)) return { text };
    return { text, parseError: 'The arguments are JSON but not an object' };
  } catch {
    return { text, parseError: 'The arguments are not valid JSON' };
  }
}
