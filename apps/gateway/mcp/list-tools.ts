// Lists the tools of the catalog for MCP, page by page.
import type { Tool } from '@modelcontextprotocol/server';
import { toolMetadataMetaKey } from '#libs/mcp-server/call-meta.js';
import type { NameMapping } from '#libs/names/map-names.js';
import { isJsonObject, type Json, type JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { pageOf } from './page-of.js';
import { canBeTask } from './tasks/task-wish.js';

/** In `_meta` of a listed tool: the name of its configured server. */
export const serverMetaKey = 'signalbox/server';

/** In `_meta` of a listed tool whose name is mapped: the catalog's name. */
export const nameMetaKey = 'signalbox/name';

/** What of a tool is named in another way than by its server. */
export interface ListedNaming {
  names: NameMapping;
  /** For a tool that has an app. */
  appMetaOf: (tool: CatalogTool) => JsonObject;
}

/** A type, not an interface: results may have members beyond these. */
export type ToolsPage = { tools: Tool[]; nextCursor?: string };

/** @throws AppError invalid_value */
export function listPage(
  catalog: readonly CatalogTool[],
  { cursor, pageSize, ...naming }: ListedNaming & { cursor?: string | undefined; pageSize?: number },
): ToolsPage {
  const nameOf = ({ name }: CatalogTool) => name;
  const { shown, next } = pageOf(catalog, { cursor, nameOf, ...(pageSize === undefined ? {} : { pageSize }) });
  return { tools: shown.map((tool) => toMcpTool(tool, naming)), ...next };
}

/** The listed form of a tool. If its name is mapped and it has no title, the catalog's name becomes the title. */
export function toMcpTool(tool: CatalogTool, { names, appMetaOf }: ListedNaming): Tool {
  const { name: own, description, inputSchema, outputSchema, annotations, server, metadata } = tool;
  const name = names.toWire(own);
  const isMapped = name !== own;
  const title = tool.title ?? (isMapped && annotations.title === undefined ? own : undefined);
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    inputSchema: objectSchema(inputSchema),
    ...(isOfObjects(outputSchema) ? { outputSchema: objectSchema(outputSchema) } : {}),
    annotations,
    ...(canBeTask(tool) ? { execution: { taskSupport: 'optional' as const } } : {}),
    _meta: {
      ...(tool.appMeta === undefined ? {} : appMetaOf(tool)),
      [serverMetaKey]: server,
      ...(isMapped ? { [nameMetaKey]: own } : {}),
      ...(metadata === undefined ? {} : { [toolMetadataMetaKey]: metadata }),
    },
  };
}

/**
 * A schema that clients before 2026 (SDK 1.x) accept: one refused schema would cost them the whole page. Parts that their form
 * cannot express are left out; calls are checked against the server's own schema.
 */
function objectSchema({ properties, required, ...rest }: JsonObject): Tool['inputSchema'] {
  return {
    ...rest,
    type: 'object',
    ...(isJsonObject(properties) ? { properties: mapValues(properties, asSchema) } : {}),
    ...(isTexts(required) ? { required } : {}),
  };
}

const isOfObjects = (schema: JsonObject | undefined): schema is JsonObject =>
  schema !== undefined && (schema['type'] === undefined || schema['type'] === 'object');
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');
/** Writes the schemas `true` and `false` as objects. */
const asSchema = (schema: Json): JsonObject => (isJsonObject(schema) ? schema : schema === false ? { not: {} } : {});
const mapValues = (object: JsonObject, map: (value: Json) => JsonObject) =>
  Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value)]));
