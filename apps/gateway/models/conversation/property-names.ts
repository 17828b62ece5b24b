// A reversible mapping between the property names of tools' schemas and those that a provider accepts: in the schemas, in
// the arguments of a history, and back in those of an answer. A tool whose names the provider accepts is left as it is.
import { eachNode, memberOf, pointerTo, rewritten } from '#libs/json-schema/schema-references.js';
import { keptFor } from '#libs/kept/kept-for.js';
import { isJsonObject, type Json, type JsonObject, parseJsonObject } from '#libs/schemas/json.js';
import type { AssistantMessage, ChatMessage, ToolCall } from '#libs/schemas/message.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { ModelRequest } from '../model-provider.js';
import { mapToolNames, type ToolNameRule } from './tool-names.js';
import { renameMembers } from './rename-members.js';

/** Anthropic's API refuses the whole request for any other name. */
export const anthropicPropertyNames: ToolNameRule = {
  valid: /^[A-Za-z0-9_.-]{1,64}$/,
  forbidden: /[^A-Za-z0-9_.-]/g,
  maxLength: 64,
};

/** A dot would part the paths of streamed arguments. */
export const geminiPropertyNames: ToolNameRule = {
  valid: /^[A-Za-z0-9_-]{1,64}$/,
  forbidden: /[^A-Za-z0-9_-]/g,
  maxLength: 64,
};

export interface MappedTool {
  definition: ToolDefinition;
  /** Arguments with the tool's own names; `toWire`: with the provider's. */
  fromWire(args: JsonObject): JsonObject;
  toWire(args: JsonObject): JsonObject;
}

export interface MappedRequest {
  request: ModelRequest;
  tools: ReadonlyMap<string, MappedTool>;
}

const nothing: MappedRequest['tools'] = new Map();

export function mapProperties(request: ModelRequest, rule: ToolNameRule | undefined): MappedRequest {
  if (rule === undefined || request.tools.length === 0) return { request, tools: nothing };
  let tools: Map<string, MappedTool> | undefined;
  for (const tool of request.tools) {
    const mapped = mappedTool(tool, rule);
    if (mapped !== undefined) (tools ??= new Map<string, MappedTool>()).set(tool.name, mapped);
  }
  if (tools === undefined) return { request, tools: nothing };
  const known = tools;
  return {
    request: {
      ...request,
      tools: request.tools.map((tool) => known.get(tool.name)?.definition ?? tool),
      messages: request.messages.map((message) => withWireCalls(message, known)),
    },
    tools,
  };
}

/** Definitions are the same objects in every request, so each is looked at once. Undefined: nothing to map. */
const mappedTool = keptFor((tool: ToolDefinition, rule: ToolNameRule): MappedTool | undefined => {
  const { parameters: schema } = tool;
  if (schema === undefined) return undefined;
  const own = new Set<string>();
  eachNode(schema, ({ properties }) => {
    if (isJsonObject(properties)) for (const name of Object.keys(properties)) own.add(name);
  });
  if ([...own].every((name) => rule.valid.test(name))) return undefined;
  const { toWire, fromWire } = mapToolNames(own, rule);
  return {
    definition: { ...tool, parameters: renamed(schema, toWire) },
    fromWire: (args) => renameMembers(args, [schema], { root: schema, ownName: fromWire, given: (own) => own }),
    toWire: (args) => renameMembers(args, [schema], { root: schema, ownName: (own) => own, given: toWire }),
  };
});

/** Keywords whose members are schemas by the names of properties. */
const byProperty = new Set(['properties', 'dependentSchemas', 'dependencies']);
const byOtherName = new Set(['patternProperties', '$defs', 'definitions']);
const values = new Set(['default', 'const', 'enum', 'examples', 'example']);

function renamed(schema: JsonObject, toWire: (name: string) => string): JsonObject {
  const namesIn = (names: Json) =>
    Array.isArray(names) ? names.map((name) => (typeof name === 'string' ? toWire(name) : name)) : names;
  const renamedMember = (key: string, value: Json, node: JsonObject): Json => {
    if (key === '$ref' && typeof value === 'string') return renamedPointer(value, toWire);
    if (key === 'required') return namesIn(value);
    if (values.has(key)) {
      const places = { root: schema, ownName: (own: string) => own, given: toWire };
      const rename = (each: Json) => renameMembers(each, [node], places);
      return Array.isArray(value) && (key === 'enum' || key === 'examples') ? value.map(rename) : rename(value);
    }
    if (!isJsonObject(value)) return value;
    if (key === 'dependentRequired') return mapMembers(value, (name, names) => [toWire(name), namesIn(names)]);
    if (!byProperty.has(key)) return value;
    return mapMembers(value, (name, of) => {
      // The title tells the model the name that is lost.
      const isLost = key === 'properties' && toWire(name) !== name && isJsonObject(of) && of['title'] === undefined;
      return [toWire(name), isLost ? { title: name, ...of } : namesIn(of)];
    });
  };
  return rewritten(schema, (node) => mapMembers(node, (key, value) => [key, renamedMember(key, value, node)]));
}

const mapMembers = (members: JsonObject, map: (name: string, value: Json) => [string, Json]): JsonObject =>
  Object.fromEntries(Object.entries(members).map(([name, value]) => map(name, value)));

/** `#/properties/%24top` → `#/properties/_top` */
function renamedPointer(ref: string, toWire: (name: string) => string): string {
  if (!ref.startsWith('#/')) return ref;
  let within = '';
  const segments = ref.slice(2).split('/');
  const made = segments.map((segment) => {
    const isName = byProperty.has(within) || byOtherName.has(within);
    const written = byProperty.has(within) ? pointerTo(toWire(memberOf(segment))) : segment;
    within = isName ? '' : segment;
    return written;
  });
  return `#/${made.join('/')}`;
}

function withWireCalls(message: ChatMessage, tools: MappedRequest['tools']): ChatMessage {
  if (message.role !== 'assistant' || !message.tool_calls?.some((call) => tools.has(call.function.name)))
    return message;
  const calls = message.tool_calls.map((call): ToolCall => {
    const tool = tools.get(call.function.name);
    const args = tool && parseJsonObject(call.function.arguments);
    if (tool === undefined || args === undefined) return call;
    return { ...call, function: { ...call.function, arguments: JSON.stringify(tool.toWire(args)) } };
  });
  return { ...message, tool_calls: calls } satisfies AssistantMessage;
}
