// Checks arguments against a tool's schema, so that no invalid call is made. If the schema cannot be compiled here (a
// remote reference, an unknown version of JSON Schema), anything passes, and the gateway's own check decides.
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { RE2JS } from 're2js';
import type { JsonObject } from '#libs/schemas/json.js';

const compiled = new WeakMap<JsonObject, (value: unknown) => boolean>();

/** Patterns come from callers, so they must run in linear time. */
const linearPattern = Object.assign(
  (pattern: string) => {
    const expression = RE2JS.compile(pattern);
    return { test: (text: string) => expression.matcher(text).find() };
  },
  { code: 'linearPattern' },
);

export function satisfies(schema: JsonObject, value: unknown): boolean {
  let check = compiled.get(schema);
  if (check === undefined) {
    check = compile(schema);
    compiled.set(schema, check);
  }
  return check(value);
}

function compile(schema: JsonObject): (value: unknown) => boolean {
  const { $schema: _dialect, $id: _id, ...rest } = schema;
  try {
    const ajv = new Ajv2020({
      strict: false,
      validateSchema: false,
      logger: false,
      addUsedSchema: false,
      code: { regExp: linearPattern },
    });
    addFormats.default(ajv, { mode: 'fast' });
    const validate = ajv.compile(rest);
    return (value) => {
      try {
        return validate(value);
      } catch {
        return true;
      }
    };
  } catch {
    return () => true;
  }
}
