// Makes the tool of an operation: its arguments are the parameters, by their names, and `body`.
import { exceedsDepth } from '#libs/json-schema/compile-schema.js';
import { isJsonObject, type Json, type JsonObject, textOrEmpty } from '#libs/schemas/json.js';
import { type ApiParameter, type ApiTool, isStyle } from './api-tool.js';
import { bodyOfOperation, type DescribedBody, isJsonType } from './body-of-operation.js';
import type { ApiOperation } from './operations-of.js';
import { isPageParameter } from './pages.js';
import { DocumentProblem } from './read-document.js';
import { clipped, type SchemaForm, SchemaTooLarge, SchemaWriter } from './schema-writer.js';

export interface ToolLimits {
  maxBytes: number;
  maxDepth: number;
}

/** Models read what is written out better than references. */
const inlinedBytes = 16 * 1024;
const longestDescription = 1_000;
const allLevels = 200;

/** Whether a parameter is no argument. */
export type IsSet = (place: string, name: string) => boolean;

/** @throws DocumentProblem */
export function toolOfOperation(
  operation: ApiOperation,
  document: JsonObject,
  { limits, isSet }: { limits: ToolLimits; isSet: IsSet },
): ApiTool {
  const { name, method, path, title } = operation;
  const taken = operation.parameters.filter(({ in: place, name: own }) => !isSet(textOrEmpty(place), textOrEmpty(own)));
  const given = taken.flatMap((parameter) => placed(parameter));
  const named = withArguments(given);
  const parameters = named.map(({ parameter }) => parameter);
  // What a body of a GET means is not defined, and few servers read it.
  const sent = reads(method) ? undefined : operation.body;
  const body = bodyOfOperation(sent, document, parameters);
  const inputSchema = inputSchemaOf({ named, body, required: operation.body?.['required'] === true }, document, limits);
  const pages =
    method === 'GET' ? parameters.filter(({ name: own, place }) => place === 'query' && isPageParameter(own)) : [];
  const pageNames = pages.map(({ argument }) => argument);
  return {
    definition: {
      name,
      ...(title === '' ? {} : { title: clipped(title, 200) }),
      description: descriptionOf(operation, pageNames),
      inputSchema,
      annotations: annotationsOf(method),
    },
    method,
    path,
    parameters,
    ...(body === undefined ? {} : { body: body.plan }),
    pages: pageNames,
  };
}

const reads = (method: string) => method === 'GET' || method === 'HEAD';

function annotationsOf(method: string): ApiTool['definition']['annotations'] {
  if (reads(method)) return { readOnlyHint: true, openWorldHint: true };
  const idempotentHint = method === 'PUT' || method === 'DELETE';
  // A PUT or PATCH replaces what was there. What a POST does is not known: without the hint MCP takes it for destructive.
  const destructive = method === 'POST' ? {} : { destructiveHint: true };
  return { readOnlyHint: false, ...destructive, idempotentHint, openWorldHint: true };
}

function descriptionOf(
  { title, description, deprecated, method, path }: ApiOperation,
  pages: readonly string[],
): string {
  const text = description.startsWith(title)
    ? description
    : [title, description].filter((part) => part !== '').join('\n');
  const paged = pages.length === 0 ? [] : [`The answer is a page, chosen by: ${pages.join(', ')}.`];
  const old = deprecated ? ['Deprecated.'] : [];
  return [...old, clipped(text.trim(), longestDescription), `${method} ${path}`, ...paged]
    .filter((part) => part !== '')
    .join('\n');
}

interface NamedParameter {
  parameter: ApiParameter;
  schema: unknown;
  description: string;
  required: boolean;
}

const places = new Set(['path', 'query', 'header', 'cookie']);

function placed(given: JsonObject): Omit<NamedParameter, 'required'>[] {
  const { in: place, name, schema, content, description, style: givenStyle, explode, allowReserved } = given;
  if (!places.has(textOrEmpty(place))) return [];
  const usual = place === 'query' || place === 'cookie' ? 'form' : 'simple';
  const style = isStyle(givenStyle) ? givenStyle : usual;
  const media = isJsonObject(content) ? Object.entries(content)[0] : undefined;
  const parameter: ApiParameter = {
    argument: '',
    name: textOrEmpty(name),
    place: place as ApiParameter['place'],
    style,
    explode: typeof explode === 'boolean' ? explode : style === 'form' || style === 'deepObject',
    isJson: media !== undefined && isJsonType(media[0]),
    ...(allowReserved === true && place === 'query' ? { allowReserved } : {}),
  };
  const ofMedia = isJsonObject(media?.[1]) ? media[1]['schema'] : undefined;
  const own = { parameter, schema: schema ?? ofMedia ?? {}, description: textOrEmpty(description) };
  return [{ ...own, ...(place === 'path' || given['required'] === true ? { required: true } : { required: false }) }];
}

/** Models' providers take letters, digits, `_`, `.` and `-` in the names of arguments. */
const argumentName = (name: string) =>
  name
    .replaceAll(/[^A-Za-z0-9_.-]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, 56) || 'parameter';

function withArguments(given: readonly Omit<NamedParameter, 'required'>[]): NamedParameter[] {
  const taken = new Set<string>();
  return (given as NamedParameter[]).map((each) => {
    const { name, place } = each.parameter;
    const wished = [argumentName(name), `${argumentName(name)}_${place}`];
    let argument = wished.find((one) => !taken.has(one));
    for (let number = 2; argument === undefined; number += 1) {
      const tried = `${wished[1]!}${number}`;
      if (!taken.has(tried)) argument = tried;
    }
    taken.add(argument);
    return { ...each, parameter: { ...each.parameter, argument } };
  });
}

interface Inputs {
  named: readonly NamedParameter[];
  body: DescribedBody | undefined;
  required: boolean;
}

/** The first form that fits. */
function inputSchemaOf(inputs: Inputs, document: JsonObject, { maxBytes, maxDepth }: ToolLimits): JsonObject {
  const whole = { describes: true, maxLevels: allLevels, maxBytes };
  const forms: SchemaForm[] = [
    { ...whole, inlines: true, maxBytes: Math.min(inlinedBytes, maxBytes) },
    { ...whole, inlines: false },
    { ...whole, inlines: false, describes: false },
    ...[10, 8, 6, 5, 4, 3, 2].map((maxLevels) => ({ inlines: true, describes: false, maxLevels, maxBytes })),
  ];
  for (const form of forms) {
    const schema = written(inputs, document, form);
    if (schema === undefined || exceedsDepth(schema, maxDepth)) continue;
    if (Buffer.byteLength(JSON.stringify(schema)) <= form.maxBytes) return schema;
  }
  throw new DocumentProblem(`has an operation whose schema is larger than limits.tool_schema_bytes (${maxBytes})`);
}

function written({ named, body, required }: Inputs, document: JsonObject, form: SchemaForm): JsonObject | undefined {
  const writer = new SchemaWriter(document, form, body !== undefined && body.plan.kind !== 'json');
  try {
    const properties = named.map(({ parameter, schema, description }) => [
      parameter.argument,
      described(writer.write(schema), description),
    ]);
    const whole = body?.plan.kind === 'file' ? { type: 'string', format: 'binary' } : body?.schema;
    if (body !== undefined) properties.push([body.plan.argument, described(writer.write(whole), body.description)]);
    const needed = named.flatMap((each) => (each.required ? [each.parameter.argument] : []));
    if (body !== undefined && required) needed.push(body.plan.argument);
    return {
      type: 'object',
      properties: Object.fromEntries(properties) as JsonObject,
      ...(needed.length === 0 ? {} : { required: needed }),
      additionalProperties: false,
      ...(Object.keys(writer.defs).length === 0 ? {} : { $defs: writer.defs }),
    };
  } catch (error) {
    if (error instanceof SchemaTooLarge) return undefined;
    throw error;
  }
}

/** What the document says about the argument, before what it says about its schema. */
function described(schema: Json, description: string): Json {
  if (!isJsonObject(schema) || description.trim() === '') return schema;
  const own = textOrEmpty(schema['description']);
  const note = /(?:^| )Default: .*$/.exec(own)?.[0] ?? '';
  return { ...schema, description: `${clipped(description.trim())}${note === '' ? '' : ` ${note.trim()}`}` };
}
