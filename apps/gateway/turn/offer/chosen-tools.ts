// The server tools that a request chooses. They are listed only as far as somebody reads: a catalog may have 10,000 of them.
import { isForModels } from '#libs/mcp-server/tool-app.js';
import { AppError } from '#libs/schemas/errors.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { SearchOptions, ToolCatalog } from '../../tools/tool-catalog.js';
import { realTool } from '../../tools/tool-of-call.js';
import type { ChosenServer, RequestedTool, ToolSelector, TurnRequest } from '../turn-request.js';
import { ListedTools, listedTools } from './listed-tools.js';
import { definitionOf, type OfferedTool } from './offered-tool.js';

export type ServerEntry = Extract<RequestedTool, { type: 'mcp' }>;
export type ToolPick = { name: string } | ChosenServer;

/** An entry of the request. The catalog may change during a turn, so only names are kept. */
interface Entry {
  asked: ServerEntry;
  allowed: ReadonlySet<string> | undefined;
  denied: ReadonlySet<string>;
}

export class ChosenTools {
  private readonly entries: Entry[] = [];
  private readonly runHere: boolean;

  /** @throws AppError tool_not_found (400) for a server or tool that an entry names */
  constructor(
    { tools, toolMode, allowedTools }: Pick<TurnRequest, 'tools' | 'toolMode' | 'allowedTools'>,
    private readonly catalog: ToolCatalog,
    /** What the request allows of its own tools; undefined: all. */
    private readonly only: readonly ToolPick[] | undefined = allowedTools,
  ) {
    this.runHere = toolMode !== 'manual';
    for (const asked of tools) if (asked.type === 'mcp') this.add(asked);
  }

  private add(asked: ServerEntry): void {
    const { serverLabel, allowedTools, deniedTools = [] } = asked;
    if (serverLabel !== '*' && !this.catalog.hasServer(serverLabel)) {
      const reason =
        'none of this name is configured, it has not been ready yet, or it lists its tools only for users who have ' +
        'signed in and nobody has yet (GET /api/connections, or Connections in the console)';
      const message = `Server '${serverLabel}' not found: ${reason}`;
      throw new AppError('tool_not_found', message, { http: 400, param: 'tools' });
    }
    const listed = this.listed(serverLabel);
    for (const name of [...(allowedTools ?? []), ...deniedTools]) {
      if (listed.named(name).length === 0) throw noSuchTool(name, 'tools');
    }
    this.entries.push({ asked, allowed: allowedTools && new Set(allowedTools), denied: new Set(deniedTools) });
  }

  get isEmpty(): boolean {
    return this.entries.length === 0;
  }

  /** Whether the request names all of them one by one. */
  get namesAll(): boolean {
    const names = this.only?.every((pick) => pick.name !== undefined) ?? false;
    return names || this.entries.every(({ allowed }) => allowed !== undefined);
  }

  /** In the order of the request. A tool may come twice. */
  *all(): Generator<OfferedTool> {
    if (this.only !== undefined) for (const pick of this.only) yield* this.picked(pick);
    else for (const entry of this.entries) yield* this.of(entry, entry.asked.serverLabel);
  }

  /** Those that the request names one by one. */
  *named(): Generator<OfferedTool> {
    for (const entry of this.entries) if (entry.allowed !== undefined) yield* this.of(entry, entry.asked.serverLabel);
    for (const pick of this.only ?? []) {
      if (!('server' in pick) || pick.name !== undefined) yield* this.picked(pick);
    }
  }

  *picked(pick: ToolPick): Generator<OfferedTool> {
    if (!('server' in pick)) {
      const found = this.toolOf(pick.name);
      if (found?.definition.name === pick.name) yield found;
      return;
    }
    for (const entry of this.entries) {
      const { serverLabel } = entry.asked;
      if (pick.server !== '*' && serverLabel !== '*' && serverLabel !== pick.server) continue;
      yield* this.of(entry, serverLabel === '*' ? pick.server : serverLabel, pick.name);
    }
  }

  /** By the name of the catalog, or of a toolset that is chosen, or `server__tool`. */
  toolOf(name: string): OfferedTool | undefined {
    for (const toolset of this.toolsets()) {
      const tool = this.catalog.find(name, toolset);
      const offered = tool && this.offeredOf(tool);
      if (offered !== undefined) return offered;
    }
    return undefined;
  }

  /** The tool as the first entry that has it offers it; undefined if the request does not choose the tool. */
  private offeredOf(tool: CatalogTool): OfferedTool | undefined {
    if (!isForModels(tool) || !this.isAllowed(tool)) return undefined;
    const entry = this.entries.find((each) => this.has(each, tool));
    return entry && this.offered(entry.asked, tool);
  }

  /** The best for a query, among the tools that are chosen and that `isShown` accepts: of each toolset in turn. */
  async search(query: string, { limit, isShown, signal }: SearchOptions): Promise<OfferedTool[]> {
    const isChosen = (tool: CatalogTool) => isShown(tool) && this.offeredOf(tool) !== undefined;
    const options = { limit, isShown: isChosen, signal };
    const lists = await Promise.all(
      [...this.toolsets()].map((toolset) => this.catalog.search(query, options, toolset)),
    );
    const found = new Map<string, OfferedTool>();
    for (let rank = 0; rank < limit; rank += 1) {
      for (const list of lists) {
        const tool = list[rank];
        const offered = tool && this.offeredOf(tool);
        if (offered !== undefined) found.set(offered.definition.name, offered);
      }
    }
    return [...found.values()].slice(0, limit);
  }

  /** The toolsets of the entries; undefined stands for the catalog, if an entry is of servers. */
  private toolsets(): Set<string | undefined> {
    const labels = this.entries.map(({ asked }) => asked.serverLabel);
    return new Set(labels.map((label) => (this.catalog.isToolset(label) ? label : undefined)));
  }

  private *of(entry: Entry, server: string, name?: string): Generator<OfferedTool> {
    for (const tool of this.listOf(entry, server, name)) {
      if (this.has(entry, tool) && this.isAllowed(tool)) yield this.offered(entry.asked, tool);
    }
  }

  private listOf({ allowed }: Entry, server: string, name: string | undefined): Iterable<CatalogTool> {
    const listed = this.listed(server);
    if (name !== undefined) return listed.named(name);
    if (allowed === undefined) return listed.forModels;
    return new Set([...allowed].flatMap((each) => listed.named(each)));
  }

  private isAllowed(tool: CatalogTool): boolean {
    return this.only === undefined || this.only.some((pick) => this.isPicked(pick, tool));
  }

  private isPicked(pick: ToolPick, tool: CatalogTool): boolean {
    if (!('server' in pick)) return pick.name === tool.name;
    return (
      this.isOf(pick.server, tool) && (pick.name === undefined || pick.name === tool.name || pick.name === tool.tool)
    );
  }

  private has({ asked, allowed, denied }: Entry, tool: CatalogTool): boolean {
    const names = [tool.name, tool.tool];
    const isAllowed = allowed === undefined || names.some((name) => allowed.has(name));
    return isAllowed && !names.some((name) => denied.has(name)) && this.isOf(asked.serverLabel, tool);
  }

  /** Whether a server or toolset has the tool, under this name; `*`: the catalog. */
  private isOf(label: string, tool: CatalogTool): boolean {
    return label === '*' ? tool.aliasOf === undefined : this.listed(label).has(tool);
  }

  private listed(server: string): ListedTools {
    return listedTools(this.catalog.list(server === '*' ? undefined : server));
  }

  private offered(asked: ServerEntry, tool: CatalogTool): OfferedTool {
    const definition = definitionOf(tool);
    if (!this.runHere) return { definition };
    const offered = { definition, tool: realTool(tool) };
    return needsApproval(asked, tool) ? { ...offered, requiresApproval: true } : offered;
  }
}

function needsApproval({ requireApproval: asked }: ServerEntry, tool: CatalogTool): boolean {
  if (asked === undefined || asked === 'always') return asked === 'always';
  return asked.always === undefined ? !isAmong(asked.never, tool) : isAmong(asked.always, tool);
}

function isAmong(filter: ToolSelector | undefined, { name, tool, readOnly }: CatalogTool): boolean {
  if (filter === undefined) return false;
  const { toolNames, readOnly: asked } = filter;
  return (
    (toolNames === undefined || toolNames.includes(name) || toolNames.includes(tool)) &&
    (asked === undefined || asked === readOnly)
  );
}

export function noSuchTool(name: string, param: string): AppError {
  return new AppError('tool_not_found', `Tool '${name}' not found`, { http: 400, param, toolName: name });
}
