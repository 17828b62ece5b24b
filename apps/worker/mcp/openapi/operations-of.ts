// The operations of an OpenAPI document, each with the name of its tool. Leaves schemas alone.
import { isJsonObject, type JsonObject, textOrEmpty } from '#libs/schemas/json.js';
import { starMatcher } from '#libs/policy/tool-glob.js';
import { followed } from './read-document.js';

export interface ApiOperation {
  /** The name of its tool: `operationId`, or made of method and path. */
  name: string;
  /** In capitals. */
  method: string;
  /** `/users/{id}` */
  path: string;
  title: string;
  description: string;
  deprecated: boolean;
  /** Those of the path, or of the operation in their place; references are followed. */
  parameters: JsonObject[];
  body: JsonObject | undefined;
  /** The addresses that the operation or its path names instead of those of the document. */
  servers: unknown;
  /** In place of that of the document. */
  security: unknown;
  /** Why it is no tool. */
  problem?: string;
}

const methods = ['get', 'head', 'post', 'put', 'patch', 'delete'] as const;
const longestName = 64;

/**
 * In the order of the document.
 * @param globs of ids, tags and names of tools, in order; `!` removes. Absent: all operations
 * @throws DocumentProblem
 */
export function operationsOf(document: JsonObject, globs?: readonly string[]): ApiOperation[] {
  const isWanted = wanted(globs);
  const names = new Set<string>();
  const found: ApiOperation[] = [];
  for (const [path, item] of Object.entries(isJsonObject(document['paths']) ? document['paths'] : {})) {
    if (!path.startsWith('/')) continue;
    const { parameters: shared, servers, ...operations } = followed(item, document);
    const { additionalOperations: more } = operations;
    const known = [...methods, 'query'].map((method) => [method, operations[method]] as const);
    for (const [method, operation] of [...known, ...Object.entries(isJsonObject(more) ? more : {})]) {
      if (!isJsonObject(operation)) continue;
      const id = textOrEmpty(operation['operationId']);
      // Names do not depend on which operations are wanted.
      const name = unused(cleaned(id) || nameOfPath(method, path), names);
      names.add(name);
      if (!isWanted([id, name, ...elementsOf(operation['tags']).map(textOrEmpty)])) continue;
      const parameters = merged(elementsOf(shared), elementsOf(operation['parameters']), document);
      found.push({
        name,
        method: method.toUpperCase(),
        path,
        title: textOrEmpty(operation['summary']),
        description: textOrEmpty(operation['description']),
        deprecated: operation['deprecated'] === true,
        parameters,
        body: operation['requestBody'] === undefined ? undefined : followed(operation['requestBody'], document),
        servers: operation['servers'] ?? servers,
        security: operation['security'],
        ...problemOf(method, parameters),
      });
    }
  }
  return found;
}

/** What OpenAPI 3.2 has in addition. */
function problemOf(method: string, parameters: readonly JsonObject[]): Pick<ApiOperation, 'problem'> {
  if (!(methods as readonly string[]).includes(method))
    return { problem: `its method ${method.toUpperCase().slice(0, 20)} is not sent` };
  const isWhole = parameters.some(({ in: place }) => place === 'querystring');
  return isWhole ? { problem: 'it takes the whole query as one parameter' } : {};
}

export const elementsOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function wanted(globs: readonly string[] | undefined): (words: readonly string[]) => boolean {
  if (globs === undefined) return () => true;
  const rules = globs.map((glob) => ({ removes: glob.startsWith('!'), matches: starMatcher(glob.replace(/^!/, '')) }));
  return (words) => {
    const last = rules.findLast(({ matches }) => words.some((word) => word !== '' && matches(word)));
    return last === undefined ? (rules[0]?.removes ?? false) : !last.removes;
  };
}

const cleaned = (text: string) =>
  text
    .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
    .slice(0, longestName);

/** `GET /users/{id}` is `get_users_by_id`. */
const nameOfPath = (method: string, path: string) =>
  cleaned(`${method} ${path.replaceAll('{', 'by ')}`.replaceAll(/[^A-Za-z0-9-]+/g, '_'));

function unused(name: string, taken: ReadonlySet<string>): string {
  let tried = name;
  for (let number = 2; taken.has(tried); number += 1) {
    const suffix = `_${number}`;
    tried = `${name.slice(0, longestName - suffix.length)}${suffix}`;
  }
  return tried;
}

function merged(shared: readonly unknown[], own: readonly unknown[], document: JsonObject): JsonObject[] {
  const byPlace = new Map<string, JsonObject>();
  for (const given of [...shared, ...own]) {
    const parameter = followed(given, document);
    const { name, in: place } = parameter;
    if (typeof name === 'string' && name !== '') byPlace.set(`${textOrEmpty(place)} ${name}`, parameter);
  }
  return [...byPlace.values()];
}
