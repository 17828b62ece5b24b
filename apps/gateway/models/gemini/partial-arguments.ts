// The streamed arguments of one call: values with a JSON Path (`$.to[0].name`), strings in pieces. Bounded in depth and
// length.
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { define } from '../conversation/schema-parts.js';

const maxDepth = 64;
const maxIndex = 9_999;

type Container = JsonObject | Json[];

export class PartialArguments {
  readonly value: JsonObject = {};
  /** The path of the string that continues. */
  private continuing?: string;

  /** Adds whole members, which providers that do not stream arguments send. */
  merge(args: JsonObject): void {
    for (const [name, value] of Object.entries(args)) define(this.value, name, value);
  }

  /** Whether the last string is to continue. */
  get isInString(): boolean {
    return this.continuing !== undefined;
  }

  /** Whether `args` has all known members with equal values. */
  agrees(args: JsonObject): boolean {
    return Object.entries(this.value).every(([name, value]) => JSON.stringify(args[name]) === JSON.stringify(value));
  }

  /** Adds one entry of `partialArgs`. Returns false if it has a value without a valid path. */
  add(entry: Json): boolean {
    if (!isJsonObject(entry)) return false;
    const path = typeof entry['jsonPath'] === 'string' ? readPath(entry['jsonPath']) : undefined;
    const value = valueOf(entry);
    if (path === undefined) return value === undefined;
    const place = JSON.stringify(path);
    if (value !== undefined) {
      const before = this.continuing === place ? this.at(path) : undefined;
      this.put(path, typeof before === 'string' && typeof value === 'string' ? before + value : value);
    }
    if (entry['willContinue'] === true) this.continuing = place;
    else if (value !== undefined || this.continuing === place) delete this.continuing;
    return true;
  }

  /** Whether `entry` continues the unfinished string. */
  continues(entry: Json | undefined): boolean {
    const place = isJsonObject(entry) ? entry['jsonPath'] : undefined;
    if (typeof place !== 'string' || this.continuing === undefined) return false;
    return JSON.stringify(readPath(place)) === this.continuing;
  }

  private at(path: (string | number)[]): Json | undefined {
    let found: Json | undefined = this.value;
    for (const key of path) {
      const holds: boolean = typeof found === 'object' && found !== null && Object.hasOwn(found, key);
      found = holds ? (found as JsonObject)[key] : undefined;
    }
    return found;
  }

  private put(path: (string | number)[], value: Json): void {
    let target: Container = this.value;
    path.forEach((key, at) => {
      const next = path[at + 1];
      if (next === undefined) return set(target, key, value);
      const inner: Json | undefined = Object.hasOwn(target, key) ? (target as JsonObject)[key] : undefined;
      const fits = typeof next === 'number' ? Array.isArray(inner) : isJsonObject(inner);
      const container: Container = fits ? (inner as Container) : typeof next === 'number' ? [] : {};
      if (!fits) set(target, key, container);
      target = container;
    });
  }
}

function set(target: Container, key: string | number, value: Json): void {
  if (!Array.isArray(target)) return define(target, String(key), value);
  // JSON lists have no holes.
  while (target.length < Number(key)) target.push(null);
  target[Number(key)] = value;
}

function valueOf(entry: JsonObject): Json | undefined {
  for (const name of ['stringValue', 'numberValue', 'boolValue', 'structValue', 'listValue']) {
    if (entry[name] !== undefined && entry[name] !== null) return entry[name];
  }
  return Object.hasOwn(entry, 'nullValue') ? null : undefined;
}

const step = /\.([^.[\]'"\s]+)|\[\s*(\d{1,9})\s*\]|\[\s*'((?:[^'\\]|\\.)*)'\s*\]|\[\s*"((?:[^"\\]|\\.)*)"\s*\]/y;

/** The names and indexes of a JSON Path (RFC 9535) to a single place; undefined for any other path. */
function readPath(path: string): (string | number)[] | undefined {
  const text = path.startsWith('$') ? path.slice(1) : `.${path}`;
  const keys: (string | number)[] = [];
  step.lastIndex = 0;
  while (step.lastIndex < text.length) {
    const match = step.exec(text);
    if (match === null) return undefined;
    const [, name, index, single, double] = match;
    const key = index === undefined ? (name ?? unescape(single ?? double ?? '')) : Number(index);
    if (keys.length >= maxDepth || (typeof key === 'number' && key > maxIndex)) return undefined;
    keys.push(key);
  }
  // Arguments are an object.
  return typeof keys[0] === 'string' ? keys : undefined;
}

const unescape = (text: string) => text.replace(/\\(.)/g, '$1');
