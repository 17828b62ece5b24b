// The names of tools for MCP clients, which may be as strict as a model's provider: Claude Desktop refuses all tools for one
// name with a slash. They depend on the whole catalog, not on the caller or the page. A tool's own name works too.
import { mapNames, type NameMapping, strictNames } from '#libs/names/map-names.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';

/** The catalog makes another list when anything changes. */
const mapped = new WeakMap<readonly CatalogTool[], NameMapping>();

export function listedNames(catalog: Pick<ToolCatalog, 'list'>): NameMapping {
  const tools = catalog.list();
  let names = mapped.get(tools);
  if (names === undefined) {
    // Every name that a tool is found by: none of them may lead to another tool.
    const all = new Set(tools.flatMap(({ name, server, tool }) => [name, `${server}__${tool}`]));
    mapped.set(tools, (names = mapNames(all, strictNames)));
  }
  return names;
}
