// What `/mcp/<toolset>` serves: of the tools those of the set, under its names, and of the resources and prompts those of the servers
// that have a tool in it. Whatever serves `/mcp` serves a set with these ports.
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
      offering: () => offeringIn(catalog, toolset),
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

/** By the list of a set, which is another object after every change, as is what servers offer. */
const known = new WeakMap<object, { from: object; kept: readonly OfferingServer[] }>();

function offeringIn(catalog: NarrowedPorts['catalog'], toolset: string): readonly OfferingServer[] {
  const [tools, from] = [catalog.list(toolset), catalog.offering()];
  const before = known.get(tools);
  if (before?.from === from) return before.kept;
  const servers = new Set(tools.map(({ server }) => server));
  const kept = from.filter(({ server }) => servers.has(server));
  known.set(tools, { from, kept });
  return kept;
}
