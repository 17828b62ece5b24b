// What `/mcp/<toolset>` serves: of the tools those of the set, under its names, and of the resources and prompts those of the servers
// that have a tool in it. Whatever serves `/mcp` serves a set with these ports.
import { keptFor } from '#libs/kept/kept-for.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { KeyedCaller } from '../govern/tool-policy.js';
import type { OfferCatalog, OfferingServer, ToolCatalog } from '../tools/tool-catalog.js';
import type { RunCallPorts } from './run-call.js';

interface NarrowedPorts extends Pick<RunCallPorts, 'calls'> {
  catalog: OfferCatalog & Pick<ToolCatalog, 'list' | 'find'>;
  catalogOf: (caller: KeyedCaller) => ToolCatalog;
}

export function portsOfToolset<Ports extends NarrowedPorts>(ports: Ports, toolset: string | undefined): Ports {
  if (toolset === undefined) return ports;
  const { catalog, catalogOf, calls } = ports;
  const find = (name: string) => catalog.find(name, toolset);
  return {
    ...ports,
    catalog: {
      find,
      list: (server?: string) => inSet(catalog, toolset, server),
      offering: () => offeringOf(catalog.list(toolset), catalog.offering()),
    },
    catalogOf: (caller) => {
      const own = catalogOf(caller);
      return {
        find: (name) => own.find(name, toolset),
        list: (server) => inSet(own, toolset, server),
        hasServer: (server) => inSet(own, toolset, server).length > 0,
        isToolset: () => false,
        search: (query, options) => own.search(query, options, toolset),
        version: own.version,
      };
    },
    // Looked up among all tools of the set, so that a call of one that is denied to the caller is answered as such.
    calls: {
      prepare: (call, from) => calls.prepare({ ...call, among: { find } }, from),
      settled: (wait, from) => calls.settled(wait, from),
      answer: (call, from, work) => calls.answer(call, from, work),
    },
  };
}

function inSet(catalog: Pick<ToolCatalog, 'list'>, toolset: string, server: string | undefined) {
  const tools = catalog.list(toolset);
  return server === undefined ? tools : tools.filter((tool) => tool.server === server);
}

const offeringOf = keptFor((tools: readonly CatalogTool[], offering: readonly OfferingServer[]) => {
  const servers = new Set(tools.map(({ server }) => server));
  return offering.filter(({ server }) => servers.has(server));
});
