// The text of an OpenAPI document as an object of OpenAPI 3: JSON or YAML, Swagger 2 is converted. Checks no more than what kind of
// document it is: everything else is read tolerantly where it is used.
import { upgradeFromTwoToThree } from '@scalar/openapi-upgrader/2.0-to-3.0';
import { parse } from 'yaml';
import { maxDocumentBytes } from '#libs/config/servers/document-hash.js';
import { targetOf } from '#libs/json-schema/schema-references.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import { plainText } from './encode-parameter.js';

const maxHops = 16;

/** What is wrong with a document, in words for the operator that follow its name. */
export class DocumentProblem extends Error {
  override readonly name = 'DocumentProblem';
}

/** @throws DocumentProblem */
export function readOpenApiDocument(text: string): { document: JsonObject; version: string } {
  if (Buffer.byteLength(text) > maxDocumentBytes)
    throw new DocumentProblem(`is larger than ${maxDocumentBytes} bytes: keep the operations that are needed`);
  const parsed = parsedText(text);
  const { swagger, openapi } = isJsonObject(parsed) ? parsed : {};
  if (!isJsonObject(parsed) || (swagger ?? openapi) === undefined)
    throw new DocumentProblem('is no OpenAPI document: it has neither `openapi` nor `swagger`');
  const version = plainText(openapi ?? swagger ?? '');
  if (/^3\.[012](?:\.|$)/.test(version)) return { document: parsed, version };
  // An unquoted 2.0 of YAML is the number 2.
  if (openapi !== undefined || !/^2(?:\.0)?$/.test(version))
    throw new DocumentProblem(`is of version ${version.slice(0, 20)}: 2.0 and 3.0 to 3.2 are read`);
  const paths = withWholeParameters(parsed);
  return { document: upgradeFromTwoToThree({ ...parsed, paths, swagger: '2.0' }) as JsonObject, version: '2.0' };
}

/** In Swagger 2 a body is a parameter. The upgrade makes bodies of those that stand in an operation itself. */
function withWholeParameters(root: JsonObject): JsonObject {
  const paths = isJsonObject(root['paths']) ? root['paths'] : {};
  const listed = (list: unknown) => (Array.isArray(list) ? list.map((each) => followed(each, root)) : []);
  return mapped(paths, (item) => {
    const { parameters, ...members } = followed(item, root);
    const shared = listed(parameters);
    return mapped(members, (operation) => {
      if (!isJsonObject(operation)) return operation;
      const own = listed(operation['parameters']);
      const isOwn = (one: JsonObject) => own.some(({ name, in: place }) => name === one['name'] && place === one['in']);
      return { ...operation, parameters: [...shared.filter((one) => !isOwn(one)), ...own] };
    });
  });
}

const mapped = (members: JsonObject, map: (value: Json) => Json): JsonObject =>
  Object.fromEntries(Object.entries(members).map(([key, value]) => [key, map(value)]));

function parsedText(text: string): unknown {
  try {
    if (/^\s*\{/.test(text)) return JSON.parse(text);
  } catch {
    // A flow mapping of YAML begins like JSON.
  }
  try {
    const value: unknown = parse(text, { uniqueKeys: false, merge: true, logLevel: 'error' });
    // As JSON it has no dates, and nothing in it contains itself.
    return JSON.parse(JSON.stringify(value ?? null));
  } catch (error) {
    const [first = ''] = (error as Error).message.split('\n');
    throw new DocumentProblem(`cannot be read: ${first.slice(0, 200)}`);
  }
}

/** What a reference within the document leads to. Undefined: nothing. @throws DocumentProblem for one that leads out of it */
export function localTarget(ref: string, root: JsonObject): JsonObject | undefined {
  if (ref.startsWith('#')) return targetOf(ref, root);
  throw new DocumentProblem(`refers to ${ref.slice(0, 200)}, which is outside of it: bundle it into one file`);
}

/** The object itself, or what its `$ref` leads to; empty if there is none. @throws DocumentProblem as `localTarget` */
export function followed(node: unknown, root: JsonObject): JsonObject {
  let here = isJsonObject(node) ? node : undefined;
  for (let hops = 0; hops < maxHops && here !== undefined; hops += 1) {
    const { $ref: ref } = here;
    if (typeof ref !== 'string') return here;
    here = localTarget(ref, root);
  }
  return {};
}
