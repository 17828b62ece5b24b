// Content as the API wrote it that a caller used, beside its text for everybody else. It is part of the request, not of what
// is stored: a symbol is in no JSON.
import type { JsonObject } from './json.js';

const original = Symbol('original');

/** `value` with its original. */
export function withOriginal<Value extends object>(value: Value, form: JsonObject | JsonObject[]): Value {
  return Object.assign(value, { [original]: form });
}

export function originalOf(value: object): JsonObject | JsonObject[] | undefined {
  return (value as { [original]?: JsonObject | JsonObject[] })[original];
}
