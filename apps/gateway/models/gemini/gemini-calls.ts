// Finds the call that each `functionCall` part belongs to: whole, or streamed in parts that are ended by an empty one, by
// the next call or by the end of the message. A call that comes again by its id is still one.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { StreamedCalls, type StreamedCall } from '../streamed-calls.js';
import { PartialArguments } from './partial-arguments.js';

interface NewCall {
  name: string;
  id: string;
  signature: Json | undefined;
}

interface OpenCall {
  call: StreamedCall;
  args: PartialArguments;
  /** Arguments that are no object, as they came: the model is told so. */
  broken?: string;
}

export class GeminiCalls {
  private readonly calls: StreamedCalls;
  private readonly byId = new Map<string, StreamedCall>();
  private open?: OpenCall;

  constructor(nameOf: (wireName: string) => string) {
    this.calls = new StreamedCalls(nameOf);
  }

  get count(): number {
    return this.calls.list.length;
  }

  /** The call that the part belongs to; undefined when it only ended one. `signature` came on the part. */
  read(part: JsonObject, signature: Json | undefined, out: ModelEvent[]): StreamedCall | undefined {
    const name = text(part['name']);
    const id = text(part['id']);
    const partial = Array.isArray(part['partialArgs']) ? part['partialArgs'] : [];
    const args = readArgs(part['args']);
    const goesOn = part['willContinue'] === true || partial.length > 0;
    if (name === '' && args === undefined && !goesOn) {
      this.close(out);
      return undefined;
    }
    const known = id === '' ? undefined : this.byId.get(id);
    if (known !== undefined && known !== this.open?.call) return known;
    const isSame = known !== undefined || name === '' || this.continues(name, partial[0]);
    if (!isSame) this.begin({ name, id, signature }, out);
    const { open } = this;
    if (open === undefined) return undefined;
    if (typeof args === 'string') open.broken = args;
    else if (args !== undefined) open.args.merge(args);
    for (const entry of partial) open.args.add(entry);
    if (!goesOn) this.close(out);
    return open.call;
  }

  /** `cut`: the message was, so the call that it was cut in never ends. */
  finish(cut: boolean, out: ModelEvent[]): StreamedCall[] {
    if (!cut) this.close(out);
    return this.calls.finish(cut, out);
  }

  private continues(name: string, entry: unknown): boolean {
    return this.open?.call.name === name && this.open.args.continues(entry as JsonObject | undefined);
  }

  private begin({ name, id, signature }: NewCall, out: ModelEvent[]): void {
    this.close(out);
    const call = this.calls.open();
    call.name = name;
    call.id = id;
    if (typeof signature === 'string') call.extraContent = { google: { thought_signature: signature } };
    if (id !== '') this.byId.set(id, call);
    this.open = { call, args: new PartialArguments() };
    this.calls.append(call, '', out);
  }

  private close(out: ModelEvent[]): void {
    if (this.open === undefined) return;
    const { call, args, broken } = this.open;
    this.calls.append(call, broken ?? JSON.stringify(args.value), out);
    delete this.open;
  }
}

/** An object, or one written as text; text where it is neither. */
function readArgs(args: Json | undefined): JsonObject | string | undefined {
  if (args === undefined || args === null || isJsonObject(args)) return args ?? undefined;
  if (typeof args !== 'string') return JSON.stringify(args);
  try {
    const read = JSON.parse(args) as Json;
    return isJsonObject(read) ? read : args;
  } catch {
    return args.trim() === '' ? undefined : args;
  }
}

const text = (value: unknown) => (typeof value === 'string' ? value : '');
