// Reads the calls between the tags: one object or a list, in all known shapes. Anything else becomes a call with a parse
// error, which the model gets as its result.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { type LenientJson, parseLenient, rawParts } from './lenient-json.js';

export interface ReadCall {
  name: string;
  /** JSON text of an object. With `parseError`, the model's text. */
  arguments: string;
  parseError?: string;
}

const namelessCall = 'unreadable_call';

/** Returns at least one call. */
export function readCalls(body: string): ReadCall[] {
  let parsed: LenientJson;
  try {
    parsed = parseLenient(body);
  } catch {
    const named = readNamedArguments(body);
    if (named !== undefined) return [named];
    return [broken(body, 'The call is not valid JSON')];
  }
  if (!Array.isArray(parsed.value)) return [readCall(parsed.value, parsed.text)];
  if (parsed.value.length === 0) return [broken(body, 'The list of calls is empty')];
  const texts = [...rawParts(parsed.text).values()];
  return parsed.value.map((value, at) => readCall(value, texts[at]!));
}

const bareMembers = new Set(['name', 'type', 'function', 'id', 'arguments', 'parameters']);

/** Reads calls without tags. Undefined unless all entries are calls of `names` with arguments. */
export function readBareCalls(body: string, names: ReadonlySet<string>): ReadCall[] | undefined {
  let value: Json;
  try {
    ({ value } = parseLenient(body));
  } catch {
    return undefined;
  }
  for (const entry of Array.isArray(value) ? value : [value]) {
    if (!isJsonObject(entry) || Object.keys(entry).some((key) => !bareMembers.has(key))) return undefined;
    const inner = isJsonObject(entry['function']) ? entry['function'] : entry;
    if (!isJsonObject(inner['arguments'] ?? inner['parameters']) || !names.has(nameOf(inner) ?? '')) return undefined;
  }
  return Array.isArray(value) && value.length === 0 ? undefined : readCalls(body);
}

function readCall(value: Json, text: string): ReadCall {
  if (!isJsonObject(value)) return broken(text, 'The call is not a JSON object');
  const inner = value['function'];
  // OpenAI's shape has name and arguments one level deeper.
  return isJsonObject(inner) ? readNamed(inner, rawParts(text).get('function')!) : readNamed(value, text);
}

function readNamed(value: JsonObject, text: string): ReadCall {
  const name = nameOf(value);
  if (name === undefined) return broken(text, 'The call has no "name"');
  const key = ['arguments', 'parameters'].find((each) => value[each] !== undefined);
  const given = key === undefined ? null : value[key]!;
  if (given === null) return { name, arguments: '{}' };
  if (typeof given === 'string') return readWrittenArguments(name, given);
  const raw = rawParts(text).get(key!)!;
  return isJsonObject(given) ? { name, arguments: raw } : notAnObject(name, raw);
}

/** `name[ARGS]{…}` or `name{…}`, the form of newer Mistral models. */
function readNamedArguments(body: string): ReadCall | undefined {
  const head = /^\s*([\w./-]{1,128})\s*(?:\[ARGS\]\s*)?(?=\{)/.exec(body.slice(0, 200));
  if (head === null) return undefined;
  try {
    const { text } = parseLenient(body.slice(head[0].length));
    return { name: head[1]!, arguments: text.trim() };
  } catch {
    return undefined;
  }
}

function readWrittenArguments(name: string, written: string): ReadCall {
  if (written.trim() === '') return { name, arguments: '{}' };
  try {
    const { value, text } = parseLenient(written);
    return isJsonObject(value) ? { name, arguments: text } : notAnObject(name, written);
  } catch {
    return notAnObject(name, written);
  }
}

const notAnObject = (name: string, text: string): ReadCall => ({
  name,
  arguments: text,
  parseError: 'The arguments are not a JSON object',
});

function nameOf(call: JsonObject): string | undefined {
  const name = call['name'] ?? call['function'];
  return typeof name === 'string' && name !== '' ? name : undefined;
}

const longestName = 128;

/** Looks for the name anyway, so that the error refers to the right call. */
function broken(text: string, parseError: string): ReadCall {
  const found = /"(?:name|function)"\s*:\s*"([^"\\]+)"/.exec(text.slice(0, 1_000))?.[1];
  const name = found === undefined || found.length > longestName ? namelessCall : found;
  return { name, arguments: text, parseError };
}
