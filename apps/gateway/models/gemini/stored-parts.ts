// The parts of one message that must be sent back unchanged because of their signatures: text, signed thoughts, and calls
// as positions.
import type { JsonObject } from '#libs/schemas/json.js';
import type { StreamedCall } from '../conversation/streamed-calls.js';

interface StoredPart {
  raw: JsonObject;
  call?: StreamedCall;
}

export class StoredParts {
  private readonly parts: StoredPart[] = [];

  /** Adds a part that is not a call. Adjacent text is joined, unless one of the parts is signed. */
  add(part: JsonObject): void {
    const last = this.parts.at(-1);
    const joins =
      last?.call === undefined &&
      typeof last?.raw['text'] === 'string' &&
      typeof part['text'] === 'string' &&
      last.raw['thought'] === part['thought'] &&
      last.raw['thoughtSignature'] === undefined &&
      part['thoughtSignature'] === undefined;
    if (joins) last.raw['text'] = `${last.raw['text'] as string}${part['text'] as string}`;
    else this.parts.push({ raw: { ...part } });
  }

  addCall(call: StreamedCall, part: JsonObject): void {
    const signature = part['thoughtSignature'];
    let stored = this.parts.find((one) => one.call === call);
    if (stored === undefined) this.parts.push((stored = { raw: {}, call }));
    if (call.id !== '') stored.raw['id'] = call.id;
    if (signature !== undefined) stored.raw['thoughtSignature'] = signature;
  }

  /** Undefined if no part has a signature or an id, since the history has the rest. */
  replayed(ended: readonly StreamedCall[]): JsonObject[] | undefined {
    if (!this.parts.some(({ raw }) => raw['thoughtSignature'] !== undefined || raw['id'] !== undefined))
      return undefined;
    return this.parts.flatMap(({ raw, call }) => {
      if (call === undefined) return raw['thought'] === true && raw['thoughtSignature'] === undefined ? [] : [raw];
      const number = ended.indexOf(call);
      return number === -1 ? [] : [{ ...raw, call: number }];
    });
  }
}
