// Members of a message and its calls that a provider wants back, apart from reasoning: those that OpenAI's API does not
// have, unchanged. Kept as provider state, so that no other provider gets them.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { AssistantMessage } from '#libs/schemas/message.js';
import type { StreamedCall } from '../../conversation/streamed-calls.js';

/** Characters of JSON. Larger members are not kept: the provider then says what it misses. */
const mostKept = 4 * 1024 * 1024;

/** The part of the provider state that `replayed` reads. `calls` are those that ended, in order. */
export function toReplay(message: JsonObject | undefined, calls: readonly StreamedCall[]): JsonObject {
  const hasExtras = calls.some((call) => call.extras !== undefined);
  if (message === undefined && !hasExtras) return {};
  const kept: JsonObject = {
    ...(message && { message }),
    // Members of the message may name a call by the provider's id.
    ...(calls.length > 0 && { calls: calls.map(({ id, extras }) => ({ id, ...(extras && { extras }) })) }),
  };
  return JSON.stringify(kept).length > mostKept ? {} : kept;
}

export interface Replayed {
  message: JsonObject;
  /** Members by the call's position in the message. */
  calls: (JsonObject | undefined)[];
}

/** `ids`: the ids of the message's calls as the provider gets them. */
export function replayed(message: AssistantMessage, provider: string, ids: readonly string[]): Replayed | undefined {
  const state = message.provider_state;
  if (state?.provider !== provider) return undefined;
  const calls = Array.isArray(state.state['calls']) ? state.state['calls'].filter(isJsonObject) : [];
  const kept = isJsonObject(state.state['message']) ? state.state['message'] : undefined;
  if (kept === undefined && calls.length === 0) return undefined;
  const named = new Map(calls.map(({ id }, at) => [id, ids[at]]));
  return {
    message: kept === undefined ? {} : withIds(kept, named),
    calls: calls.map(({ extras }) => (isJsonObject(extras) ? extras : undefined)),
  };
}

/** The message without members of another provider, which a caller may send as it got them. */
export function withoutForeignMembers(message: AssistantMessage, provider: string): AssistantMessage {
  const { provider_state: given } = message;
  if (given === undefined || given.provider === provider) return message;
  const { message: ofMessage, calls } = given.state;
  const made = without(message, ofMessage);
  if (!Array.isArray(calls) || message.tool_calls === undefined) return made;
  const extrasAt = (at: number) => (isJsonObject(calls[at]) ? calls[at]['extras'] : undefined);
  return { ...made, tool_calls: message.tool_calls.map((call, at) => without(call, extrasAt(at))) };
}

function without<T extends object>(given: T, members: Json | undefined): T {
  if (!isJsonObject(members)) return given;
  return Object.fromEntries(Object.entries(given).filter(([name]) => !Object.hasOwn(members, name))) as T;
}

/** List entries name a call by the id that the provider gets: OpenRouter's thoughts of Gemini. */
function withIds(members: JsonObject, named: ReadonlyMap<Json | undefined, string | undefined>): JsonObject {
  const renamed = (entry: Json): Json => {
    const id = isJsonObject(entry) && entry['id'] !== '' ? named.get(entry['id']) : undefined;
    return id === undefined ? entry : { ...(entry as JsonObject), id };
  };
  return Object.fromEntries(
    Object.entries(members).map(([key, value]) => [key, Array.isArray(value) ? value.map(renamed) : value]),
  );
}
