// Test support: what each vendor refuses in a request's tools, according to their documentation and their 400 answers.
import { Ajv2020 } from 'ajv/dist/2020.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { list } from '../../apps/gateway/models/conversation/schema-parts.js';
import type { Kind } from '../fixtures/read-family.js';
import { must } from './strict-upstream.js';

const ajv = new Ajv2020({ strict: false, logger: false });
const choices = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', '$ref'];

/** @throws Error that names what the vendor would refuse */
export function checkDeclared(kind: Kind, body: JsonObject, count: number): void {
  const tools = list(body['tools']) as JsonObject[];
  const declared = kind === 'gemini' ? (list(tools[0]?.['functionDeclarations']) as JsonObject[]) : tools;
  must(declared.length === count && count <= 128, `${declared.length} of ${count} tools are declared`);
  const names = declared.map((tool) => checks[kind](tool));
  must(new Set(names).size === names.length, 'tool names must be unique');
}

const checks: Record<Kind, (tool: JsonObject) => string> = {
  openai({ type, function: given }) {
    must(type === 'function' && isJsonObject(given), 'a tool is a function');
    return checkFunction(given);
  },
  responses({ type, strict, ...given }) {
    must(type === 'function', 'a tool is a function');
    must(typeof strict === 'boolean', 'strict must be said, because it is true otherwise');
    return checkFunction(given);
  },
  anthropic({ name, input_schema: schema }) {
    must(typeof name === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(name), `name ${JSON.stringify(name)}`);
    checkTop(schema, name);
    return name;
  },
  gemini({ name, parameters, parametersJsonSchema: schema }) {
    must(typeof name === 'string' && /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(name), `name ${JSON.stringify(name)}`);
    must(parameters === undefined, `${name}: parameters are in another form`);
    if (schema !== undefined) checkJsonSchema(schema, name);
    return name;
  },
};

function checkFunction({ name, parameters }: JsonObject): string {
  must(typeof name === 'string' && /^[A-Za-z0-9_-]{1,64}$/.test(name), `name ${JSON.stringify(name)}`);
  checkTop(parameters, name);
  checkLists(parameters!, name);
  return name;
}

/** "input_schema does not support oneOf, allOf, or anyOf at the top level"; OpenAI says the same, and enum and not. */
function checkTop(schema: Json | undefined, name: string): void {
  must(isJsonObject(schema) && schema['type'] === 'object', `${name}: the schema must be of type object`);
  for (const key of choices) must(schema[key] === undefined, `${name}: ${key} at the top level`);
  const { $schema: _, ...own } = schema;
  must(ajv.validateSchema(own) === true, `${name}: no valid JSON Schema: ${ajv.errorsText(ajv.errors)}`);
}

/** "array schema missing items" */
function checkLists(schema: Json, name: string): void {
  if (Array.isArray(schema)) return schema.forEach((each) => checkLists(each, name));
  if (!isJsonObject(schema)) return;
  const isList = [schema['type']].flat().includes('array');
  must(!isList || schema['items'] !== undefined, `${name}: array schema missing items`);
  for (const value of Object.values(schema)) checkLists(value, name);
}

/** https://ai.google.dev/api/caching#Schema: what `parametersJsonSchema` supports. */
const known = new Set(
  '$id $defs $ref $anchor type format title description enum items prefixItems minItems maxItems minimum maximum anyOf oneOf properties additionalProperties required propertyOrdering'.split(
    ' ',
  ),
);

export function checkJsonSchema(schema: Json, name: string): void {
  if (!isJsonObject(schema)) return;
  for (const [key, value] of Object.entries(schema)) {
    must(known.has(key), `${name}: ${key} is not supported`);
    const isMap = (key === 'properties' || key === '$defs') && isJsonObject(value);
    if (isMap) for (const member of Object.values(value)) checkJsonSchema(member, name);
    else if (key === 'items' || key === 'additionalProperties') checkJsonSchema(value, name);
    else if (key === 'anyOf' || key === 'oneOf' || key === 'prefixItems')
      for (const one of list(value)) checkJsonSchema(one, name);
  }
  must(
    schema['$ref'] === undefined || Object.keys(schema).every((key) => key.startsWith('$')),
    `${name}: beside a $ref`,
  );
}
