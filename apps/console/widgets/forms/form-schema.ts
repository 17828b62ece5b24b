// What the form of a JSON schema needs of it. Schemas come from tool servers: unknown parts are left to the JSON field, and the
// gateway checks every value again.

export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };
export type JsonObject = { [name: string]: Json };

export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  default?: Json;
  enum?: Json[];
  enumNames?: string[];
  const?: Json;
  format?: string;
  minLength?: number;
  maxLength?: number;
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
  exclusiveMaximum?: number;
  multipleOf?: number;
  items?: Schema;
  minItems?: number;
  maxItems?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  oneOf?: Schema[];
  anyOf?: Schema[];
  writeOnly?: boolean;
  $ref?: string;
  $defs?: Record<string, Schema>;
  definitions?: Record<string, Schema>;
}

export interface Choice {
  value: Json;
  title: string;
}

/** What a part of a form is. Whatever has no other form is `json`. */
export type FieldKind =
  | { kind: 'text' | 'secret' | 'number' | 'integer' | 'boolean' | 'json' }
  | { kind: 'choice'; choices: readonly Choice[] }
  | { kind: 'choices'; choices: readonly Choice[] }
  | { kind: 'list'; items: Schema }
  | { kind: 'object'; properties: readonly (readonly [string, Schema])[] };

/** Deeper parts are shown as JSON, so that a schema that contains itself has an end. */
export const deepest = 6;

/** Follows a reference within the schema. */
export function resolved(schema: Schema, root: Schema): Schema {
  const name = /^#\/(\$defs|definitions)\/([^/]+)$/.exec(schema.$ref ?? '');
  if (name === null) return withoutNull(schema);
  const target = (name[1] === '$defs' ? root.$defs : root.definitions)?.[name[2]!];
  if (target === undefined) return schema;
  const { $ref: _ref, ...own } = schema;
  return withoutNull({ ...target, ...own });
}

/** A value that may be null has the form of what else it may be; left empty it is left out. */
function withoutNull(schema: Schema): Schema {
  const { type } = schema;
  if (Array.isArray(type)) {
    const types = type.filter((each) => each !== 'null');
    return types.length === 1 ? { ...schema, type: types[0]! } : schema;
  }
  const choices = schema.anyOf ?? schema.oneOf;
  const others = choices?.filter((each) => each.type !== 'null');
  if (others?.length !== 1) return schema;
  const { anyOf: _any, oneOf: _one, ...rest } = schema;
  return { ...others[0], ...rest };
}

export function kindOf(schema: Schema, isSecret: boolean, depth: number): FieldKind {
  const choices = choicesOf(schema);
  if (choices !== undefined) return { kind: 'choice', choices };
  if (depth >= deepest || schema.anyOf !== undefined || schema.oneOf !== undefined) return { kind: 'json' };
  switch (schema.type) {
    case 'string':
      return { kind: isSecret || schema.format === 'password' || schema.writeOnly === true ? 'secret' : 'text' };
    case 'number':
    case 'integer':
    case 'boolean':
      return { kind: schema.type };
    case 'array': {
      const { items } = schema;
      if (items === undefined || Array.isArray(items)) return { kind: 'json' };
      const several = choicesOf(items);
      return several === undefined ? { kind: 'list', items } : { kind: 'choices', choices: several };
    }
    default:
      return schema.properties === undefined
        ? { kind: 'json' }
        : { kind: 'object', properties: Object.entries(schema.properties) };
  }
}

function choicesOf(schema: Schema): Choice[] | undefined {
  if (schema.const !== undefined) return [{ value: schema.const, title: schema.title ?? textOf(schema.const) }];
  if (Array.isArray(schema.enum)) {
    return schema.enum.map((value, index) => ({ value, title: schema.enumNames?.[index] ?? textOf(value) }));
  }
  const constants = schema.oneOf ?? schema.anyOf;
  if (constants === undefined || constants.length === 0) return undefined;
  if (constants.some((each) => each.const === undefined)) return undefined;
  return constants.map((each) => ({ value: each.const!, title: each.title ?? textOf(each.const!) }));
}

const textOf = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** What a form begins with: the defaults, and objects and lists that must be there. */
export function firstValue(given: Schema, root: Schema = given, depth = 0): Json | undefined {
  const schema = resolved(given, root);
  if (schema.default !== undefined) return schema.default;
  const kind = kindOf(schema, false, depth);
  if (kind.kind === 'choice') return kind.choices.length === 1 ? kind.choices[0]!.value : undefined;
  if (kind.kind !== 'object') return undefined;
  const required = new Set(schema.required ?? []);
  const members = kind.properties.flatMap(([name, member]) => {
    const value = firstValue(member, root, depth + 1);
    const isEmpty = isObject(value) && Object.keys(value).length === 0;
    return value === undefined || (isEmpty && !required.has(name)) ? [] : [[name, value] as const];
  });
  return Object.fromEntries(members);
}

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
