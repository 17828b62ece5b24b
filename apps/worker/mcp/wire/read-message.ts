// Reads a server's JSON as a message that the SDK's strict schemas accept: optional members that are null become absent, and
// unknown members are dropped. Structured content, arguments and schemas stay unchanged.
import {
  DEFAULT_NEGOTIATED_PROTOCOL_VERSION,
  isSpecType,
  type JSONRPCMessage,
  SUPPORTED_PROTOCOL_VERSIONS,
} from '@modelcontextprotocol/client';
import { isJsonObject, type Json, type JsonObject, parseJson, textOrEmpty } from '#libs/schemas/json.js';

export type Id = string | number;

export const unreadableAnswer = -32_099;
const maxErrorLength = 2_000;

/** Returns the same object if no member is null. */
export function withoutNulls<T extends object>(object: T): T {
  if (!Object.values(object).includes(null)) return object;
  return Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null)) as T;
}

/** `asked`: the request that an answer without an id can only belong to. Undefined if the value is no message. */
export function readMessage(value: unknown, asked?: Id): JSONRPCMessage | undefined {
  if (!isJsonObject(value)) return undefined;
  const { jsonrpc, method, id = asked, params, result, error } = withoutNulls(value);
  if (method !== undefined) return jsonrpc === '2.0' ? toRequest({ method, id: value['id'], params }) : undefined;
  // Before version 2 messages had no `jsonrpc`.
  if (jsonrpc !== '2.0' && !(jsonrpc === undefined && (isJsonObject(result) || isJsonObject(error)))) return undefined;
  const isId = typeof id === 'string' || typeof id === 'number';
  if (!isId) return error === undefined ? undefined : { jsonrpc: '2.0', error: readError(error) };
  if (isJsonObject(result) && error === undefined) return { jsonrpc: '2.0', id, result: withReadableMeta(result) };
  return { jsonrpc: '2.0', id, error: result === undefined ? readError(error) : readError(undefined) };
}

/**
 * The messages of a line: one, several (a batch), none (an empty line); undefined if it is not JSON-RPC. Invalid UTF-8
 * becomes U+FFFD. Only the envelope is checked.
 */
export function readFrame(line: Buffer): JSONRPCMessage[] | undefined {
  const text = line
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trim();
  if (text === '') return [];
  const messages = [parseJson(text)].flat().map((each) => readMessage(each));
  return messages.every((each) => each !== undefined) ? messages : undefined;
}

/** A larger event is parsed only if it contains a member that the SDK would refuse. */
const maxReadBytes = 256 * 1024;
const refusedMembers = /"(?:_meta|error|id|params|jsonrpc)"\s*:\s*null/;

/** The data of an event as `readable` reads it; undefined if unchanged. */
export function readableData(data: Buffer, sent: unknown): string | undefined {
  const isLarge = data.length > maxReadBytes;
  if (isLarge && !(data.includes('null') && refusedMembers.test(data.toString()))) return undefined;
  try {
    const value: unknown = JSON.parse(data.toString());
    const read = readable(value, sent);
    return read === value ? undefined : JSON.stringify(read);
  } catch {
    return undefined;
  }
}

/** Reads a message over HTTP so that the SDK's schemas accept it. `sent`: the body of the request that it answers. */
export function readable(value: unknown, sent: unknown): unknown {
  const isTaken = isSpecType.JSONRPCMessage(value) && ('id' in value || 'method' in value);
  if (isTaken) return value;
  const asked: unknown = typeof sent === 'string' ? JSON.parse(sent) : undefined;
  const id = isJsonObject(asked) && 'method' in asked ? asked['id'] : undefined;
  return readMessage(value, typeof id === 'string' || typeof id === 'number' ? id : undefined) ?? value;
}

export const unreadable = (id: Id): JSONRPCMessage => ({ jsonrpc: '2.0', id, error: readError(undefined) });

function toRequest({ method, id, params }: Record<'method' | 'id' | 'params', unknown>): JSONRPCMessage {
  const read = isJsonObject(params) ? { params: withReadableMeta(withoutNulls(params)) } : {};
  return { jsonrpc: '2.0', method, ...(id == null ? {} : { id }), ...read } as JSONRPCMessage;
}

function readError(error: unknown): { code: number; message: string; data?: unknown } {
  if (!isJsonObject(error) || !Number.isInteger(error['code'])) {
    return { code: unreadableAnswer, message: 'The tool server sent an answer that cannot be read' };
  }
  const { code, message, data } = error;
  const said = typeof message === 'string' ? message.slice(0, maxErrorLength) : '';
  return { code: code as number, message: said, ...(data == null ? {} : { data }) };
}

/** Drops an invalid `_meta`, which is not used here. */
function withReadableMeta<T extends JsonObject>(object: T): T {
  const { _meta: meta, ...bare } = object;
  if (meta === undefined) return object;
  return (isJsonObject(meta) ? { ...bare, _meta: withoutNulls(meta) } : bare) as T;
}

/** Reads the parts of a result that are used here. */
export function readServerResult(result: JsonObject, method: string): JsonObject {
  const read = withoutNulls(result);
  switch (method) {
    case 'initialize':
      return { ...read, ...readGreeting(read) };
    case 'server/discover':
      return { ...read, capabilities: readCapabilities(read['capabilities']) };
    default: {
      const entries = entriesOf[method];
      return entries === undefined ? read : withEntries(read, entries, readMembers);
    }
  }
}

/** The member of a result that has the entries, by the method. */
const entriesOf: Partial<Record<string, string>> = {
  'tools/list': 'tools',
  'tools/call': 'content',
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'resources/read': 'contents',
  'prompts/list': 'prompts',
  'prompts/get': 'messages',
};

/** What may answer with a task. */
const tellOfTasks: ReadonlySet<string> = new Set(['tools/call', 'tasks/get']);
const enclosed = 'signalbox/result';
/** Requests whose results have no entries. */
const emptyOf: Partial<Record<string, JsonObject>> = {
  'completion/complete': { completion: { values: [] } },
  'tasks/get': {},
  'tasks/update': {},
  'tasks/cancel': {},
};

/**
 * The SDK refuses a whole result for one invalid entry, or a missing member, so it gets an empty result that
 * encloses the real one.
 */
export function enclose(result: JsonObject, method: string): JsonObject {
  const entries = entriesOf[method];
  const empty = entries === undefined ? emptyOf[method] : { [entries]: [] };
  const { resultType = 'complete' } = result;
  // The SDK does not know tasks as results of calls.
  const isTaken = resultType === 'complete' || (resultType === 'task' && tellOfTasks.has(method));
  if (!isTaken || empty === undefined) return result;
  return { resultType: 'complete', ...empty, ttlMs: 0, cacheScope: 'private', [enclosed]: result };
}

export const disclose = (result: Record<string, unknown>): Record<string, unknown> =>
  isJsonObject(result[enclosed]) ? result[enclosed] : result;

function readGreeting({ protocolVersion, capabilities, serverInfo, instructions }: JsonObject): JsonObject {
  const { name, version } = isJsonObject(serverInfo) ? serverInfo : {};
  return {
    protocolVersion: knownVersion(protocolVersion),
    capabilities: readCapabilities(capabilities),
    serverInfo: { name: textOrEmpty(name), version: textOrEmpty(version) },
    instructions: textOrEmpty(instructions),
  };
}

function readCapabilities(capabilities: unknown): JsonObject {
  if (!isJsonObject(capabilities)) return {};
  const read: JsonObject = {};
  for (const name of ['tools', 'resources', 'prompts', 'completions', 'logging']) {
    const given = capabilities[name];
    if (!isJsonObject(given)) continue;
    const flags = ['listChanged', 'subscribe'].filter((flag) => given[flag] === true);
    read[name] = Object.fromEntries(flags.map((flag) => [flag, true]));
  }
  if (hasTasks(capabilities)) read['tasks'] = { requests: { tools: { call: {} } } };
  return read;
}

/** Whether a server of 2025-11-25 makes tasks of calls. */
function hasTasks({ tasks }: JsonObject): boolean {
  let member: unknown = tasks;
  for (const name of ['requests', 'tools', 'call']) member = isJsonObject(member) ? member[name] : undefined;
  return isJsonObject(member);
}

const olderVersions = SUPPORTED_PROTOCOL_VERSIONS.filter((version) => version < '2026').toSorted();

/** For an unknown revision, the last known one before it. */
function knownVersion(version: Json | undefined): Json {
  if (version === undefined) return DEFAULT_NEGOTIATED_PROTOCOL_VERSION;
  if (typeof version !== 'string' || !/^\d{4}-\d{2}-\d{2}$/.test(version)) return version;
  return olderVersions.findLast((known) => known <= version) ?? olderVersions[0]!;
}

/** Returns the same object if no entry changes. */
function withEntries(result: JsonObject, member: string, read: (entry: Json) => Json): JsonObject {
  const entries = result[member];
  if (!Array.isArray(entries)) return result;
  const changed = entries.map((entry) => read(entry));
  return changed.some((entry, at) => entry !== entries[at]) ? { ...result, [member]: changed } : result;
}

/** Removes nulls from a tool or a block, and from its members that the protocol defines. */
function readMembers(entry: Json): Json {
  if (!isJsonObject(entry)) return entry;
  let read = withoutNulls(entry);
  for (const member of ['annotations', 'resource', '_meta']) {
    const inner = read[member];
    if (!isJsonObject(inner)) continue;
    const bare = withoutNulls(inner);
    if (bare !== inner) read = { ...read, [member]: bare };
  }
  return read;
}
