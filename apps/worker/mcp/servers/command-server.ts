// A server that is a program: checked when the worker starts, and started in its session's directory. Refuses programs that
// cannot be found or would run with too little isolation, and `${WORKSPACE}` without a session.
import { randomBytes } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Config, ServerConfig } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { shownWorkspacePath, temporaryDirectory } from '#libs/workspace/workspace-path.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import type { EgressProxy } from '../../sandbox/egress-proxy.js';
import type { Isolation, Launch } from '../../sandbox/isolation.js';
import { forbiddenBy, levelNumber, type IsolationLevel } from '../../sandbox/levels.js';
import { grantsOf, namesDirectory } from '../../sandbox/named-paths.js';
import { readablePaths } from '../../sandbox/readable-paths.js';
import type { EndGrace, ToolProcess } from '../../sandbox/tool-process.js';
import { changesUser, isOpenToAll } from '../../sandbox/tool-user.js';
import { CallActivity, watchQuota } from '../../workspace/quota-watch.js';
import { connectStdio } from './connect.js';
import type { ConnectOptions } from './connect-options.js';
import type { ToolConnection } from './connection.js';
import type { DiscoveryMemory } from './discovery.js';
import type { ServerBound } from '../wire/server-bound.js';
import type { ServerStarts } from './server-starts.js';
import { absoluteWord, CommandRefused, resolveCommand, type Program } from '../../sandbox/resolve-command.js';
import type { StdioOptions } from '../wire/stdio-transport.js';
import { ShownPaths, translated, type ShownDirectory } from './shown-paths.js';
import { samplingOf } from '../asking/sampling.js';
import type { ConfiguredServer, OpenServer, StandbyInstance } from './configured-server.js';

export interface CommandParts {
  config: Pick<Config, 'tools' | 'isolation' | 'data_dir'>;
  workspaces: Workspaces;
  /** The variables that every program inherits: PATH, LANG. */
  environment: Readonly<Record<string, string>>;
  packageRoots: readonly string[];
  /** The configuration file's directory, where relative paths begin. */
  configDirectory: string;
  isolation: Isolation;
  /** Files and directories that no server may read, besides those in `config` and `workspaces`. */
  unreadable?: readonly string[] | undefined;
  egress?: () => Promise<EgressProxy>;
  /** Shared by all servers of the worker. */
  starts: ServerStarts;
  grace?: EndGrace;
  onBound?: (server: string, bound: ServerBound) => void;
  /** A line that a program wrote to stderr. */
  onStderr?: (server: string, line: string) => void;
  logger: Logger;
}

/** Placeholder in `args` and `env`: the directory that the server runs in. */
const workspaceVariable = '${WORKSPACE}';
/** Lets git use repositories of other users, such as the operator's; confinement limits which ones. */
const gitOfOthers = { GIT_CONFIG_COUNT: '1', GIT_CONFIG_KEY_0: 'safe.directory', GIT_CONFIG_VALUE_0: '*' };
const defaultGrace: EndGrace = { stdinMs: 1_000, termMs: 1_000 };

interface CommandConfig extends ServerConfig {
  command: string;
}

interface Place {
  workspaces: Workspaces;
  directory: string;
}

interface Started {
  connection: ToolConnection;
  activity: CallActivity;
}

export class CommandServer {
  readonly isolation: IsolationLevel;
  readonly standbys: ConfiguredServer['standbys'];
  private readonly program: Program;
  /** Real paths that the configuration grants besides the program. */
  readonly paths: { read: readonly string[]; write: readonly string[] };
  private readonly readable: readonly string[];
  private readonly isShared: boolean;
  private readonly logger: Logger;

  /** @throws CommandRefused, with what the operator can do */
  constructor(
    private readonly name: string,
    private readonly server: CommandConfig,
    private readonly parts: CommandParts & { memory: DiscoveryMemory },
  ) {
    const { config, isolation, environment, packageRoots, workspaces, logger } = parts;
    this.isolation = server.isolation ?? config.isolation.minimum;
    const refusal = isolation.refusal(this.isolation);
    if (refusal !== undefined) throw new CommandRefused(refusal, 'isolation_too_low');
    this.isShared = server.scope === 'shared';
    const texts = [...server.args, ...Object.values(server.env)];
    if (this.isShared && texts.some((text) => text.includes(workspaceVariable))) {
      throw new CommandRefused(`${workspaceVariable} is the directory of a session, but its scope is shared`);
    }
    const { configDirectory: directory } = parts;
    const path = environment['PATH'] ?? '';
    this.program = resolveCommand(server.command, server.args, { path, packageRoots, directory });
    this.logger = logger.child({ metadata: { server: name } });
    if (server.network !== 'full' && levelNumber(this.isolation) < levelNumber('confined')) {
      this.logger.warn({}, `its network is not restricted: this server runs with isolation '${this.isolation}'`);
    }
    this.paths = this.grantedPaths();
    this.readable = this.readablePaths();
    if (this.isGranted) {
      this.logger.info(
        { metadata: { ...this.paths } },
        'this tool server may use the files that its configuration names',
      );
    }
    if (isolation.needsOpenPaths(this.isolation) && ![...this.readable, workspaces.root].every(isOpenToAll)) {
      throw new CommandRefused(
        `with isolation '${this.isolation}' a worker that runs as root starts servers as another user, who cannot enter the ` +
          'directories of its program or of the workspaces: run it with isolation confined, or move them',
      );
    }
    const { standbys: count } = server;
    this.standbys = count === 0 ? undefined : { count, open: (signal) => this.openStandby(signal) };
  }

  readonly open: OpenServer = async ({ sessionId, directory }, signal) => {
    const { workspaces } = this.parts;
    const place = this.isShared ? await this.ownPlace() : { workspaces, directory };
    await place.workspaces.workspace({ id: sessionId, directory: place.directory }).ensure();
    const host = place.workspaces.hostPath(place.directory);
    const shown = this.isShared ? `/mcp_servers/${this.name}` : shownWorkspacePath(sessionId);
    return this.show(await this.start(place, signal), { host, shown });
  };

  private async openStandby(signal: AbortSignal): Promise<StandbyInstance> {
    const { workspaces } = this.parts;
    const directory = randomBytes(16).toString('hex');
    const host = workspaces.hostPath(directory);
    try {
      await workspaces.workspace({ id: directory, directory }).ensure();
      const started = await this.start({ workspaces, directory }, signal);
      const { connection } = started;
      return {
        directory,
        connection,
        adopt: (sessionId) => this.show(started, { host, shown: shownWorkspacePath(sessionId) }),
        discard: async () => {
          await connection.close();
          await workspaces.remove(directory);
        },
      };
    } catch (error) {
      // After a crash the sweeper removes the directory, which belongs to no session.
      await workspaces.remove(directory);
      throw error;
    }
  }

  get confinement(): NonNullable<ConfiguredServer['confinement']> {
    const { network } = this.server;
    const isConfined = levelNumber(this.isolation) >= levelNumber('confined');
    if (typeof network === 'string') {
      return { forbids: forbiddenBy(this.isolation, network), network: isConfined ? network : 'full' };
    }
    const hosts = network.allow.join(', ');
    return { forbids: forbiddenBy(this.isolation, 'some'), network: isConfined ? hosts : 'full' };
  }

  private async start({ workspaces, directory }: Place, signal: AbortSignal): Promise<Started> {
    const { name, parts } = this;
    const host = workspaces.hostPath(directory);
    const launch = await this.launch(host);
    const onBound = (bound: ServerBound) => parts.onBound?.(name, bound);
    const activity = new CallActivity();
    const process: StdioOptions = {
      start: () => parts.isolation.start(this.isolation, launch),
      onStarted: (process, fail) => {
        const end = async (bound: ServerBound, error: AppError) => {
          onBound(bound);
          fail(error);
        };
        void this.watch({ workspaces, directory }, process, activity, (error) => end('workspace', error));
        void process.outOfMemory.then(() => end('memory', outOfMemory(this.server.max_memory_bytes)));
      },
      grace: parts.grace ?? defaultGrace,
      maxMessageBytes: messageBytes(parts.config),
      logger: this.logger,
      onBound,
      onStderr: (line) => parts.onStderr?.(name, line),
    };
    const options: ConnectOptions = {
      signal,
      cancelGraceMs: parts.config.tools.cancel_grace_ms,
      memory: parts.memory,
      onBound,
      // Some servers replace the directories of their arguments with the client's roots.
      root: this.isShared || namesDirectory(this.program.args) ? undefined : host,
      shared: this.isShared,
      sampling: samplingOf(this.server),
      startTimeoutMs: this.server.start_timeout_ms,
    };
    const connection = await parts.starts.run(name, signal, () => connectStdio(process, options));
    return { connection, activity };
  }

  /** Enforces the workspace's quota on the program, which writes files itself. Never rejects. */
  private async watch(
    { workspaces, directory }: Place,
    process: ToolProcess,
    activity: CallActivity,
    end: (error: AppError) => Promise<void>,
  ): Promise<void> {
    const over = new AbortController();
    void process.exited.catch(() => undefined).then(() => over.abort());
    const count = (signal: AbortSignal) => workspaces.measure(directory, signal);
    const { names } = process;
    const tree = { stop: () => process.stop(), resume: async () => process.resume(), end, names };
    const { limits, space } = workspaces;
    // If the workspace cannot be counted, assume it is empty; the watch counts again, and logs why it cannot.
    const before = await count(over.signal).catch(() => ({ bytes: 0, files: 0, directories: 0 }));
    await watchQuota({ tree, count, before, limits, space, activity, logger: this.logger }, over.signal);
  }

  private get isGranted(): boolean {
    return this.paths.read.length + this.paths.write.length > 0;
  }

  /** Also hides the paths of the server's code, which error messages may contain. */
  private show({ connection, activity }: Started, directory: ShownDirectory): ToolConnection {
    const hidden = [{ host: dirname(directory.host), shown: dirname(directory.shown) }];
    const { packages } = this.program;
    if (packages !== undefined) hidden.push({ host: packages, shown: `/mcp_servers/${this.name}` });
    return translated(connection, new ShownPaths(directory, hidden), activity);
  }

  private get kept(): string[] {
    const { config, workspaces, unreadable = [] } = this.parts;
    return [config.data_dir, workspaces.root, ...unreadable];
  }

  /** @throws CommandRefused if an argument names more than any server should have */
  private grantedPaths(): { read: string[]; write: string[] } {
    const { server, parts, program } = this;
    if (server.paths === undefined) {
      const { refusal, ...granted } = grantsOf(program.args, server.env, this.kept);
      const isConfined = levelNumber(this.isolation) >= levelNumber('confined');
      if (refusal !== undefined && isConfined) throw new CommandRefused(refusal);
      return granted;
    }
    const there = (path: string) => {
      const absolute = resolve(parts.configDirectory, absoluteWord(path, parts.configDirectory));
      if (!existsSync(absolute)) this.logger.warn({ metadata: { path } }, 'a path of this tool server does not exist');
      return existsSync(absolute) ? [realpathSync(absolute)] : [];
    };
    return { read: server.paths.read.flatMap(there), write: server.paths.write.flatMap(there) };
  }

  /** @throws CommandRefused if the server could read Signalbox's own data */
  private readablePaths(): string[] {
    const { file, args, packages } = this.program;
    const more = [...(packages === undefined ? [] : [packages]), ...this.paths.read, ...this.paths.write];
    const { paths, refused } = readablePaths([file, ...args], more, this.kept);
    if (refused.length === 0) return paths;
    throw new CommandRefused(
      `it could read data of Signalbox: ${refused.join(', ')} contains data_dir, the workspaces or a secret`,
    );
  }

  private async launch(host: string): Promise<Launch> {
    const { name, parts, server } = this;
    const { file, args, environment } = this.program;
    const inPlace = (text: string) => text.replaceAll(workspaceVariable, host);
    const own = Object.entries(server.env).map(([key, value]) => [key, inPlace(value)]);
    const launch = {
      file,
      args: args.map(inPlace),
      directory: host,
      readable: this.readable,
      writable: this.paths.write,
      memoryBytes: server.max_memory_bytes,
      countNames: true,
      environment: {
        ...parts.environment,
        HOME: host,
        TMPDIR: join(host, temporaryDirectory),
        ...(changesUser() && this.isGranted ? gitOfOthers : {}),
        ...environment?.(host),
        ...Object.fromEntries(own),
      },
    };
    if (typeof server.network === 'string') return { ...launch, network: server.network };
    // The allowed hosts are reachable only through the proxy, which is in the program's environment.
    if (parts.egress === undefined) throw new AppError('tool_unavailable', 'There is no proxy for the tool server');
    const proxy = await parts.egress();
    const proxied = proxy.environmentFor({ name, allow: server.network.allow });
    return { ...launch, network: { proxyPort: proxy.port }, environment: { ...proxied, ...launch.environment } };
  }

  /** A shared server has its own directory, which stays after its end. */
  private async ownPlace(): Promise<Place> {
    const { config, workspaces } = this.parts;
    const own = await Workspaces.open(join(config.data_dir, 'tool-servers'), workspaces.limits);
    return { workspaces: own, directory: this.name };
  }
}

const outOfMemory = (bytes: number) =>
  new AppError(
    'tool_crashed',
    `The tool server was stopped because it and what it started used more memory than its max_memory_bytes (${bytes} bytes)`,
  );

/** Room for the largest result that is read, and its envelope. */
export const messageBytes = ({ tools }: Pick<Config, 'tools'>): number => tools.max_read_bytes + 64 * 1024;
