// Joins members of a message or a call that a provider sends in pieces, so that they can go back as if they had come whole.
// Knows their forms, not their names: `reasoning_details`, `extra_content`, `thinking_blocks` and later ones.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';

/** Text grows, lists and objects merge. `before` is changed and returned, `more` is not changed. */
export function mergeMembers(before: JsonObject, more: JsonObject): JsonObject {
  for (const key in more) {
    const value = more[key];
    // Setting `__proto__` would change the prototype.
    if (value !== undefined && value !== null && key !== '__proto__') before[key] = merged(before[key], value);
  }
  return before;
}

function merged(before: Json | undefined, value: Json): Json {
  if (Array.isArray(value)) return appended(Array.isArray(before) ? before : [], value);
  if (isJsonObject(value)) return mergeMembers(isJsonObject(before) ? before : {}, value);
  // Some providers repeat ids and signatures with every piece.
  if (typeof before === 'string' && typeof value === 'string') return before === value ? before : before + value;
  return value;
}

function appended(list: Json[], more: readonly Json[]): Json[] {
  for (const entry of more) {
    const last = list.at(-1);
    if (isJsonObject(last) && isJsonObject(entry) && continues(last, entry)) joinEntry(last, entry);
    else list.push(isJsonObject(entry) ? { ...entry } : entry);
  }
  return list;
}

/** The members of a list's entry whose text comes in pieces. The others come once, or are repeated. */
const growing = ['text', 'summary', 'thinking'] as const;
/** Members that distinguish two entries, where both have them. */
const identifying = ['type', 'index', 'id', 'signature'] as const;

/** As in OpenRouter's own SDK for `reasoning_details`: text continues the entry before it, anything else is a new entry. */
function continues(last: JsonObject, entry: JsonObject): boolean {
  const grows = [...growing, 'signature'].some((name) => typeof entry[name] === 'string');
  return grows && identifying.every((name) => last[name] == null || entry[name] == null || last[name] === entry[name]);
}

function joinEntry(last: JsonObject, entry: JsonObject): void {
  for (const [name, value] of Object.entries(entry)) {
    const before = last[name];
    const grows = (growing as readonly string[]).includes(name) && typeof before === 'string';
    if (grows && typeof value === 'string') last[name] = before + value;
    else if (name !== '__proto__') last[name] = before ?? value;
  }
}
