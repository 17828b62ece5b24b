// Prepares the configured servers, in the order in which bare names of tools are resolved. A server that is misconfigured
// or cannot run is refused with a reason.
import type { Cache } from '#libs/backing/cache.js';
import type { Config, ServerConfig } from '#libs/config/schema.js';
import { serverSchema } from '#libs/config/schemas/server-schema.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { StatementMint } from '#libs/access/identity/caller-statement.js';
import { missingVaultKey } from '#libs/connections/vault.js';
import type { SharedPlaces } from '#libs/limits/shared-places.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ChangePolicy } from '#libs/schemas/tool-change.js';
import { CommandServer, messageBytes, type CommandParts } from './command-server.js';
import {
  credentialOf,
  isSameServer,
  type ConfiguredServer,
  type OpenServer,
  type PoolUser,
} from './configured-server.js';
import { connectHttp } from './connect.js';
import { DiscoveryMemory, type DiscoveryKey } from './discovery.js';
import { InProcessConnection, type InProcessServer } from './in-process-connection.js';
import { samplingOf } from '../asking/sampling.js';
import { type ServerCredentials, ServerAccess } from './server-access.js';
import { callScope } from '../wire/call-scope.js';
import type { ServerBound } from '../wire/server-bound.js';
import { CommandRefused } from '../../sandbox/resolve-command.js';

export interface RefusedServer {
  name: string;
  reason: string;
  code: CommandRefused['code'];
}

export interface ConfiguredServers {
  servers: ConfiguredServer[];
  refused: RefusedServer[];
}

export interface ServerParts extends CommandParts {
  config: Pick<Config, 'mcpServers' | 'tools' | 'worker' | 'isolation' | 'data_dir'>;
  /** Servers inside this worker, by builtin name. */
  builtins: ReadonlyMap<string, InProcessServer>;
  /** Signs who calls, for servers with `identity`. */
  statements?: Pick<StatementMint, 'state'>;
  /** Shares discoveries about servers with other workers. */
  cache?: Cache;
  /** Provides places for the calls to servers that all workers share. */
  places?: Pick<SharedPlaces, 'slots'>;
  /** Tokens for servers with `auth`; absent without a key of the vault. */
  connections?: ServerCredentials | undefined;
  /** The servers of the previous configuration. Unchanged ones are reused. */
  running?: ConfiguredServers;
}

type Opened = Pick<
  ConfiguredServer,
  | 'open'
  | 'standbys'
  | 'builtin'
  | 'isolation'
  | 'paths'
  | 'confinement'
  | 'slots'
  | 'actsForCaller'
  | 'users'
  | 'statement'
>;

const httpConnectMs = 10_000;
/** Exchanges besides those of calls: notifications, cancellations, answers that a server leaves open. */
const openExchanges = 256;
export const maxWaitingCalls = 1_000;

export function configuredServers(parts: ServerParts): ConfiguredServers {
  const servers: ConfiguredServer[] = [];
  const refused: RefusedServer[] = [];
  for (const [name, server] of inOrder(parts)) {
    if (!server.enabled) continue;
    try {
      const configured = configuredServer(name, server, parts.config);
      const running = parts.running?.servers.find((each) => isSameServer(each, configured));
      servers.push({ ...configured, ...(running ?? openerOf(name, server, parts)), order: servers.length });
    } catch (error) {
      if (!(error instanceof CommandRefused)) throw error;
      refused.push({ name, reason: error.message, code: error.code });
    }
  }
  return { servers, refused };
}

function configuredServer(name: string, server: ServerConfig, config: ServerParts['config']) {
  const builtin = server.builtin !== undefined;
  const timeoutMs = server.timeout_ms ?? config.tools.timeout_ms;
  return {
    name,
    configHash: canonicalHash(server),
    trusted: builtin || server.trusted,
    scope: server.scope ?? (server.command === undefined ? 'shared' : 'session'),
    // For builtins, only the worker's own limit applies.
    concurrency: builtin ? config.worker.concurrency : server.concurrency,
    maxInstances: server.max_instances,
    idleTtlMs: server.idle_ttl_ms,
    startTimeoutMs: server.start_timeout_ms,
    timeoutMs,
    maxTimeoutMs: Math.max(timeoutMs, server.max_timeout_ms ?? config.tools.max_timeout_ms),
    tools: server.tools,
    forwardHeaders: server.forward_headers.map((each) => each.toLowerCase()),
    changes: builtin ? ownTools : { ...config.tools.changes, ...server.tools.changes },
  };
}

/** Builtins change only with Signalbox itself. */
const ownTools: ChangePolicy = {
  cosmetic: 'allow',
  wording: 'allow',
  contract: 'allow',
  new: 'allow',
  removed: 'allow',
};

/** @throws CommandRefused */
function openerOf(name: string, server: ServerConfig, parts: ServerParts): Opened {
  const { builtin, command, url } = server;
  const key = { server: name, configHash: canonicalHash(server) };
  if (builtin !== undefined) {
    const inProcess = parts.builtins.get(builtin);
    if (inProcess === undefined) throw new CommandRefused(`there is no builtin server '${builtin}'`);
    const actsForCaller = server.act_for_caller ?? inProcess.actsForCaller === true;
    return { builtin: true, isolation: 'builtin', actsForCaller, open: async () => new InProcessConnection(inProcess) };
  }
  if (command !== undefined) {
    const memory = memoryOf(key, parts);
    const opened = new CommandServer(name, { ...server, command }, { ...parts, memory });
    const { isolation, paths, confinement, open, standbys } = opened;
    return { builtin: false, isolation, paths, confinement, actsForCaller: false, open, standbys };
  }
  if (url !== undefined) {
    const statement = statementOf({ ...server, url }, parts);
    const open = openUrl({ ...server, url }, parts, { key, statement });
    const actsForCaller = server.act_for_caller === true;
    const slots = sharedSlots(server, parts, key);
    const users = usersOf(name, server, parts);
    return { builtin: false, isolation: 'remote', actsForCaller, statement, open, slots, users };
  }
  throw new CommandRefused('it names neither a builtin, nor a command, nor a URL');
}

export type UrlServer = ServerConfig & { url: string };
export type UrlParts = Pick<ServerParts, 'cache' | 'onBound' | 'statements' | 'connections' | 'logger'> & {
  config: Pick<Config, 'tools'>;
};

/** The principal is that of the instance, whatever call it is used for. @throws CommandRefused */
export function statementOf({ identity, url }: UrlServer, { statements }: UrlParts): ConfiguredServer['statement'] {
  if (identity === undefined) return undefined;
  if (statements === undefined) throw new CommandRefused('nothing here can sign who calls it');
  const audience = (typeof identity === 'object' ? identity.audience : undefined) ?? url;
  return async ({ principal }, call) => {
    const { roles, sessionId, runId } = call?.job ?? {};
    const statement = await statements.state({ principal, roles, sessionId, runId }, audience);
    call?.holdSecrets?.([statement]);
    return statement;
  };
}

/** The header of each request, which may belong to a call of the user, or be the connection's own. */
function statementHeader({ identity }: UrlServer, statement: ConfiguredServer['statement'], user: PoolUser) {
  if (statement === undefined) return undefined;
  const value = () => statement(user, callScope.getStore());
  const { header } = typeof identity === 'object' ? identity : {};
  return header === undefined
    ? { name: 'authorization', value: async () => `Bearer ${await value()}` }
    : { name: header, value };
}

/** The operator has chosen the URL, so it may be private. Redirects are not followed. */
export function openUrl(
  server: UrlServer,
  parts: UrlParts,
  { key, statement }: { key: DiscoveryKey } & Pick<ConfiguredServer, 'statement'>,
): OpenServer {
  const { config } = parts;
  const maxTimeoutMs = server.max_timeout_ms ?? config.tools.max_timeout_ms;
  const onBound = (bound: ServerBound) => parts.onBound?.(key.server, bound);
  const http = {
    url: server.url,
    headers: { ...server.headers },
    transport: server.transport,
    bounds: {
      maxBytes: messageBytes(config),
      connectMs: httpConnectMs,
      maxExchanges: openExchanges + server.concurrency,
      totalMs: Math.max(maxTimeoutMs, server.timeout_ms ?? config.tools.timeout_ms) + config.tools.cancel_grace_ms,
      onBound,
    },
  };
  const shared = memoryOf(key, parts);
  const isOfUser = usersOf(key.server, server, parts) !== undefined;
  return async (user, signal) => {
    const credential = credentialOf(user, isOfUser);
    const access = accessOf(server, user, parts, key);
    const fresh = statementHeader(server, statement, user);
    const connection = await connectHttp(
      { ...http, headers: { ...http.headers, ...user.headers }, access, fresh },
      {
        signal,
        cancelGraceMs: config.tools.cancel_grace_ms,
        onBound,
        memory: credential === undefined ? shared : memoryOf({ ...key, credential }, parts),
        startTimeoutMs: server.start_timeout_ms,
        shared: (server.scope ?? 'shared') === 'shared',
        sampling: samplingOf(server),
        needed: access && ((error) => access.needed(error)),
      },
    ).catch((error: unknown) => {
      access?.close();
      throw error;
    });
    if (access !== undefined) connection.onClosed(() => access.close());
    return connection;
  };
}

/** @throws CommandRefused without a key of the vault, which a configuration that is read again may need */
function connectionsOf({ connections }: Pick<ServerParts, 'connections'>): ServerCredentials {
  if (connections === undefined) throw new CommandRefused(`it ${missingVaultKey}`);
  return connections;
}

function usersOf(name: string, { auth }: ServerConfig, parts: UrlParts): ConfiguredServer['users'] {
  if (auth === undefined) return undefined;
  const { store } = connectionsOf(parts);
  return auth.kind === 'client_credentials' ? undefined : { anyConnected: () => store.anyConnected(name) };
}

function accessOf(
  { url, auth }: ServerConfig & { url: string },
  { principal }: PoolUser,
  parts: UrlParts,
  { server: name }: DiscoveryKey,
): ServerAccess | undefined {
  return auth && new ServerAccess({ name, url, auth }, principal, connectionsOf(parts));
}

/** Slots for a server that all workers share. A server of a session needs none, since a session is in one worker. */
function sharedSlots(
  { concurrency, scope }: ServerConfig,
  { places }: ServerParts,
  { server, configHash }: DiscoveryKey,
) {
  if ((scope ?? 'shared') !== 'shared') return undefined;
  const limit = { limit: concurrency, maxWaiting: maxWaitingCalls, what: `server ${server}` };
  return places?.slots({ ...limit, name: `server_calls:${server}:${configHash}` });
}

function memoryOf(key: DiscoveryKey, { cache, logger }: UrlParts): DiscoveryMemory {
  return new DiscoveryMemory(key, cache, logger);
}

/** Builtins come first, including this worker's builtins that are not configured. */
function inOrder({ config, builtins }: Pick<ServerParts, 'config' | 'builtins'>): [string, ServerConfig][] {
  const entries = Object.entries(config.mcpServers);
  const isNamed = (builtin: string) => entries.some(([name, server]) => name === builtin || server.builtin === builtin);
  const unnamed = [...builtins.keys()].filter((builtin) => !isNamed(builtin));
  return [
    ...unnamed.map((builtin): [string, ServerConfig] => [builtin, serverSchema.parse({ builtin })]),
    ...entries.filter(([, server]) => server.builtin !== undefined),
    ...entries.filter(([, server]) => server.builtin === undefined),
  ];
}

export function serversByName({ servers }: ConfiguredServers): ReadonlyMap<string, ConfiguredServer> {
  return new Map(servers.map((server) => [server.name, server]));
}

export function unknownServer(name: string, refused?: RefusedServer): AppError {
  return refused?.code === 'isolation_too_low'
    ? new AppError('isolation_too_low', `The tool server '${name}' is refused: ${refused.reason}`)
    : new AppError('tool_unavailable', `The tool server '${name}' is not available on this worker`);
}
