// Prepares the configured servers, in the order in which bare names of tools are resolved. A server that is misconfigured
// or cannot run is refused with a reason.
import type { Cache } from '#libs/backing/cache.js';
import type { Config, ServerConfig } from '#libs/config/schema.js';
import { serverSchema } from '#libs/config/schemas/server-schema.js';
import { documentHash } from '#libs/config/servers/document-hash.js';
import { documentFile } from '#libs/config/servers/server-address.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { SharedPlaces } from '#libs/limits/shared-places.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ChangePolicy } from '#libs/schemas/tool-change.js';
import {
  type AccessParts,
  serverAccessOf,
  statementHeader,
  statementOf,
  type UrlServer,
  usersOf,
} from './caller-access.js';
import { CommandServer, messageBytes, type CommandParts } from './command-server.js';
import { credentialOf, isSameServer, type ConfiguredServer, type OpenServer } from './configured-server.js';
import { connectHttp } from './connect.js';
import { DiscoveryMemory, type DiscoveryKey } from './discovery.js';
import { InProcessConnection, type InProcessServer } from './in-process-connection.js';
import { openApi } from './open-api.js';
import { samplingOf } from '../asking/sampling.js';
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

export interface ServerParts extends CommandParts, AccessParts {
  config: Pick<Config, 'mcpServers' | 'tools' | 'limits' | 'worker' | 'isolation' | 'data_dir'>;
  /** Servers inside this worker, by builtin name. */
  builtins: ReadonlyMap<string, InProcessServer>;
  /** Shares discoveries about servers with other workers. */
  cache?: Cache;
  /** Provides places for the calls to servers that all workers share. */
  places?: Pick<SharedPlaces, 'slots'>;
  /** The servers of the previous configuration. Unchanged ones are reused. */
  running?: ConfiguredServers;
}

/** What of a server depends on how it is reached. */
type Opened = Omit<ConfiguredServer, keyof ReturnType<typeof configuredServer> | 'order'>;

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
      const configured = configuredServer(name, server, parts);
      const running = parts.running?.servers.find((each) => isSameServer(each, configured));
      servers.push({
        ...configured,
        ...(running ?? openerOf(name, server, configured.configHash, parts)),
        order: servers.length,
      });
    } catch (error) {
      if (!(error instanceof CommandRefused)) throw error;
      refused.push({ name, reason: error.message, code: error.code });
    }
  }
  return { servers, refused };
}

function configuredServer(name: string, server: ServerConfig, { config, configDirectory }: ServerParts) {
  const builtin = server.builtin !== undefined;
  const timeoutMs = server.timeout_ms ?? config.tools.timeout_ms;
  return {
    name,
    configHash: configHashOf(server, configDirectory),
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

/** Another one too when the document of its API has changed. */
function configHashOf(server: ServerConfig, configDirectory: string): string {
  const file = documentFile(configDirectory, server);
  return canonicalHash(file === undefined ? server : [server, documentHash(file)]);
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
function openerOf(name: string, server: ServerConfig, configHash: string, parts: ServerParts): Opened {
  const { builtin, command, url, openapi } = server;
  const key = { server: name, configHash };
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
  const remote = { builtin: false, isolation: 'remote', slots: sharedSlots(server, parts, key) };
  if (url !== undefined) {
    const statement = statementOf({ ...server, url }, parts);
    const open = openUrl({ ...server, url }, parts, { key, statement });
    const users = usersOf(name, server, parts);
    return { ...remote, actsForCaller: server.act_for_caller === true, statement, open, users };
  }
  if (openapi !== undefined) {
    const opened = openApi(name, { ...server, openapi }, parts);
    return { ...remote, actsForCaller: false, ...opened, users: usersOf(name, server, parts) };
  }
  throw new CommandRefused('it names neither a builtin, nor a command, nor a URL, nor a document of an API');
}

export type UrlParts = Pick<ServerParts, 'cache' | 'onBound' | 'statements' | 'connections' | 'logger'> & {
  config: Pick<Config, 'tools'>;
};

export interface UrlPlace extends Pick<ConfiguredServer, 'statement'> {
  key: DiscoveryKey;
  /** Asked in place of the server's address, for which credentials and statements are all the same. */
  at?: string;
}

/** The operator has chosen the URL, so it may be private. Redirects are not followed. */
export function openUrl(server: UrlServer, parts: UrlParts, { key, statement, at }: UrlPlace): OpenServer {
  const { config } = parts;
  const maxTimeoutMs = server.max_timeout_ms ?? config.tools.max_timeout_ms;
  const onBound = (bound: ServerBound) => parts.onBound?.(key.server, bound);
  const http = {
    url: at ?? server.url,
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
    const access = serverAccessOf(key.server, server, user, parts);
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
