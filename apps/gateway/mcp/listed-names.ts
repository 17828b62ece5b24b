// Maps names of tools for MCP clients, which may be as strict as a model's provider: Claude Desktop refuses all tools for one name
// with a slash. A mapped name depends on the whole catalog, not on the caller or the page. The catalog's name can be called too.
import { keptFor } from '#libs/kept/kept-for.js';
import { mapNames, type NameMapping, strictNames } from '#libs/names/map-names.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';

const namesOf = keptFor((tools: readonly CatalogTool[]): NameMapping => {
  // A mapped name must not equal any name by which another tool is found.
  const all = new Set(tools.flatMap(({ name, server, tool }) => [name, `${server}__${tool}`]));
  return mapNames(all, strictNames);
});

export const listedNames = (catalog: Pick<ToolCatalog, 'list'>): NameMapping => namesOf(catalog.list());
