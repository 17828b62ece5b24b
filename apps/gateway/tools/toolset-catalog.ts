// The catalog with the named sets of the configuration, which are listed as servers are. A set lists its tools in the order of the
// catalog; one that it renames or describes otherwise is an alias of the catalog's. Made once per catalog and set.
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Toolset, Toolsets, ToolsetSettings } from '#libs/policy/toolset.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ChangedLists, OfferingServer, SearchOptions, ServerTools, WatchedToolCatalog } from './tool-catalog.js';
import { ToolFinder } from './tool-finder.js';

interface Listed {
  tools: readonly CatalogTool[];
  byName: ReadonlyMap<string, CatalogTool>;
}

interface Made {
  /** Another object whenever the catalog, or the sets, have changed. */
  from: readonly CatalogTool[];
  settings: ToolsetSettings;
  version: string;
  sets: Map<string, Listed>;
}

export class ToolsetCatalog implements WatchedToolCatalog {
  private made?: Made;

  constructor(
    private readonly catalog: ServerTools,
    private readonly toolsets: Toolsets,
    private readonly finder = new ToolFinder(),
  ) {}

  find(name: string, toolset?: string): CatalogTool | undefined {
    return toolset === undefined ? this.catalog.find(name) : this.listed(toolset)?.byName.get(name);
  }

  list(label?: string): readonly CatalogTool[] {
    const listed = label === undefined ? undefined : this.listed(label);
    return listed === undefined ? this.catalog.list(label) : listed.tools;
  }

  hasServer(label: string): boolean {
    return this.isToolset(label) || this.catalog.hasServer(label);
  }

  isToolset(label: string): boolean {
    return this.toolsets.get(label) !== undefined;
  }

  search(query: string, options: SearchOptions, toolset?: string): Promise<readonly CatalogTool[]> {
    return this.finder.find(query, this.list(toolset), options);
  }

  get version(): string {
    return this.current().version;
  }

  offering(): readonly OfferingServer[] {
    return this.catalog.offering();
  }

  onChange(listener: (changed: ChangedLists) => void): () => void {
    return this.catalog.onChange(listener);
  }

  /** The entries, by set, that match no tool of the catalog. */
  unmatched(): Record<string, string[]> {
    const tools = this.catalog.list();
    const found = [...this.toolsets.all].map(([name, set]) => [name, set.unmatched(tools)] as const);
    return Object.fromEntries(found.filter(([, entries]) => entries.length > 0));
  }

  private current(): Made {
    const from = this.catalog.list();
    const { settings } = this.toolsets;
    if (this.made?.from === from && this.made.settings === settings) return this.made;
    const { version } = this.catalog;
    const own = Object.keys(settings).length === 0 ? version : canonicalHash([version, settings]);
    this.made = { from, settings, version: own, sets: new Map() };
    return this.made;
  }

  private listed(name: string): Listed | undefined {
    const set = this.toolsets.get(name);
    if (set === undefined) return undefined;
    const { from, sets } = this.current();
    let listed = sets.get(name);
    if (listed === undefined) sets.set(name, (listed = listOf(set, from)));
    return listed;
  }
}

/** A name that the set gives comes before equal names of the catalog: that tool is then called `server__tool`. */
function listOf(set: Toolset, all: readonly CatalogTool[]): Listed {
  const members = all.filter((tool) => set.has(tool)).map((tool) => ({ tool, shown: set.shownAs(tool) }));
  const given = new Set(members.flatMap(({ shown }) => shown?.name ?? []));
  const tools: CatalogTool[] = [];
  const byName = new Map<string, CatalogTool>();
  for (const { tool, shown } of members) {
    const long = `${tool.server}__${tool.tool}`;
    const name = shown?.name ?? (given.has(tool.name) ? long : tool.name);
    if (byName.has(name) || (shown?.name === undefined && given.has(name))) continue;
    const description = shown?.description ?? tool.description;
    const same = name === tool.name && description === tool.description;
    const listed = same ? tool : { ...tool, name, description, aliasOf: tool };
    tools.push(listed);
    byName.set(name, listed);
  }
  return { tools, byName };
}
