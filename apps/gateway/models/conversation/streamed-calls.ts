// The tool calls of one streamed message. No call ends before the provider has ended the message, even if its arguments
// already parse. Each family decides which call a fragment belongs to.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { mergeMembers } from './merge-members.js';

export interface StreamedCall {
  readonly index: number;
  id: string;
  /** The provider's name of the tool. While it is '', the call has no events. */
  name: string;
  arguments: string;
  started: boolean;
  /** Why the arguments are incomplete, even if they parse. */
  broken?: string;
  /** Other members of the call: sent back to the provider, shown to the client too. */
  extras?: JsonObject;
}

export class StreamedCalls {
  readonly list: StreamedCall[] = [];

  /** `nameOf` translates the provider's name of a tool to the caller's. */
  constructor(private readonly nameOf: (wireName: string) => string) {}

  /** Whether some call's arguments are incomplete or not an object. */
  get broken(): boolean {
    return this.list.some((call) => completeArguments(call.arguments).parseError !== undefined);
  }

  open(): StreamedCall {
    const call: StreamedCall = { index: this.list.length, id: '', name: '', arguments: '', started: false };
    this.list.push(call);
    return call;
  }

  append(call: StreamedCall, text: string, out: ModelEvent[], extras?: JsonObject): void {
    call.arguments += text;
    if (extras !== undefined) call.extras = mergeMembers(call.extras ?? {}, extras);
    if (call.started) {
      if (text === '' && extras === undefined) return;
      out.push({ type: 'tool_call_delta', index: call.index, arguments: text, ...(extras && { extras }) });
    } else if (call.name !== '') this.start(call, out);
  }

  /**
   * Ends the calls in order and returns those that ended. If the message was `cut`, its last call is incomplete and
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
    const { index, id, extras } = call;
    const name = this.nameOf(call.name);
    out.push({ type: 'tool_call_start', index, id, name, ...(extras && { extras: structuredClone(extras) }) });
    if (call.arguments !== '') out.push({ type: 'tool_call_delta', index: call.index, arguments: call.arguments });
  }
}

/** Empty arguments count as `{}`. */
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
