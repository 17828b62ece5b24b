// The tools of an OpenAPI document, and the one address that their requests go to. Pure; api-thread.ts runs it beside the event loop.
import { isJsonObject, type JsonObject, textOrEmpty } from '#libs/schemas/json.js';
import type { ApiTool } from './api-tool.js';
import { plainText } from './encode-parameter.js';
import { neededCredentials, type NeededCredentials } from './needed-credentials.js';
import { elementsOf, operationsOf, type ApiOperation } from './operations-of.js';
import { DocumentProblem, readOpenApiDocument } from './read-document.js';
import { type IsSet, toolOfOperation, type ToolLimits } from './tool-of-operation.js';

export interface ApiOptions {
  /** Where requests go, instead of to what the document names. */
  baseUrl?: string | undefined;
  /** Where the document is from, if it is not a file. */
  documentUrl?: string | undefined;
  /** Globs of ids, tags and names of tools. */
  operations?: readonly string[] | undefined;
  /** Lower-case names of headers that are no arguments, since they are set for all requests. */
  setHeaders: readonly string[];
  limits: ToolLimits;
}

export interface Api {
  /** As the document says: `3.0.3`, or `2.0`. */
  version: string;
  /** Without query of its own, unless `baseUrl` has one. */
  baseUrl: string;
  /** Only the document names the address, so it has to be a public one. */
  isFromDocument: boolean;
  /** Operations that are wanted. */
  operations: number;
  tools: ApiTool[];
  /** Operations that are not offered, each with the reason. */
  leftOut: string[];
  /** What offered operations need that requests do not carry. */
  needed: NeededCredentials[];
}

const elsewhere = 'it is at another address than the others; give it an entry with its own base_url';

export const maxOperations = 2_000;

/** Headers that other members of OpenAPI describe, or the protocol has. */
const ownHeaders =
  /^(?:host|connection|keep-alive|upgrade|te|trailer|transfer-encoding|expect|accept.*|content-.*|authorization|cookie)$/i;

/** @throws DocumentProblem */
export function readApi(text: string, options: ApiOptions): Api {
  const { document, version } = readOpenApiDocument(text);
  const operations = operationsOf(document, options.operations);
  if (operations.length === 0) {
    const what = options.operations === undefined ? 'has no operations' : 'has no operation that `operations` names';
    throw new DocumentProblem(what);
  }
  if (operations.length > maxOperations)
    throw new DocumentProblem(`has ${operations.length} operations: choose up to ${maxOperations} with \`operations\``);
  const base = baseOf(document, options);
  const isSet = setParameters(document, base, options);
  const tools: ApiTool[] = [];
  const leftOut: string[] = [];
  const offered: ApiOperation[] = [];
  for (const operation of operations) {
    const prefix = prefixOf(operation, base, options);
    if (prefix === undefined || operation.problem !== undefined) {
      leftOut.push(`${operation.name}: ${operation.problem ?? elsewhere}`);
      continue;
    }
    const tool = toolOfOperation(operation, document, { limits: options.limits, isSet });
    tools.push({ ...tool, path: `${prefix}${tool.path}` });
    offered.push(operation);
  }
  const carried = { headers: options.setHeaders, query: new URL(base.baseUrl).searchParams };
  const needed = neededCredentials(offered, document, carried);
  return { version, ...base, operations: operations.length, tools, leftOut, needed };
}

/** Which parameters are no arguments: those that all requests have, and keys, which no model is asked for. */
function setParameters({ components }: JsonObject, { baseUrl }: Base, { setHeaders }: ApiOptions): IsSet {
  const schemes =
    isJsonObject(components) && isJsonObject(components['securitySchemes']) ? components['securitySchemes'] : {};
  const keys = Object.values(schemes)
    .filter(isJsonObject)
    .filter(({ type }) => type === 'apiKey');
  const inQuery = new URL(baseUrl).searchParams;
  return (place, name) => {
    const lower = name.toLowerCase();
    if (place === 'header' && (ownHeaders.test(name) || setHeaders.includes(lower))) return true;
    if (place === 'query' && inQuery.has(name)) return true;
    return keys.some((key) => key['in'] === place && textOrEmpty(key['name']).toLowerCase() === lower);
  };
}

type Base = Pick<Api, 'baseUrl' | 'isFromDocument'>;

function baseOf({ servers }: JsonObject, { baseUrl, documentUrl }: ApiOptions): Base {
  if (baseUrl !== undefined) return { baseUrl, isFromDocument: false };
  const named = addressOf(servers, documentUrl);
  if (named === undefined) throw new DocumentProblem('names no complete address of its API: set base_url');
  const { origin, protocol } = new URL(named);
  const isOfDocument = documentUrl !== undefined && origin === new URL(documentUrl).origin;
  if (documentUrl !== undefined && !isOfDocument)
    throw new DocumentProblem(`names the address ${origin}, and comes from another one: set base_url`);
  if (protocol !== 'https:' && !isOfDocument)
    throw new DocumentProblem(`names the address ${origin}, which is not https: set base_url`);
  return { baseUrl: named, isFromDocument: !isOfDocument };
}

/** What stands before the path of the operation, below the base address. Undefined: it is at another origin. */
function prefixOf({ servers }: ApiOperation, { baseUrl }: Base, options: ApiOptions): string | undefined {
  if (options.baseUrl !== undefined || elementsOf(servers).length === 0) return '';
  const own = addressOf(servers, options.documentUrl ?? baseUrl);
  const [one, other] = [new URL(own ?? baseUrl), new URL(baseUrl)];
  if (one.origin !== other.origin) return undefined;
  const [path, basePath] = [one, other].map(({ pathname }) => pathname.replace(/\/+$/, ''));
  return path!.startsWith(basePath!) ? path!.slice(basePath!.length) : undefined;
}

/** The first address, of several the first that is https, with the defaults of its variables. */
function addressOf(servers: unknown, relativeTo: string | undefined): string | undefined {
  const named = elementsOf(servers).filter(isJsonObject);
  const first = named.find(({ url }) => textOrEmpty(url).startsWith('https:')) ?? named[0];
  if (first === undefined) return relativeTo === undefined ? undefined : new URL('/', relativeTo).href;
  const variables = isJsonObject(first['variables']) ? first['variables'] : {};
  const url = textOrEmpty(first['url']).replaceAll(/\{([^{}]*)\}/g, (whole, name: string) => {
    const variable = Object.hasOwn(variables, name) ? variables[name] : undefined;
    return isJsonObject(variable) ? plainText(variable['default'] ?? whole) : whole;
  });
  if (/[{}]/.test(url) || !URL.canParse(url, relativeTo)) return undefined;
  const { protocol, origin, pathname } = new URL(url, relativeTo);
  return protocol === 'https:' || protocol === 'http:' ? `${origin}${pathname.replace(/\/+$/, '')}` : undefined;
}
