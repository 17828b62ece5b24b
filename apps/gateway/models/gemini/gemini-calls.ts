// Decides which call each `functionCall` part belongs to. A part is a whole call or a piece of one; an empty part, the
// next call or the end of the message ends it. A repeated id means the same call. Arguments that stop inside a string are
// incomplete.
import { isJsonObject, parseJsonObject, textOrEmpty, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { StreamedCalls, type StreamedCall } from '../conversation/streamed-calls.js';
import { PartialArguments } from './partial-arguments.js';

interface OpenCall {
  call: StreamedCall;
  args: PartialArguments;
  /** The provider ended the call, or continued with the next one. */
  ended: boolean;
  /** The arguments were sent and can no longer grow. */
  sent: boolean;
  /** Arguments that are not an object, as text, for the error that the model gets. */
  invalid?: string;
}

/** One `functionCall`. */
interface Piece {
  name: string;
  id: string;
  args: JsonObject | string | undefined;
  partial: Json[];
  /** More pieces of the call will follow. */
  continues: boolean;
}

export class GeminiCalls {
  private readonly calls: StreamedCalls;
  private readonly all: OpenCall[] = [];
  private open?: OpenCall;

  constructor(nameOf: (wireName: string) => string) {
    this.calls = new StreamedCalls(nameOf);
  }

  get count(): number {
    return this.calls.list.length;
  }

  /** Whether the open call waits for the rest of a string. */
  get isInString(): boolean {
    return this.open?.args.isInString === true;
  }

  /**
   * The call that the part belongs to. Undefined if it only ended one; `stray` if it is a piece of a call that never
   * started. `signature` is the part's.
   */
  read(part: JsonObject, signature: Json | undefined, out: ModelEvent[]): StreamedCall | 'stray' | undefined {
    const piece = readPiece(part);
    const { name, id, args, partial, continues } = piece;
    const hasArguments = args !== undefined || partial.length > 0;
    if (name === '' && id === '' && !hasArguments && !continues) {
      this.close(out);
      return undefined;
    }
    const found = this.find(piece);
    if (found === undefined && name === '') return hasArguments ? 'stray' : undefined;
    const target = found ?? this.begin(piece, signature, out);
    if (typeof args === 'string') target.invalid = args;
    else if (args !== undefined) target.args.merge(args);
    for (const entry of partial) {
      if (!target.args.add(entry)) target.call.broken = 'Part of the arguments cannot be placed';
    }
    if (target === this.open && !continues && partial.length === 0) this.close(out);
    return target.call;
  }

  /** If the message was `cut`, the call at its end never ends. */
  finish(cut: boolean, out: ModelEvent[]): StreamedCall[] {
    if (!cut) this.close(out);
    for (const each of this.all) {
      if (!each.ended && (cut || each.args.isInString)) each.call.broken = 'The arguments are incomplete';
      this.send(each, out);
    }
    return this.calls.finish(cut, out);
  }

  private find(piece: Piece): OpenCall | undefined {
    const { name, id, partial } = piece;
    const { open } = this;
    const known = id === '' ? undefined : this.all.findLast(({ call }) => call.id === id);
    if (known !== undefined) return belongs(piece, known) ? this.resumed(known) : undefined;
    if (name === '') return open;
    return open?.call.name === name && open.args.continues(partial[0]) ? open : undefined;
  }

  /** Continues a call after pieces of others. */
  private resumed(known: OpenCall): OpenCall {
    if (!known.ended) this.open = known;
    return known;
  }

  private begin({ name, id }: Piece, signature: Json | undefined, out: ModelEvent[]): OpenCall {
    this.leave(out);
    const call = this.calls.open();
    call.name = name;
    call.id = id;
    if (typeof signature === 'string') call.extras = { extra_content: { google: { thought_signature: signature } } };
    this.open = { call, args: new PartialArguments(), ended: false, sent: false };
    this.all.push(this.open);
    this.calls.append(call, '', out);
    return this.open;
  }

  /** The next call starts. Only a call with an id can continue after it. */
  private leave(out: ModelEvent[]): void {
    if (this.open?.call.id === '' && !this.isInString) this.close(out);
    delete this.open;
  }

  private close(out: ModelEvent[]): void {
    const { open } = this;
    if (open === undefined) return;
    open.ended = true;
    // A call with an id may continue until the message ends.
    if (open.call.id === '') this.send(open, out);
    delete this.open;
  }

  private send(open: OpenCall, out: ModelEvent[]): void {
    if (open.sent) return;
    open.sent = true;
    this.calls.append(open.call, open.invalid ?? JSON.stringify(open.args.value), out);
  }
}

/** Whether a piece with the id of a known call belongs to it. If not, another call was given the same id. */
function belongs({ name, args, partial }: Piece, { call, args: known, ended }: OpenCall): boolean {
  if (name !== '' && name !== call.name) return false;
  if (!ended) return true;
  return partial.length === 0 && (args === undefined || (typeof args === 'object' && known.agrees(args)));
}

function readPiece(part: JsonObject): Piece {
  const partial = Array.isArray(part['partialArgs']) ? part['partialArgs'] : [];
  return {
    name: textOrEmpty(part['name']),
    id: textOrEmpty(part['id']),
    args: readArgs(part['args']),
    partial,
    continues: part['willContinue'] === true,
  };
}

/** An object, also if it was sent as JSON text; text for anything else. */
function readArgs(args: Json | undefined): JsonObject | string | undefined {
  if (args === undefined || args === null || isJsonObject(args)) return args ?? undefined;
  if (typeof args !== 'string') return JSON.stringify(args);
  return parseJsonObject(args) ?? (args.trim() === '' ? undefined : args);
}
