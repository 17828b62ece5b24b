// References to items of stored responses: a request may name an item by its id instead of sending the item, as the AI SDK does.
// Reads and writes bodies only; the caller looks up the responses.
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { WireItem } from './wire-types.js';

export interface References {
  /** Runs of referenced texts and reasoning, whose ids name their run. */
  runIds: ReadonlySet<string>;
  callIds: readonly string[];
}

/** Undefined if the request has no references. @throws AppError invalid_value for more than `most` */
export function referencesIn(body: unknown, most: number): References | undefined {
  const ids = inputOf(body)
    .filter(isReference)
    .map(({ id }) => id);
  if (ids.length === 0) return undefined;
  if (ids.length > most) {
    const message = `An input may refer to at most ${most} items, got ${ids.length}`;
    throw new AppError('invalid_value', message, { param: 'input' });
  }
  const runIds = ids.flatMap((id) => /^(?:msg|rs)_([0-9a-f]{32})[0-9a-f]{4,}$/.exec(id)?.[1] ?? []);
  const callIds = ids.flatMap((id) => /^(?:fc|ctc)_([0-9a-f]{32})$/.exec(id)?.[1] ?? []);
  return {
    runIds: new Set(runIds.map((hex) => `run_${hex}`)),
    callIds: callIds.map((hex) => `call_${hex}`),
  };
}

/**
 * The request with items in place of references, without lists of tools. A reference is short and may be repeated,
 * so the items have at most `maxBytes` as JSON.
 * @throws AppError invalid_value, request_too_large
 */
export function withItems(body: unknown, items: ReadonlyMap<string, WireItem>, maxBytes: number): JsonObject {
  let bytes = 0;
  const input = inputOf(body).flatMap((item, at): Json[] => {
    if (!isReference(item)) return [item];
    const { id } = item;
    const found = items.get(id);
    if (found !== undefined) {
      bytes += Buffer.byteLength(JSON.stringify(found));
      if (bytes <= maxBytes) return [found as unknown as Json];
      throw new AppError('request_too_large', `The items referred to have more than ${maxBytes} bytes`, {
        param: 'input',
      });
    }
    if (id.startsWith('mcpl_')) return [];
    const message = `No stored response has an item '${id.slice(0, 64)}'; send the item itself`;
    throw new AppError('invalid_value', message, { param: `input[${at}].id` });
  });
  return { ...(body as JsonObject), input };
}

function inputOf(body: unknown): Json[] {
  const input = isJsonObject(body) ? body['input'] : undefined;
  return Array.isArray(input) ? input : [];
}

const isReference = (item: Json): item is JsonObject & { id: string } =>
  isJsonObject(item) && item['type'] === 'item_reference' && typeof item['id'] === 'string';
