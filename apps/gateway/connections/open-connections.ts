// Opens what connects users to tool servers, once a server needs it: a gateway without one loads and asks nothing. Follows the
// configuration when it is read again.
import { allowsServer } from '#libs/access/access.js';
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import type { ConnectionStore as Store } from '#libs/connections/connection-store.js';
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
import type { Connections } from './user-connections.js';

export interface OpenConnectionsParts {
  database: Database;
  /** Tests put faults around the store. */
  around: (store: Store) => Store;
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
  /** From now on its servers are those that users connect to. */
  follow(config: Pick<Config, 'mcpServers'>): Promise<void>;
}

export async function openConnections(config: Config, parts: OpenConnectionsParts): Promise<ConnectionsInForce> {
  const servers = new Map<string, ConnectedServer>();
  let current: Connections | undefined;
  const follow: ConnectionsInForce['follow'] = async ({ mcpServers }) => {
    servers.clear();
    for (const [name, server] of Object.entries(mcpServers)) {
      const { enabled, auth } = server;
      const url = serverAddress(server);
      if (enabled && url !== undefined && auth !== undefined && auth.kind !== 'client_credentials')
        servers.set(name, { name, url, auth });
    }
    const { vault } = parts;
    // Without a key of the vault, the workers refuse the servers and say why.
    if (servers.size > 0 && vault !== undefined) current ??= await create(config, servers, { ...parts, vault });
  };
  await follow(config);
  return {
    get current() {
      return current;
    },
    follow,
  };
}

async function create(
  config: Config,
  servers: ReadonlyMap<string, ConnectedServer>,
  parts: OpenConnectionsParts & { vault: Vault },
): Promise<Connections> {
  const { database, vault, catalog, catalogOf, channels, metrics, logger } = parts;
  const [{ Connections }, { ConnectionStore }, { OAuthFlows }, { IssuerClients }] = await Promise.all([
    import('./user-connections.js'),
    import('#libs/connections/connection-store.js'),
    import('#libs/connections/oauth-flows.js'),
    import('#libs/connections/issuer-clients.js'),
  ]);
  const publicUrl = publicAddress(config.server);
  const store = parts.around(new ConnectionStore(database, { audit: config.audit.enabled }));
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
