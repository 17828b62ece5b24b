// The tool servers that workers report with their heartbeats, including servers without a known tool.
import type { ProcessRegistry, ServerReport } from '#libs/runs/processes/process-registry.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { definitionTokens } from '#libs/tool-search/definition-tokens.js';
import type { ToolCatalog } from './tool-catalog.js';

const workerSeenMs = 10_000;

export interface ToolServerStatus extends ServerReport {
  /** Number of its tools in the catalog. */
  tools: number;
  /** About how many tokens of a model call their definitions take together. */
  tokens: number;
  /** The workers that have the server. */
  workers: ({ id: string } & Omit<ServerReport, 'name'>)[];
}

/** Worst state first; a server that starts in one worker may be ready in another. */
const severity: ServerReport['state'][] = ['refused', 'unavailable', 'needs_sign_in', 'ready', 'starting'];

export class ToolServers {
  constructor(
    private readonly registry: Pick<ProcessRegistry, 'alive'>,
    private readonly catalog: Pick<ToolCatalog, 'list'>,
  ) {}

  /** By name. @throws AppError store_unavailable */
  async list(): Promise<ToolServerStatus[]> {
    const reports = new Map<string, ({ id: string } & ServerReport)[]>();
    for (const { id, details, draining } of await this.registry.alive('worker', workerSeenMs)) {
      // An earlier version of the worker reports only the number of its servers.
      const servers = Array.isArray(details['servers']) ? (details['servers'] as unknown as ServerReport[]) : [];
      if (draining) continue;
      for (const server of servers) reports.set(server.name, [...(reports.get(server.name) ?? []), { id, ...server }]);
    }
    const names = new Set([...reports.keys(), ...this.catalog.list().map(({ server }) => server)]);
    return [...names].sort().map((name) => toolServer(name, reports.get(name) ?? [], this.catalog.list(name)));
  }

  /** For health: name to state. */
  async states(): Promise<Record<string, string>> {
    return Object.fromEntries((await this.list()).map(({ name, state }) => [name, state]));
  }
}

function toolServer(
  name: string,
  reports: readonly ({ id: string } & ServerReport)[],
  tools: readonly CatalogTool[],
): ToolServerStatus {
  const [worst] = reports.toSorted((one, other) => severity.indexOf(one.state) - severity.indexOf(other.state));
  const known = tools.some(({ available }) => available) ? 'ready' : 'unavailable';
  const { id: _, ...report } = worst ?? { id: '', name, state: known, ...(known === 'ready' ? {} : noWorker) };
  const workers = reports.map(({ id, state, isolation, reason, instances, restarts, stderr }) => ({
    id,
    state,
    ...(isolation === undefined ? {} : { isolation }),
    ...(reason === undefined ? {} : { reason }),
    ...(instances === undefined ? {} : { instances }),
    ...(restarts === undefined ? {} : { restarts }),
    ...(stderr === undefined ? {} : { stderr }),
  }));
  return { ...report, ...sumsOf(reports), tools: tools.length, tokens: tokensOf(tools), workers };
}

const tokensOf = (tools: readonly CatalogTool[]) => tools.reduce((sum, tool) => sum + definitionTokens(tool), 0);

/** The sums over all workers. */
function sumsOf(reports: readonly ServerReport[]): Pick<ServerReport, 'instances' | 'restarts'> {
  if (reports.every(({ restarts }) => restarts === undefined)) return {};
  const instances: Record<string, number> = {};
  for (const [state, count] of reports.flatMap((report) => Object.entries(report.instances ?? {}))) {
    instances[state] = (instances[state] ?? 0) + count;
  }
  return { instances, restarts: reports.reduce((sum, { restarts }) => sum + (restarts ?? 0), 0) };
}

const noWorker = { reason: 'no worker has this server' };
