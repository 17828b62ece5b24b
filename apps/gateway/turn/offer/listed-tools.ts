// One list of the catalog as requests choose from it. What has to be read of the whole list is read once, and kept as long as the
// catalog gives the same list.
import { keptFor } from '#libs/kept/kept-for.js';
import { isForModels } from '#libs/mcp-server/tool-app.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

export class ListedTools {
  readonly forModels: readonly CatalogTool[];
  private members: ReadonlySet<CatalogTool> | undefined;
  private byName: Map<string, CatalogTool[]> | undefined;

  constructor(list: readonly CatalogTool[]) {
    this.forModels = list.every(isForModels) ? list : list.filter(isForModels);
  }

  has(tool: CatalogTool): boolean {
    this.members ??= new Set(this.forModels);
    return this.members.has(tool);
  }

  /** The tools that the catalog or their server calls so, in the order of the list. */
  named(name: string): readonly CatalogTool[] {
    this.byName ??= namesOf(this.forModels);
    return this.byName.get(name) ?? [];
  }
}

function namesOf(tools: readonly CatalogTool[]): Map<string, CatalogTool[]> {
  const byName = new Map<string, CatalogTool[]>();
  for (const tool of tools) {
    for (const name of new Set([tool.name, tool.tool])) {
      const known = byName.get(name);
      if (known === undefined) byName.set(name, [tool]);
      else known.push(tool);
    }
  }
  return byName;
}

export const listedTools = keptFor((list: readonly CatalogTool[]) => new ListedTools(list));
