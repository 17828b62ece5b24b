// A server that is a program: checked when the worker starts, and started in its session's directory. Refuses programs that
// cannot be found or would run with too little isolation, and `${WORKSPACE}` without a session.
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Config, ServerConfig } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { shownWorkspacePath, temporaryDirectory } from '#libs/workspace/workspace-path.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import type { EgressProxy } from '../../sandbox/egress-proxy.js';
import type { Isolation, Launch } from '../../sandbox/isolation.js';
import { levelNumber, type IsolationLevel } from '../../sandbox/levels.js';
import { readablePaths } from '../../sandbox/readable-paths.js';
import type { EndGrace, ToolProcess } from '../../sandbox/tool-process.js';
import { isOpenToAll } from '../../sandbox/tool-user.js';
import { CallActivity, watchQuota } from '../../workspace/quota-watch.js';
import { connectStdio } from './connect.js';
import type { ConnectOptions, ToolConnection } from './connection.js';
import type { DiscoveryMemory } from './discovery.js';
import type { ServerBound } from '../wire/server-bound.js';
import type { ServerStarts } from './server-starts.js';
import { CommandRefused, resolveCommand, type Program } from '../../sandbox/resolve-command.js';
import type { StdioOptions } from '../wire/stdio-transport.js';
import { ShownPaths, TranslatedConnection, type ShownDirectory } from './shown-paths.js';
import { samplingOf } from './sampling.js';
import type { ConfiguredServer, OpenServer, SpareInstance } from './configured-server.js';

export interface CommandParts {
  config: Pick<Config, 'tools' | 'isolation' | 'data_dir'>;
  workspaces: Workspaces;
  /** The variables that every program inherits: PATH, LANG. */
  environment: Readonly<Record<string, string>>;
  packageRoots: readonly string[];
  isolation: Isolation;
  /** Files and directories that no server may read, besides those in `config` and `workspaces`. */
  unreadable?: readonly string[] | undefined;
  /** Opens the proxy for commands whose network is a list of hosts. */
  egress?: () => Promise<EgressProxy>;
  /** Shared by all servers of the worker. */
  starts: ServerStarts;
  grace?: EndGrace;
  onBound?: (server: string, bound: ServerBound) => void;
  logger: Logger;
}

/** Placeholder in `args` and `env`: the directory that the server runs in. */
const workspaceVariable = '${WORKSPACE}';
const defaultGrace: EndGrace = { stdinMs: 1_000, termMs: 1_000 };

interface CommandConfig extends ServerConfig {
  command: string;
}

/** The directory that a server runs in. */
interface Place {
  workspaces: Workspaces;
  directory: string;
}

interface Started {
  connection: ToolConnection;
  activity: CallActivity;
}

interface WatchedProcess {
  process: ToolProcess;
  activity: CallActivity;
  /** Ends it at once. Its calls get the error. */
  end(error: AppError): Promise<void>;
}

export class CommandServer {
  readonly isolation: IsolationLevel;
  readonly spares: ConfiguredServer['spares'];
  private readonly program: Program;
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
    this.program = resolveCommand(server.command, server.args, { path: environment['PATH'] ?? '', packageRoots });
    this.logger = logger.child({ metadata: { server: name } });
    if (server.network !== 'full' && levelNumber(this.isolation) < levelNumber('confined')) {
      this.logger.warn({}, `its network is not restricted: this server runs with isolation '${this.isolation}'`);
    }
    this.readable = this.readablePaths();
    if (isolation.needsOpenPaths(this.isolation) && ![...this.readable, workspaces.root].every(isOpenToAll)) {
      throw new CommandRefused(
        `with isolation '${this.isolation}' a worker that runs as root starts servers as another user, who cannot enter the ` +
          'directories of its program or of the workspaces: run it with isolation confined, or move them',
      );
    }
    const { spares: count } = server;
    this.spares = count === 0 ? undefined : { count, open: (signal) => this.openSpare(signal) };
  }

  readonly open: OpenServer = async ({ sessionId, directory }, signal) => {
    const { workspaces } = this.parts;
    const place = this.isShared ? await this.ownPlace() : { workspaces, directory };
    await place.workspaces.workspace({ id: sessionId, directory: place.directory }).ensure();
    const host = place.workspaces.hostPath(place.directory);
    const shown = this.isShared ? `/mcp_servers/${this.name}` : shownWorkspacePath(sessionId);
    return this.show(await this.start(place, signal), { host, shown });
  };

  private async openSpare(signal: AbortSignal): Promise<SpareInstance> {
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

  private async start({ workspaces, directory }: Place, signal: AbortSignal): Promise<Started> {
    const { name, parts } = this;
    const host = workspaces.hostPath(directory);
    const launch = await this.launch(host);
    const onBound = (bound: ServerBound) => parts.onBound?.(name, bound);
    const activity = new CallActivity();
    const process: StdioOptions = {
      start: () => parts.isolation.start(this.isolation, launch),
      onStarted: (process, fail) => {
        const end = (bound: ServerBound) => async (error: AppError) => {
          onBound(bound);
          fail(error);
        };
        void this.watch({ workspaces, directory }, { process, activity, end: end('workspace') });
        void process.outOfMemory.then(() => end('memory')(outOfMemory(this.server.max_memory_bytes)));
      },
      grace: parts.grace ?? defaultGrace,
      maxMessageBytes: messageBytes(parts.config),
      logger: this.logger,
      onBound,
    };
    const options: ConnectOptions = {
      signal,
      cancelGraceMs: parts.config.tools.cancel_grace_ms,
      memory: parts.memory,
      onBound,
      root: this.isShared ? undefined : host,
      shared: this.isShared,
      sampling: samplingOf(this.server),
      startTimeoutMs: this.server.start_timeout_ms,
    };
    const connection = await parts.starts.run(name, signal, () => connectStdio(process, options));
    return { connection, activity };
  }

  /** Enforces the quota of the workspace while the program runs, since it writes files itself. Never rejects. */
  private async watch({ workspaces, directory }: Place, { process, activity, end }: WatchedProcess): Promise<void> {
    const over = new AbortController();
    void process.exited.catch(() => undefined).then(() => over.abort());
    const count = (signal: AbortSignal) => workspaces.measure(directory, signal);
    const { names } = process;
    const tree = { stop: () => process.stop(), resume: async () => process.resume(), end, names };
    const { limits, space } = workspaces;
    // Where it cannot be counted yet, the limits apply; the watch counts again, and says why it cannot.
    const before = await count(over.signal).catch(() => ({ bytes: 0, files: 0, directories: 0 }));
    await watchQuota({ tree, count, before, limits, space, activity, logger: this.logger }, over.signal);
  }

  /** Also hides the paths of the server's code, which its errors may contain. */
  private show({ connection, activity }: Started, directory: ShownDirectory): ToolConnection {
    const hidden = [{ host: dirname(directory.host), shown: dirname(directory.shown) }];
    const { packages } = this.program;
    if (packages !== undefined) hidden.push({ host: packages, shown: `/mcp_servers/${this.name}` });
    return new TranslatedConnection(connection, new ShownPaths(directory, hidden), activity);
  }

  /** @throws CommandRefused if the server could read Signalbox's own data */
  private readablePaths(): string[] {
    const { config, workspaces, unreadable = [] } = this.parts;
    const { file, args, packages } = this.program;
    const { read, write } = this.server.paths;
    const more = [...(packages === undefined ? [] : [packages]), ...read, ...write];
    const { paths, refused } = readablePaths([file, ...args], more, [config.data_dir, workspaces.root, ...unreadable]);
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
      writable: server.paths.write,
      memoryBytes: server.max_memory_bytes,
      countNames: true,
      environment: {
        ...parts.environment,
        HOME: host,
        TMPDIR: join(host, temporaryDirectory),
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
    const limits = { ...workspaces.limits, quota: 'soft' as const };
    return { workspaces: await Workspaces.open(join(config.data_dir, 'tool-servers'), limits), directory: this.name };
  }
}

const outOfMemory = (bytes: number) =>
  new AppError(
    'tool_crashed',
    `The tool server was ended because it and what it started held more memory than its max_memory_bytes (${bytes} bytes)`,
  );

/** Room for the largest result that is read, and its envelope. */
export const messageBytes = ({ tools }: Pick<Config, 'tools'>): number => tools.max_read_bytes + 64 * 1024;
