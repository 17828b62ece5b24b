// Opens what connects users to tool servers, once a server needs it: a gateway without one loads and asks nothing. Follows the
// configuration when it is read again.
import { allowsServer } from '#libs/access/access.js';
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import { ConnectionStore } from '#libs/connections/connection-store.js';
import { announceConnection } from '#libs/connections/connection-announcements.js';
import type { CatalogOf } from '../govern/tool-policy.js';
import type { Waits } from '../govern/waits.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import { publicAddress } from '#libs/config/addresses/public-address.js';
import type { Config } from '#libs/config/schema.js';
import { serverAddress } from '#libs/config/servers/server-address.js';
import type { ConnectedServer } from '#libs/connections/issuer.js';
import type { Vault } from '#libs/connections/vault.js';
import type { Database } from '#libs/postgres/open-database.js';
import { reaperTimes } from '#libs/runs/processes/reaper.js';
import { UnusedConnections } from './unused-connections.js';
import type { Connections } from './user-connections.js';

export interface OpenConnectionsParts {
  database: Database;
  /** Tests put faults around the store. */
  around: (store: ConnectionStore) => ConnectionStore;
  /** Undefined if there is no key of it. */
  vault: Vault | undefined;
  catalog: Pick<ToolCatalog, 'list'>;
  catalogOf: CatalogOf;
  waitStore: Pick<WaitStore, 'get'>;
  /** Where calls wait for sign-ins. */
  waits: () => Pick<Waits, 'connected'>;
  channels: Pick<Channels, 'publish'>;
  metrics: Pick<Metrics, 'rateLimited'>;
  logger: Logger;
}

export interface ConnectionsInForce {
  /** Undefined as long as no server that users connect to was configured. */
  readonly current: Connections | undefined;
  /** The same, also where no such server was configured: connections with former ones may be left. Undefined without a key of the vault. */
  open(): Promise<Connections | undefined>;
  /** Ends connections that nobody can use any more, from now on. */
  start(): void;
  close(): Promise<void>;
  /** From now on its servers are those that users connect to. */
  follow(config: Pick<Config, 'mcpServers'>): Promise<void>;
}

export async function openConnections(config: Config, parts: OpenConnectionsParts): Promise<ConnectionsInForce> {
  const servers = new Map<string, ConnectedServer>();
  let named: string[] = [];
  let current: Connections | undefined;
  const { vault } = parts;
  const store = parts.around(new ConnectionStore(parts.database, { audit: config.audit.enabled }));
  const open = async () => {
    if (vault !== undefined) current ??= await create(config, servers, { ...parts, vault, store });
    return current;
  };
  const unused = new UnusedConnections({
    store,
    configured: () => named,
    end: async (key, signal) => (await open())?.end(key, signal),
    keptMs: reaperTimes(config).runTtlMs,
    logger: parts.logger,
  });
  const follow: ConnectionsInForce['follow'] = async ({ mcpServers }) => {
    servers.clear();
    named = Object.entries(mcpServers).flatMap(([name, { auth }]) => (auth === undefined ? [] : [name]));
    for (const [name, server] of Object.entries(mcpServers)) {
      const { enabled, auth } = server;
      const url = serverAddress(server);
      if (enabled && url !== undefined && auth !== undefined && auth.kind !== 'client_credentials')
        servers.set(name, { name, url, auth });
    }
    // Without a key of the vault, the workers refuse the servers and say why.
    if (servers.size > 0) await open();
  };
  await follow(config);
  return {
    get current() {
      return current;
    },
    open,
    follow,
    start: () => {
      if (vault !== undefined) unused.start();
    },
    close: () => unused.close(),
  };
}

async function create(
  config: Config,
  servers: ReadonlyMap<string, ConnectedServer>,
  parts: OpenConnectionsParts & { vault: Vault; store: ConnectionStore },
): Promise<Connections> {
  const { database, vault, store, catalog, catalogOf, channels, metrics, logger } = parts;
  const [{ Connections }, { OAuthFlows }, { IssuerClients }] = await Promise.all([
    import('./user-connections.js'),
    import('#libs/connections/oauth-flows.js'),
    import('#libs/connections/issuer-clients.js'),
  ]);
  const publicUrl = publicAddress(config.server);
  const flows = new OAuthFlows({
    database,
    store,
    vault,
    clients: new IssuerClients({ database, vault, publicUrl }),
    publicUrl,
    serverNamed: (name) => servers.get(name),
    allow: config.tools.fetch_allow,
    onChanged: (key) => void announceConnection(key, { channels, logger }),
  });
  return new Connections({
    servers,
    flows,
    store,
    vault,
    publicUrl,
    // Tools of a server may be unknown until somebody has signed in.
    mayUse: (caller, server) =>
      catalogOf(caller).list(server).length > 0 ||
      (catalog.list(server).length === 0 && allowsServer(caller.access, server)),
    onRefused: (limit) => metrics.rateLimited.inc({ limit }),
    waitingFor: async (id) => {
      const wait = await parts.waitStore.get(id);
      return wait?.kind === 'sign_in' && wait.state === 'waiting' ? wait : undefined;
    },
    onConnected: (principal, server) =>
      parts
        .waits()
        .connected(principal, server)
        .catch((error: unknown) => {
          logger.warn({ error, metadata: { server } }, 'calls that wait for a sign-in go on a moment later');
        }),
  });
}
