// Maps names of tools for MCP clients, which may be as strict as a model's provider: Claude Desktop refuses all tools for one name
// with a slash. A mapped name depends on the whole catalog, not on the caller or the page. The catalog's name can be called too.
import { mapNames, type NameMapping, strictNames } from '#libs/names/map-names.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';

/** By the catalog's list, which is another object after every change. */
const mapped = new WeakMap<readonly CatalogTool[], NameMapping>();

export function listedNames(catalog: Pick<ToolCatalog, 'list'>): NameMapping {
  const tools = catalog.list();
  let names = mapped.get(tools);
  if (names === undefined) {
    // A mapped name must not equal any name by which another tool is found.
    const all = new Set(tools.flatMap(({ name, server, tool }) => [name, `${server}__${tool}`]));
    mapped.set(tools, (names = mapNames(all, strictNames)));
  }
  return names;
}
