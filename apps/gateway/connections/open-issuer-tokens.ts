// Opens what has to do with tokens of the issuer that callers sign in at: their check, and their exchange if a server needs it.
import { ownResources } from '#libs/config/addresses/public-address.js';
import { TokenRing } from '#libs/access/jwt/token-ring.js';
import type { Channels } from '#libs/backing/channels.js';
import type { Config } from '#libs/config/schema.js';
import { serverAddress } from '#libs/config/servers/server-address.js';
import { announceConnection } from '#libs/connections/connection-announcements.js';
import type { ConnectedServer } from '#libs/connections/issuer.js';
import type { Vault } from '#libs/connections/vault.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Database } from '#libs/postgres/open-database.js';
import type { Toolsets } from '#libs/policy/toolset.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import type { TokenExchanges } from './token-exchanges.js';

export interface OpenIssuerTokensParts {
  database: Database;
  /** Undefined if no server has `auth`. */
  vault: Vault | undefined;
  catalog: Pick<ToolCatalog, 'list'>;
  channels: Pick<Channels, 'publish'>;
  /** Each has an address of its own. */
  toolsets: Pick<Toolsets, 'names'>;
  logger: Logger;
}

export interface IssuerTokens {
  /** Undefined without an issuer. */
  tokenRing: TokenRing | undefined;
  /** Undefined if no server needs it. */
  exchanges: TokenExchanges | undefined;
  close(): Promise<void>;
}

export async function openIssuerTokens(config: Config, parts: OpenIssuerTokensParts): Promise<IssuerTokens> {
  const { jwt } = config.auth;
  if (jwt === undefined) return { tokenRing: undefined, exchanges: undefined, close: async () => undefined };
  const exchanges = await openExchanges(config, jwt.issuer, parts);
  const onVerified = exchanges?.signedIn.bind(exchanges);
  const { logger, toolsets } = parts;
  const resources = () => ownResources(config.server, toolsets.names);
  const tokenRing = new TokenRing({ settings: jwt, resources, onVerified, logger });
  const close = async () => {
    tokenRing.close();
    await exchanges?.close();
  };
  return { tokenRing, exchanges, close };
}

async function openExchanges(
  config: Config,
  issuer: string,
  parts: OpenIssuerTokensParts,
): Promise<TokenExchanges | undefined> {
  const { database, vault, catalog, channels, logger } = parts;
  if (vault === undefined) return undefined;
  const servers = new Map<string, ConnectedServer>();
  for (const [name, server] of Object.entries(config.mcpServers)) {
    const { enabled, auth } = server;
    const url = serverAddress(server);
    if (!enabled || url === undefined || auth?.kind !== 'token_exchange') continue;
    servers.set(name, { name, url, auth: { ...auth, issuer } });
  }
  if (servers.size === 0) return undefined;
  const [{ TokenExchanges }, { ConnectionTokens }, { ConnectionStore }] = await Promise.all([
    import('./token-exchanges.js'),
    import('#libs/connections/connection-tokens.js'),
    import('#libs/connections/connection-store.js'),
  ]);
  const store = new ConnectionStore(database, { audit: config.audit.enabled });
  return new TokenExchanges({
    servers,
    tokens: new ConnectionTokens({ store, vault, allow: config.tools.fetch_allow }),
    isListed: (server) => catalog.list(server).length > 0,
    announce: (key) => announceConnection(key, { channels, logger }),
    logger,
  });
}
