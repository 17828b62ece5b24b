// An authorization server with its MCP server, and the parts of a process that connects users to it, on a real database.
import { randomBytes } from 'node:crypto';
import { serverSchema } from '#libs/config/schemas/server-schema.js';
import { ConnectionStore } from '#libs/connections/connection-store.js';
import { ConnectionTokens } from '#libs/connections/connection-tokens.js';
import type { ConnectedServer } from '#libs/connections/issuer.js';
import { IssuerClients } from '#libs/connections/issuer-clients.js';
import { OAuthFlows } from '#libs/connections/oauth-flows.js';
import { Vault } from '#libs/connections/vault.js';
import { openDatabase, type Database } from '#libs/postgres/open-database.js';
import {
  startAuthorizationServer,
  type AuthorizationServer,
  type AuthorizationServerOptions,
} from './authorization-server.js';

export const vaultKey = randomBytes(32);

export interface ConnectedProcess {
  database: Database;
  store: ConnectionStore;
  vault: Vault;
  flows: OAuthFlows;
  tokens: ConnectionTokens;
  /** As a user with a browser does. */
  connect(principal: string, server?: string): Promise<void>;
}

export interface ConnectedWorld {
  issuer: AuthorizationServer;
  servers: Map<string, ConnectedServer>;
  /** The first is open already. */
  open(keys?: readonly Buffer[]): ConnectedProcess;
  close(): Promise<void>;
}

const signal = () => AbortSignal.timeout(20_000);

/** @param auth The server `protected`; default: `oauth` */
export async function openConnectedWorld(
  databaseUrl: string,
  options: AuthorizationServerOptions = {},
  auth: object = { kind: 'oauth' },
): Promise<ConnectedWorld> {
  const issuer = await startAuthorizationServer(options);
  const servers = new Map<string, ConnectedServer>();
  const add = (name: string, given: object) =>
    servers.set(name, {
      name,
      url: issuer.mcpUrl,
      auth: serverSchema.parse({ url: issuer.mcpUrl, auth: given }).auth!,
    });
  add('protected', auth);
  const databases: Database[] = [];
  const open = (keys: readonly Buffer[] = [vaultKey]): ConnectedProcess => {
    const database = openDatabase({ url: databaseUrl, poolSize: 4, timeoutMs: 10_000, applicationName: 'test' });
    databases.push(database);
    const store = new ConnectionStore(database);
    const vault = new Vault(keys);
    const publicUrl = 'http://127.0.0.1:8000';
    const flows = new OAuthFlows({
      database,
      store,
      vault,
      clients: new IssuerClients({ database, vault, publicUrl }),
      publicUrl,
      serverNamed: (name) => servers.get(name),
      allow: [],
    });
    const connect = async (principal: string, server = 'protected') => {
      issuer.user = principal;
      const { flowId } = await flows.begin(principal, server);
      const back = await issuer.signIn(await flows.open(flowId, signal()));
      await flows.complete(readAnswer(back), signal());
    };
    return { database, store, vault, flows, tokens: new ConnectionTokens({ store, vault, allow: [] }), connect };
  };
  return {
    issuer,
    servers,
    open,
    close: async () => {
      await Promise.all(databases.map((database) => database.close()));
      await issuer.stop();
    },
  };
}

export function readAnswer({ searchParams }: URL) {
  const of = (name: string) => searchParams.get(name) ?? undefined;
  return { state: of('state') ?? '', code: of('code'), iss: of('iss'), error: of('error') };
}
