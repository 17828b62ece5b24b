// Opens what connects users to tool servers, if a server needs it: a gateway without one loads and asks nothing.
import { publicUrlOf } from '#libs/config/addresses/public-url.js';
import type { Config } from '#libs/config/schema.js';
import type { ConnectedServer } from '#libs/connections/issuer.js';
import type { OAuthFlowsParts } from '#libs/connections/oauth-flows.js';
import type { Vault } from '#libs/connections/vault.js';
import type { Database } from '#libs/postgres/open-database.js';
import type { Connections, ConnectionsParts } from './user-connections.js';

export interface OpenConnectionsParts
  extends
    Pick<ConnectionsParts, 'mayUse' | 'onRefused' | 'onConnected' | 'waitingFor'>,
    Pick<OAuthFlowsParts, 'onChanged'> {
  database: Database;
  /** Undefined if no server has `auth`. */
  vault: Vault | undefined;
}

export async function openConnections(
  config: Config,
  { database, vault, onChanged, ...ports }: OpenConnectionsParts,
): Promise<Connections | undefined> {
  if (vault === undefined) return undefined;
  const servers = new Map<string, ConnectedServer>();
  for (const [name, { enabled, url, auth }] of Object.entries(config.mcpServers)) {
    if (enabled && url !== undefined && auth !== undefined && auth.kind !== 'client_credentials')
      servers.set(name, { name, url, auth });
  }
  if (servers.size === 0) return undefined;
  const [{ Connections }, { ConnectionStore }, { OAuthFlows }, { IssuerClients }] = await Promise.all([
    import('./user-connections.js'),
    import('#libs/connections/connection-store.js'),
    import('#libs/connections/oauth-flows.js'),
    import('#libs/connections/issuer-clients.js'),
  ]);
  const publicUrl = publicUrlOf(config);
  const store = new ConnectionStore(database, { audit: config.audit.enabled });
  const flows = new OAuthFlows({
    database,
    store,
    vault,
    clients: new IssuerClients({ database, vault, publicUrl }),
    publicUrl,
    serverNamed: (name) => servers.get(name),
    allow: config.tools.fetch_allow,
    ...(onChanged === undefined ? {} : { onChanged }),
  });
  return new Connections({ ...ports, servers, flows, store, vault, publicUrl });
}
