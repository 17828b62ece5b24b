// Which tool servers a worker on this machine would refuse, and why: the worker's own checks, without starting anything.
import { dirname } from 'node:path';
import { inheritedEnvironment } from '#libs/config/child-environment.js';
import { configurationFiles } from '#libs/config/load-config.js';
import type { Config } from '#libs/config/schema.js';
import { workspacesDirectory } from '#libs/config/workspaces-directory.js';
import { silentLogger } from '#libs/logging/logger.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import { documentText } from '../../apps/worker/mcp/openapi/api-document.js';
import { readApi } from '../../apps/worker/mcp/openapi/read-api.js';
import { DocumentProblem } from '../../apps/worker/mcp/openapi/read-document.js';
import { type ApiConfig, apiOptions, documentPlace } from '../../apps/worker/mcp/servers/open-api.js';
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
  const configDirectory = dirname(configurationFiles(environment)[0]!);
  return entries.map(([name, server]) => {
    const { enabled, builtin, command, isolation, openapi } = server;
    if (!enabled) return { name, note: 'off' };
    if (builtin !== undefined) {
      const isKnown = builtins.has(builtin) || config.worker.modules.length > 0;
      return { name, note: 'builtin', ...(!isKnown && { refused: `there is no builtin server '${builtin}'` }) };
    }
    if (openapi !== undefined)
      return { name, ...checkApi({ ...server, openapi }, { configDirectory, limits: config.limits }) };
    if (command === undefined) return { name, note: 'remote' };
    const refused = refusals.get(name);
    const note = `isolation ${isolation ?? config.isolation.minimum}`;
    return refused === undefined ? { name, note } : { name, note, refused };
  });
}

/** A document at an address is not fetched. */
function checkApi(
  server: ApiConfig,
  { configDirectory, limits }: { configDirectory: string; limits: Config['limits'] },
): Omit<CheckedServer, 'name'> {
  const place = documentPlace(server, configDirectory);
  if ('url' in place) return { note: 'remote, with a document that the worker fetches' };
  try {
    const { version, tools, leftOut, needed } = readApi(documentText(place.file), apiOptions(server, limits));
    const others = leftOut.length === 0 ? '' : `, ${leftOut.length} left out`;
    const without = needed.flatMap(({ tools: names }) => names).length;
    const keyless = without === 0 ? '' : `, ${without} need credentials that are not configured`;
    return { note: `remote, ${tools.length} tools of OpenAPI ${version}${others}${keyless}` };
  } catch (error) {
    if (error instanceof DocumentProblem) return { note: 'remote', refused: `its document ${error.message}` };
    throw error;
  }
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
