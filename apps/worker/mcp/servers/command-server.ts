// A server that is a program: prepared when the worker starts, started where its session's files are. Refuses what
// cannot be found, what would run with too little isolation, and a workspace where there is no session.
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Config, ServerConfig } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { shownWorkspacePath, temporaryDirectory } from '#libs/workspace/workspace-path.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import type { EgressProxy } from '../../sandbox/egress-proxy.js';
import type { Isolation, Launch } from '../../sandbox/isolation.js';
import { levelNumber } from '../../sandbox/levels.js';
import { readablePaths } from '../../sandbox/readable-paths.js';
import type { SandboxNetwork } from '../../sandbox/sandbox-words.js';
import type { EndGrace } from '../../sandbox/tool-process.js';
import { isOpenToAll } from '../../sandbox/tool-user.js';
import { CallActivity } from '../../workspace/quota-watch.js';
import { connectStdio } from './connect.js';
import type { ConnectOptions, ToolConnection } from './connection.js';
import type { DiscoveryMemory } from './discovery.js';
import type { ServerBound } from '../wire/server-bound.js';
import type { ServerStarts } from './server-starts.js';
import { CommandRefused, resolveCommand, type Program } from '../../sandbox/resolve-command.js';
import type { StdioOptions } from '../wire/stdio-transport.js';
import { watchWorkspace } from './watch-workspace.js';
import { ShownPaths, TranslatedConnection, type ShownDirectory } from './shown-paths.js';
import type { ConfiguredServer, OpenServer, SpareInstance } from './configured-server.js';

export interface CommandParts {
  config: Pick<Config, 'tools' | 'isolation' | 'data_dir'>;
  workspaces: Workspaces;
  /** What every program inherits: PATH, LANG. */
  environment: Readonly<Record<string, string>>;
  packageRoots: readonly string[];
  isolation: Isolation;
  /** Files and directories that no server may read: secrets, beside what `config` and `workspaces` name. */
  kept?: readonly string[];
  /** The proxy of commands whose network is a list of hosts, opened once one of them needs it. */
  egress?: () => Promise<EgressProxy>;
  /** One line for all servers of the worker. */
  starts: ServerStarts;
  grace?: EndGrace;
  connectTimeoutMs?: number;
  onBound?: (server: string, bound: ServerBound) => void;
  logger: Logger;
}

/** Written in `args` and `env`: the directory that the server runs in. */
const workspaceVariable = '${WORKSPACE}';
const defaultGrace: EndGrace = { stdinMs: 1_000, termMs: 1_000 };

type OpenedCommand = Pick<ConfiguredServer, 'open' | 'spares' | 'isolation'>;

interface CommandConfig extends ServerConfig {
  command: string;
}

/** @throws CommandRefused with what the operator can do. */
export function openCommand(
  name: string,
  server: CommandConfig,
  { memory, ...parts }: CommandParts & { memory: DiscoveryMemory },
): OpenedCommand {
  const level = server.isolation ?? parts.config.isolation.minimum;
  const refusal = parts.isolation.refusal(level);
  if (refusal !== undefined) throw new CommandRefused(refusal, 'isolation_too_low');
  const shared = server.scope === 'shared';
  const texts = [...server.args, ...Object.values(server.env)];
  if (shared && texts.some((text) => text.includes(workspaceVariable))) {
    throw new CommandRefused(`${workspaceVariable} is the directory of a session, and its scope is shared`);
  }
  const program = resolveCommand(server.command, server.args, {
    path: parts.environment['PATH'] ?? '',
    packageRoots: parts.packageRoots,
  });
  const logger = parts.logger.child({ metadata: { server: name } });
  if (server.network !== 'full' && levelNumber(level) < levelNumber('confined')) {
    logger.warn({}, `its network is not restricted: this server runs with isolation '${level}'`);
  }
  const readable = readableBy(program, server, parts);
  if (parts.isolation.needsOpenPaths(level) && ![...readable, parts.workspaces.root].every(isOpenToAll)) {
    throw new CommandRefused(
      `with isolation '${level}' a server of a worker that is root runs as another user, who cannot enter the directories ` +
        'of its program or of the workspaces: run it with isolation confined, or move them',
    );
  }

  const start = async ({ workspaces, directory }: Place, signal: AbortSignal): Promise<Started> => {
    const host = workspaces.hostPath(directory);
    const { network, environment } = await networkOf(name, server, parts);
    const launched = launchIn(host, program, server, parts);
    const launch = { ...launched, network, readable, environment: { ...environment, ...launched.environment } };
    const grace = parts.grace ?? defaultGrace;
    const onBound = (bound: ServerBound) => parts.onBound?.(name, bound);
    const options: ConnectOptions = {
      signal,
      cancelGraceMs: parts.config.tools.cancel_grace_ms,
      memory,
      onBound,
      ...(shared ? {} : { root: host }),
      ...(parts.connectTimeoutMs === undefined ? {} : { connectTimeoutMs: parts.connectTimeoutMs }),
    };
    const maxMessageBytes = messageBytes(parts.config);
    const activity = new CallActivity();
    const watched = { workspaces, directory, activity, onEnded: () => onBound('workspace'), logger };
    const process: StdioOptions = {
      start: () => parts.isolation.start(level, launch),
      onStarted: (started, fail) => watchWorkspace(watched, started, fail),
      grace,
      maxMessageBytes,
      logger,
      onBound,
    };
    const connection = await parts.starts.run(name, signal, () => connectStdio(process, options));
    return { connection, activity };
  };

  /** Its own code is nobody's business: a server that fails there names it in its errors. */
  const code = program.packages === undefined ? [] : [{ host: program.packages, shown: `/mcp_servers/${name}` }];
  const show: SpareParts['show'] = ({ connection, activity }, directory) => {
    const above = { host: dirname(directory.host), shown: dirname(directory.shown) };
    return new TranslatedConnection(connection, new ShownPaths(directory, [above, ...code]), activity);
  };
  const { workspaces } = parts;
  const open: OpenServer = async (user, signal) => {
    const place = shared ? await ownPlace(name, parts) : { workspaces, directory: user.directory };
    const shown = shared ? `/mcp_servers/${name}` : shownWorkspacePath(user.sessionId);
    await place.workspaces.workspace({ id: user.sessionId, directory: place.directory }).ensure();
    return show(await start(place, signal), { host: place.workspaces.hostPath(place.directory), shown });
  };
  if (server.spares === 0) return { isolation: level, open };
  const spares = {
    count: server.spares,
    open: (signal: AbortSignal) => openSpare({ workspaces, start, show }, signal),
  };
  return { isolation: level, open, spares };
}

/** @throws CommandRefused where the configuration would open the data of Signalbox to the server. */
function readableBy(program: Program, server: ServerConfig, parts: CommandParts): string[] {
  const { read, write } = server.paths;
  const kept = [parts.config.data_dir, parts.workspaces.root, ...(parts.kept ?? [])];
  const words = [program.file, ...program.args];
  const more = [...(program.packages === undefined ? [] : [program.packages]), ...read, ...write];
  const { paths, refused } = readablePaths(words, more, kept);
  if (refused.length === 0) return paths;
  throw new CommandRefused(
    `it could read what belongs to Signalbox: ${refused.join(', ')} holds data_dir, the workspaces or a secret`,
  );
}

/** A list of hosts is reached by the proxy alone, which programs find in their environment. */
async function networkOf(
  name: string,
  { network }: ServerConfig,
  { egress }: CommandParts,
): Promise<{ network: SandboxNetwork; environment: Record<string, string> }> {
  if (typeof network === 'string') return { network, environment: {} };
  if (egress === undefined) throw new AppError('tool_unavailable', 'The tool server has no way to its network');
  const proxy = await egress();
  return { network: { proxyPort: proxy.port }, environment: proxy.environmentFor({ name, allow: network.allow }) };
}

function launchIn(
  host: string,
  program: Program,
  server: ServerConfig,
  parts: CommandParts,
): Omit<Launch, 'readable' | 'network'> {
  const inPlace = (text: string) => text.replaceAll(workspaceVariable, host);
  return {
    file: program.file,
    args: program.args.map(inPlace),
    directory: host,
    writable: server.paths.write,
    environment: {
      ...parts.environment,
      HOME: host,
      TMPDIR: join(host, temporaryDirectory),
      ...program.environment?.(host),
      ...Object.fromEntries(Object.entries(server.env).map(([key, value]) => [key, inPlace(value)])),
    },
  };
}

/** A directory that a server runs in, by its name among others. */
interface Place {
  workspaces: Workspaces;
  directory: string;
}

interface Started {
  connection: ToolConnection;
  activity: CallActivity;
}

interface SpareParts {
  workspaces: Workspaces;
  start(place: Place, signal: AbortSignal): Promise<Started>;
  show(started: Started, directory: ShownDirectory): ToolConnection;
}

async function openSpare({ workspaces, start, show }: SpareParts, signal: AbortSignal): Promise<SpareInstance> {
  const directory = randomBytes(16).toString('hex');
  const host = workspaces.hostPath(directory);
  try {
    await workspaces.workspace({ id: directory, directory }).ensure();
    const started = await start({ workspaces, directory }, signal);
    const { connection } = started;
    return {
      directory,
      connection,
      adopt: (sessionId) => show(started, { host, shown: shownWorkspacePath(sessionId) }),
      discard: async () => {
        await connection.close();
        await workspaces.remove(directory);
      },
    };
  } catch (error) {
    // What a crash leaves is found by the sweeper: the directory belongs to no session.
    await workspaces.remove(directory);
    throw error;
  }
}

/** The largest result that is read at all, and what stands around it. */
export const messageBytes = ({ tools }: Pick<Config, 'tools'>): number => tools.max_read_bytes + 64 * 1024;

/** A shared server has no session's directory, but one of its own that outlives it. */
async function ownPlace(name: string, { config, workspaces }: CommandParts): Promise<Place> {
  return {
    workspaces: await Workspaces.open(join(config.data_dir, 'tool-servers'), { ...workspaces.limits, quota: 'soft' }),
    directory: name,
  };
}
