// The configured servers as this worker runs them, in the order that decides bare names. What cannot run yet or is
// configured wrong is refused with a reason, never silently.
import type { Config, ServerConfig } from '#libs/config/schema.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import { AppError } from '#libs/schemas/errors.js';
import { connectInProcess, type InProcessServer, type ToolConnection } from './connection.js';

export interface ConfiguredServer {
  name: string;
  /** Place among the servers: builtins first, then as configured. */
  order: number;
  configHash: string;
  builtin: boolean;
  trusted: boolean;
  scope: 'session' | 'shared';
  concurrency: number;
  maxInstances: number;
  idleTtlMs: number;
  timeoutMs: number;
  maxTimeoutMs: number;
  tools: ServerConfig['tools'];
  open(signal: AbortSignal): Promise<ToolConnection>;
}

export interface RefusedServer {
  name: string;
  reason: string;
}

export interface ConfiguredServers {
  servers: ConfiguredServer[];
  refused: RefusedServer[];
}

/** `builtins`: makers of the servers that this worker has inside, by their builtin name. */
export function configuredServers(
  config: Pick<Config, 'mcpServers' | 'tools' | 'worker'>,
  builtins: ReadonlyMap<string, InProcessServer>,
): ConfiguredServers {
  const servers: ConfiguredServer[] = [];
  const refused: RefusedServer[] = [];
  for (const [name, server] of inOrder(config)) {
    if (!server.enabled) continue;
    const inProcess = server.builtin === undefined ? undefined : builtins.get(server.builtin);
    if (inProcess === undefined) {
      refused.push({ name, reason: refusal(server) });
      continue;
    }
    const timeoutMs = server.timeout_ms ?? config.tools.timeout_ms;
    servers.push({
      name,
      order: servers.length,
      configHash: canonicalHash(server),
      builtin: true,
      trusted: true,
      scope: server.scope ?? 'shared',
      // A builtin is our own code: only the worker's own bound holds for it.
      concurrency: config.worker.concurrency,
      maxInstances: server.max_instances,
      idleTtlMs: server.idle_ttl_ms,
      timeoutMs,
      maxTimeoutMs: Math.max(timeoutMs, server.max_timeout_ms ?? config.tools.max_timeout_ms),
      tools: server.tools,
      open: (signal) => connectInProcess(inProcess, signal),
    });
  }
  return { servers, refused };
}

/** Builtins first; the workspace is there unless it is switched off by name. */
function inOrder(config: Pick<Config, 'mcpServers'>): [string, ServerConfig][] {
  const entries = Object.entries(config.mcpServers);
  const hasWorkspace = entries.some(([name, server]) => name === 'workspace' || server.builtin === 'workspace');
  const builtins = entries.filter(([, server]) => server.builtin !== undefined);
  const others = entries.filter(([, server]) => server.builtin === undefined);
  return [
    ...(hasWorkspace ? [] : [['workspace', workspaceDefaults] as [string, ServerConfig]]),
    ...builtins,
    ...others,
  ];
}

const workspaceDefaults: ServerConfig = {
  builtin: 'workspace',
  args: [],
  env: {},
  headers: {},
  enabled: true,
  idle_ttl_ms: 300_000,
  max_instances: 32,
  concurrency: 4,
  network: 'none',
  trusted: true,
  tools: {},
  forward_headers: [],
};

function refusal(server: ServerConfig): string {
  if (server.builtin !== undefined) return `there is no builtin server '${server.builtin}'`;
  if (server.command !== undefined) return 'servers started by a command are not supported by this version';
  if (server.url !== undefined) return 'servers reached by URL are not supported by this version';
  return 'it names neither a builtin, nor a command, nor a URL';
}

export function unknownServer(name: string): AppError {
  return new AppError('tool_unavailable', `The tool server '${name}' is not available on this worker`);
}
