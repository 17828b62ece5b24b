// Finds the call that each `functionCall` part belongs to: whole, or streamed in parts that are ended by an empty one, by
// the next call or by the end of the message. A call that comes again by its id is still one. What breaks off within a
// string is never taken for whole.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { StreamedCalls, type StreamedCall } from '../conversation/streamed-calls.js';
import { PartialArguments } from './partial-arguments.js';

interface OpenCall {
  call: StreamedCall;
  args: PartialArguments;
  /** It is whole: the provider said so, or went on to the next call. */
  ended: boolean;
  /** Its arguments went out, and cannot grow any more. */
  told: boolean;
  /** Arguments that are no object, as they came: the model is told so. */
  strange?: string;
}

/** One `functionCall`. */
interface Piece {
  name: string;
  id: string;
  args: JsonObject | string | undefined;
  partial: Json[];
  /** More of the same call was announced. */
  goesOn: boolean;
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

  /** A string of the last call was to go on, and nothing of it has come. */
  get breaksOff(): boolean {
    return this.open?.args.goesOn === true;
  }

  /**
   * The call that the part belongs to; undefined when it only ended one, `stray` when it is a piece of a call that never
   * began. `signature` came on the part.
   */
  read(part: JsonObject, signature: Json | undefined, out: ModelEvent[]): StreamedCall | 'stray' | undefined {
    const piece = readPiece(part);
    const { name, id, args, partial, goesOn } = piece;
    const says = args !== undefined || partial.length > 0;
    if (name === '' && id === '' && !says && !goesOn) {
      this.close(out);
      return undefined;
    }
    const found = this.find(piece);
    if (found === undefined && name === '') return says ? 'stray' : undefined;
    const target = found ?? this.begin(piece, signature, out);
    if (typeof args === 'string') target.strange = args;
    else if (args !== undefined) target.args.merge(args);
    for (const entry of partial) {
      if (!target.args.add(entry)) target.call.broken = 'A piece of the arguments cannot be placed';
    }
    if (target === this.open && !goesOn && partial.length === 0) this.close(out);
    return target.call;
  }

  /** `cut`: the message was, so a call that it was cut in never ends. */
  finish(cut: boolean, out: ModelEvent[]): StreamedCall[] {
    if (!cut) this.close(out);
    for (const each of this.all) {
      if (!each.ended && (cut || each.args.goesOn)) each.call.broken = 'The arguments break off';
      this.tell(each, out);
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

  /** A call that others came between. */
  private resumed(known: OpenCall): OpenCall {
    if (!known.ended) this.open = known;
    return known;
  }

  private begin({ name, id }: Piece, signature: Json | undefined, out: ModelEvent[]): OpenCall {
    this.leave(out);
    const call = this.calls.open();
    call.name = name;
    call.id = id;
    if (typeof signature === 'string') call.extraContent = { google: { thought_signature: signature } };
    this.open = { call, args: new PartialArguments(), ended: false, told: false };
    this.all.push(this.open);
    this.calls.append(call, '', out);
    return this.open;
  }

  /** The next call begins: only what has an id can be gone on with. */
  private leave(out: ModelEvent[]): void {
    if (this.open?.call.id === '' && !this.breaksOff) this.close(out);
    delete this.open;
  }

  private close(out: ModelEvent[]): void {
    const { open } = this;
    if (open === undefined) return;
    open.ended = true;
    // What has an id may be gone on with until the message ends.
    if (open.call.id === '') this.tell(open, out);
    delete this.open;
  }

  private tell(open: OpenCall, out: ModelEvent[]): void {
    if (open.told) return;
    open.told = true;
    this.calls.append(open.call, open.strange ?? JSON.stringify(open.args.value), out);
  }
}

/** Whether a piece with the id of a known call says something of that call, and not of another that was given its id. */
function belongs({ name, args, partial }: Piece, { call, args: told, ended }: OpenCall): boolean {
  if (name !== '' && name !== call.name) return false;
  if (!ended) return true;
  return partial.length === 0 && (args === undefined || (typeof args === 'object' && told.agrees(args)));
}

function readPiece(part: JsonObject): Piece {
  const partial = Array.isArray(part['partialArgs']) ? part['partialArgs'] : [];
  return {
    name: text(part['name']),
    id: text(part['id']),
    args: readArgs(part['args']),
    partial,
    goesOn: part['willContinue'] === true,
  };
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
