// The catalog as a caller sees it: without the tools that its key does not allow.
import { type Access, allowsTool } from '#libs/access/access.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolCatalog } from './tool-catalog.js';

export function visibleTools(catalog: ToolCatalog, access: Access | undefined): ToolCatalog {
  if (access === undefined) return catalog;
  const allowed = (tool: CatalogTool) => allowsTool(access, tool);
  return {
    find(name) {
      const tool = catalog.find(name);
      return tool !== undefined && allowed(tool) ? tool : undefined;
    },
    list: (server) => catalog.list(server).filter(allowed),
    hasServer: (server) => catalog.hasServer(server),
    get version() {
      return catalog.version;
    },
  };
}
