// Opens what exchanges tokens of callers, if a server needs it.
import type { Channels } from '#libs/backing/channels.js';
import type { Config } from '#libs/config/schema.js';
import { announceConnection } from '#libs/connections/connection-announcements.js';
import type { ConnectedServer } from '#libs/connections/issuer.js';
import type { Vault } from '#libs/connections/vault.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Database } from '#libs/postgres/open-database.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import type { TokenExchanges } from './token-exchanges.js';

export interface OpenExchangesParts {
  database: Database;
  /** Undefined if no server has `auth`. */
  vault: Vault | undefined;
  catalog: Pick<ToolCatalog, 'list'>;
  channels: Pick<Channels, 'publish'>;
  logger: Logger;
}

export async function openExchanges(config: Config, parts: OpenExchangesParts): Promise<TokenExchanges | undefined> {
  const { database, vault, catalog, channels, logger } = parts;
  const { jwt } = config.auth;
  if (vault === undefined || jwt === undefined) return undefined;
  const servers = new Map<string, ConnectedServer>();
  for (const [name, { enabled, url, auth }] of Object.entries(config.mcpServers)) {
    if (!enabled || url === undefined || auth?.kind !== 'token_exchange') continue;
    servers.set(name, { name, url, auth: { ...auth, issuer: jwt.issuer } });
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
