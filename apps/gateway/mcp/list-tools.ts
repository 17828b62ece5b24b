// The catalog as MCP lists it, page by page.
import type { Tool } from '@modelcontextprotocol/server';
import { toolMetadataMetaKey } from '#libs/mcp-server/call-meta.js';
import { AppError } from '#libs/schemas/errors.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

export const toolsPageSize = 250;
/** In `_meta` of a listed tool: the configured server that has it. */
export const serverMetaKey = 'signalbox/server';

/** A type, no interface: as a result it may have members that it does not name. */
export type ToolsPage = { tools: Tool[]; nextCursor?: string };

/**
 * A cursor names the last tool that was shown, so that a catalog that changes meanwhile shows none twice.
 * @throws AppError invalid_value for a cursor that is none, or whose tool has gone
 */
export function listPage(
  catalog: readonly CatalogTool[],
  cursor: string | undefined,
  pageSize = toolsPageSize,
): ToolsPage {
  const start = cursor === undefined ? 0 : positionAfter(catalog, cursor);
  const shown = catalog.slice(start, start + pageSize);
  const more = start + pageSize < catalog.length;
  return { tools: shown.map(toMcpTool), ...(more ? { nextCursor: cursorAfter(shown.at(-1)!) } : {}) };
}

export function toMcpTool(tool: CatalogTool): Tool {
  const { name, title, description, inputSchema, outputSchema, annotations, server, metadata } = tool;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    description,
    inputSchema: { ...inputSchema, type: 'object' },
    ...(outputSchema === undefined ? {} : { outputSchema }),
    annotations,
    _meta: { [serverMetaKey]: server, ...(metadata === undefined ? {} : { [toolMetadataMetaKey]: metadata }) },
  };
}

const cursorAfter = ({ name }: CatalogTool) => Buffer.from(name).toString('base64url');

function positionAfter(catalog: readonly CatalogTool[], cursor: string): number {
  const name = Buffer.from(cursor, 'base64url').toString();
  const at = catalog.findIndex((tool) => tool.name === name);
  if (at < 0)
    throw new AppError('invalid_value', 'This cursor leads nowhere: list from the start', { param: 'cursor' });
  return at + 1;
}
