// The worker's pool of tool servers without queue and store, for tests of misbehaving servers.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Cache } from '#libs/backing/cache.js';
import { inheritedEnvironment } from '#libs/config/child-environment.js';
import { readConfig } from '#libs/config/read-config.js';
import type { LogFields, Logger } from '#libs/logging/logger.js';
import { Workspaces } from '#libs/workspace/workspaces.js';
import type { RawToolResult, ToolConnection } from '../../apps/worker/mcp/servers/connection.js';
import type { ToolCallOptions } from '../../apps/worker/mcp/wire/call-scope.js';
import { ServerPool } from '../../apps/worker/mcp/pool/pool.js';
import { ServerStarts, type ServerStartsOptions } from '../../apps/worker/mcp/servers/server-starts.js';
import { configuredServers, type ConfiguredServers, type ServerParts } from '../../apps/worker/mcp/servers/servers.js';
import { findTestIsolation, testLevel } from './isolation.js';

export const fixture = (name: string) =>
  fileURLToPath(new URL(`../fixtures/tool-servers/${name}.mjs`, import.meta.url));
const checkout = fileURLToPath(new URL('../../', import.meta.url));

export interface ToolServers {
  configured: ConfiguredServers;
  pool: ServerPool;
  workspaces: Workspaces;
  directory: string;
  /** Log messages with their fields. */
  log: { message: string; fields: LogFields }[];
  /** `server: bound` for each bound that a server reached. */
  bounds: string[];
  call(server: string, tool: string, given?: CallGiven): Promise<RawToolResult>;
  use<T>(
    server: string,
    work: (connection: ToolConnection) => Promise<T>,
    session?: string,
    directory?: string,
  ): Promise<T>;
  close(): Promise<void>;
}

export interface CallGiven {
  args?: object;
  session?: string;
  /** The session's directory, if not named after the session. */
  directory?: string;
  options?: Partial<ToolCallOptions>;
}

export interface ServersGiven {
  environment?: Record<string, string>;
  /** Where relative paths begin; default: the directory of this test's data. */
  configDirectory?: string;
  /** Where data learnt about servers is cached. */
  cache?: Cache;
  starts?: Partial<ServerStartsOptions>;
  builtins?: ServerParts['builtins'];
  egress?: ServerParts['egress'];
  connections?: ServerParts['connections'];
  statements?: ServerParts['statements'];
  /** Limits of each workspace. */
  limits?: { maxBytes?: number; maxFiles?: number };
}

/** The hostile fixture as a server, with flags. */
export const hostile = (...flags: string[]) => ({ command: 'node', args: [fixture('hostile'), ...flags] });

export async function openToolServers(servers: Record<string, object>, given: ServersGiven = {}): Promise<ToolServers> {
  const isolation = await findTestIsolation();
  const dataDirectory = await mkdtemp(join(tmpdir(), 'tool-servers-'));
  const config = readConfig({
    environment: {
      DATA_DIR: dataDirectory,
      MIN_ISOLATION: testLevel(isolation),
      TOOLS_CANCEL_GRACE_MS: '1000',
      ...given.environment,
    },
    file: { path: 'signalbox.yaml', text: JSON.stringify({ mcpServers: servers }) },
  });
  const workspaces = await Workspaces.open(join(dataDirectory, 'workspaces'), {
    maxBytes: 2 ** 30,
    maxFiles: 1e4,
    maxDepth: 32,
    ...given.limits,
  });
  const log: ToolServers['log'] = [];
  const bounds: string[] = [];
  const logger = recordingLogger(log);
  const environment = inheritedEnvironment();
  const starts = new ServerStarts({ limit: 8, ...given.starts });
  const configured = configuredServers({
    config,
    builtins: given.builtins ?? new Map(),
    workspaces,
    environment,
    packageRoots: [checkout],
    configDirectory: given.configDirectory ?? dataDirectory,
    isolation,
    starts,
    grace: { stdinMs: 500, termMs: 300 },
    ...(given.cache === undefined ? {} : { cache: given.cache }),
    ...(given.egress === undefined ? {} : { egress: given.egress }),
    connections: given.connections,
    ...(given.statements === undefined ? {} : { statements: given.statements }),
    onBound: (server, bound) => void bounds.push(`${server}: ${bound}`),
    logger,
  });
  const pool = new ServerPool(configured, logger, undefined, starts);
  const use: ToolServers['use'] = (server, work, session = 'sess_a', directory = `ws_${session}`) => {
    const user = { principal: 'local', sessionId: session, directory };
    return pool.use(server, { user, signal: new AbortController().signal, deadline: Date.now() + 60_000 }, work);
  };
  return {
    configured,
    pool,
    workspaces,
    directory: dataDirectory,
    log,
    bounds,
    use,
    call: (server, tool, { args = {}, session, directory, options = {} } = {}) => {
      const calling = {
        signal: AbortSignal.timeout(60_000),
        maxTimeoutMs: 60_000,
        onProgress: () => undefined,
        ...options,
      };
      const request = { tool, arguments: JSON.parse(JSON.stringify(args)) as Record<string, never>, meta: {} };
      return use(server, (connection) => connection.callTool(request, calling), session, directory);
    },
    close: async () => {
      await pool.close();
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
}

function recordingLogger(log: ToolServers['log']): Logger {
  const record = (fields: LogFields, message: string) => void log.push({ fields, message });
  const logger: Logger = {
    debug: record,
    info: record,
    warn: record,
    error: record,
    isLevelEnabled: () => true,
    child: (bound) => {
      const bind = (fields: LogFields, message: string) => record({ ...bound, ...fields }, message);
      return { ...logger, debug: bind, info: bind, warn: bind, error: bind };
    },
  };
  return logger;
}
