// Pages of apps: servers need not list them as resources, because their tools name them. Which server a page belongs to, and the
// URI by which clients read it.
import { keptFor } from '#libs/kept/kept-for.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { appUriOf, withAppUri } from '#libs/mcp-server/tool-app.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { OfferCatalog, ToolCatalog } from '../../tools/tool-catalog.js';
import { type LinkedServer, namedOffers } from './named-offers.js';
import type { LinkOwner, ResourceLinks } from './resource-links.js';

/** The servers whose tools name a page, in their order. */
const serversByPage = keptFor((tools: readonly CatalogTool[]): ReadonlyMap<string, readonly string[]> => {
  const servers = new Map<string, string[]>();
  for (const tool of tools) {
    const uri = appUriOf(tool);
    if (uri !== undefined) servers.set(uri, [...(servers.get(uri) ?? []), tool.server]);
  }
  return servers;
});

function pageServer(catalog: Pick<ToolCatalog, 'list'>, uri: string, only?: string): string | undefined {
  const servers = serversByPage(catalog.list()).get(uri);
  return only === undefined ? servers?.[0] : servers?.find((server) => server === only);
}

/** Leads to what no server lists: pages that tools name, and links that tools have returned to the caller. */
export function unlistedResources(
  catalog: Pick<ToolCatalog, 'list'>,
  links: Pick<ResourceLinks, 'serverOf'>,
  owner: LinkOwner,
): LinkedServer {
  return (uri, only) => pageServer(catalog, uri, only) ?? links.serverOf(owner, uri);
}

/** What clients see about a tool's app: the server's own members, whose URI differs only if another server has the same. */
export function shownAppMeta(tool: CatalogTool, catalog: OfferCatalog & Pick<ToolCatalog, 'list'>): JsonObject {
  const { appMeta = {}, server } = tool;
  const uri = appUriOf(tool);
  if (uri === undefined) return appMeta;
  const shown = namedOffers(catalog.offering()).nameOf(server, uri, (link, only) => pageServer(catalog, link, only));
  return shown === uri ? appMeta : withAppUri(appMeta, shown);
}
