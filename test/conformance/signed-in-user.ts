// The user of the client under test: signs in where a server asks for it, as somebody with a browser does. The suite's pages need no
// click.
import { randomUUID, randomBytes } from 'node:crypto';
import { serverSchema } from '#libs/config/schemas/server-schema.js';
import { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import { ConnectionStore } from '#libs/connections/connection-store.js';
import { ConnectionTokens } from '#libs/connections/connection-tokens.js';
import { IssuerClients } from '#libs/connections/issuer-clients.js';
import { OAuthFlows } from '#libs/connections/oauth-flows.js';
import { Vault } from '#libs/connections/vault.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { ServerAccess } from '../../apps/worker/mcp/servers/server-access.js';

/** A person would not sign in more often for one call. */
const maxSignIns = 3;

export interface SignedInUser {
  access: ServerAccess;
  /** Signs in for `work` as often as it needs to. */
  do<T>(work: () => Promise<T>): Promise<T>;
  close(): Promise<void>;
}

/** @param client The one that the suite has registered, if it has. */
export function openUser(
  { databaseUrl, url, client }: { databaseUrl: string; url: string; client: { id?: string; secret?: string } },
  signal: AbortSignal,
): SignedInUser {
  const database = openDatabase({ url: databaseUrl, poolSize: 2, timeoutMs: 10_000, applicationName: 'conformance' });
  const vault = new Vault([randomBytes(32)]);
  const store = new ConnectionStore(database);
  // Every run is another server, so that none has the connections of an earlier one.
  const name = `suite-${randomUUID()}`;
  const { auth } = serverSchema.parse({
    url,
    auth: { kind: 'oauth', client_id: client.id, client_secret: client.secret },
  });
  const server = { name, url, auth: auth! };
  const publicUrl = `http://127.0.0.1:8000/${name}`;
  const clients = new IssuerClients({ database, vault, publicUrl });
  const flows = new OAuthFlows({ database, store, vault, clients, publicUrl, serverNamed: () => server, allow: [] });
  const tokens = new ConnectionTokens({ store, vault, allow: [] });
  const access = new ServerAccess(server, 'user', { store, tokens });

  const signIn = async (): Promise<void> => {
    const { flowId } = await flows.begin('user', name);
    const page = await fetch(await flows.open(flowId, signal), { redirect: 'manual', signal });
    const back = new URL(page.headers.get('location') ?? '').searchParams;
    const [state = '', code, iss, error] = ['state', 'code', 'iss', 'error'].map((each) => back.get(each) ?? undefined);
    await flows.complete({ state, code, iss, error }, signal);
  };

  return {
    access,
    async do(work) {
      for (let signIns = 0; ; signIns += 1) {
        try {
          return await work();
        } catch (error) {
          if (!(error instanceof ConnectionNeeded) || signIns === maxSignIns) throw error;
        }
        await signIn();
      }
    },
    close: async () => {
      access.close();
      await database.close();
    },
  };
}
