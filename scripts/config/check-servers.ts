// Which tool servers a worker on this machine would refuse, and why: the worker's own checks, without starting anything.
import { dirname } from 'node:path';
import { inheritedEnvironment } from '#libs/config/child-environment.js';
import { configurationFiles } from '#libs/config/load-config.js';
import type { Config } from '#libs/config/schema.js';
import { workspacesDirectory } from '#libs/config/workspaces-directory.js';
import { silentLogger } from '#libs/logging/logger.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { ServerStarts } from '../../apps/worker/mcp/servers/server-starts.js';
import { configuredServers } from '../../apps/worker/mcp/servers/servers.js';
import { Isolation } from '../../apps/worker/sandbox/isolation.js';

export interface CheckedServer {
  name: string;
  /** Why it would not run. */
  refused?: string;
  /** How it would run. */
  note: string;
}

/** Servers inside the worker of `npm start`. Modules of own tools have more, whose names only they know. */
const builtins: ReadonlySet<string> = new Set(['workspace', 'chimech']);

export async function checkServers(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<CheckedServer[]> {
  const entries = Object.entries(config.mcpServers);
  const commands = entries.filter(([, { command, enabled }]) => command !== undefined && enabled);
  const refusals = commands.length === 0 ? new Map<string, string>() : await refusalsOf(config, commands, environment);
  return entries.map(([name, { enabled, builtin, command, isolation }]) => {
    if (!enabled) return { name, note: 'off' };
    if (builtin !== undefined) {
      const isKnown = builtins.has(builtin) || config.worker.modules.length > 0;
      return { name, note: 'builtin', ...(!isKnown && { refused: `there is no builtin server '${builtin}'` }) };
    }
    if (command === undefined) return { name, note: 'remote' };
    const refused = refusals.get(name);
    const note = `isolation ${isolation ?? config.isolation.minimum}`;
    return refused === undefined ? { name, note } : { name, note, refused };
  });
}

async function refusalsOf(
  config: Config,
  commands: [string, Config['mcpServers'][string]][],
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Map<string, string>> {
  const { max_bytes: maxBytes, max_files: maxFiles, max_depth: maxDepth } = config.workspaces;
  const inherited = inheritedEnvironment(environment);
  const files = configurationFiles(environment);
  const isolation = await Isolation.find({
    path: inherited['PATH'] ?? '',
    maxFileBytes: maxBytes,
    allowUnsandboxed: config.isolation.allow_unsandboxed,
    logger: silentLogger,
  });
  const { refused } = configuredServers({
    config: { ...config, mcpServers: Object.fromEntries(commands) },
    builtins: new Map(),
    workspaces: await Workspaces.open(workspacesDirectory(config).path, { maxBytes, maxFiles, maxDepth }),
    environment: inherited,
    packageRoots: [process.cwd(), import.meta.dirname],
    isolation,
    configDirectory: dirname(files[0]!),
    unreadable: files,
    starts: new ServerStarts({ limit: 1 }),
    logger: silentLogger,
  });
  return new Map(refused.map(({ name, reason }) => [name, reason]));
}
