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
import type { Waits } from '../govern/waits.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import type { ServerTokens } from '../turn/dispatch/dispatch-services.js';
import type { TokenExchanges } from './token-exchanges.js';

export interface OpenIssuerTokensParts {
  database: Database;
  /** Undefined if there is no key of it. */
  vault: Vault | undefined;
  catalog: Pick<ToolCatalog, 'list'>;
  channels: Pick<Channels, 'publish'>;
  /** Where calls wait for another token. */
  waits: () => Pick<Waits, 'connected' | 'decide'>;
  /** Each has an address of its own. */
  toolsets: Pick<Toolsets, 'names'>;
  logger: Logger;
}

export interface IssuerTokens {
  /** Undefined without an issuer. */
  tokenRing: TokenRing | undefined;
  exchanges: ServerTokens;
  /** Whether tokens of callers are exchanged now. */
  exchangesTokens: () => boolean;
  /** From now on its servers are those whose tokens are exchanged. */
  follow(config: Pick<Config, 'mcpServers'>): Promise<void>;
  close(): Promise<void>;
}

export async function openIssuerTokens(config: Config, parts: OpenIssuerTokensParts): Promise<IssuerTokens> {
  const { jwt } = config.auth;
  const { logger, toolsets, vault } = parts;
  const servers = new Map<string, ConnectedServer>();
  let current: TokenExchanges | undefined;
  const tokenRing =
    jwt &&
    new TokenRing({
      settings: jwt,
      resources: () => ownResources(config.server, toolsets.names),
      onVerified: (caller, token) => current?.signedIn(caller, token),
      logger,
    });
  const follow: IssuerTokens['follow'] = async ({ mcpServers }) => {
    // Without an issuer, or a key of the vault, no token can be exchanged.
    if (jwt === undefined || vault === undefined) return;
    const before = new Set(servers.keys());
    servers.clear();
    for (const [name, server] of Object.entries(mcpServers)) {
      const { enabled, auth } = server;
      const url = serverAddress(server);
      if (!enabled || url === undefined || auth?.kind !== 'token_exchange') continue;
      servers.set(name, { name, url, auth: { ...auth, issuer: jwt.issuer } });
    }
    if (servers.size > 0) current ??= await create(config, servers, { ...parts, vault });
    // Whoever comes next lists the tools of a new server.
    if ([...servers.keys()].some((name) => !before.has(name))) tokenRing?.verifyAgain();
  };
  await follow(config);
  return {
    tokenRing,
    exchanges: {
      isFor: (server) => servers.has(server),
      beforeCall: async (server, caller) => (await current?.beforeCall(server, caller)) === true,
      again: async (wait, caller) => current?.again(wait, caller),
    },
    exchangesTokens: () => servers.size > 0,
    follow,
    close: async () => {
      tokenRing?.close();
      await current?.close();
    },
  };
}

async function create(
  config: Config,
  servers: ReadonlyMap<string, ConnectedServer>,
  parts: OpenIssuerTokensParts & { vault: Vault },
): Promise<TokenExchanges> {
  const { database, vault, catalog, channels, waits, logger } = parts;
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
    waits,
    logger,
  });
}
