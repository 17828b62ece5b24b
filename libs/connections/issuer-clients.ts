// Which client the gateway is at an issuer: the configured one, else the address of its metadata document, else one that it
// registers, which is kept for all sign-ins there.
import { assertSecureTokenEndpoint, type OAuthClientMetadata, registerClient } from '@modelcontextprotocol/client';
import { isLoopback } from '#libs/config/check-config.js';
import type { Database } from '#libs/postgres/open-database.js';
import {
  configuredClient,
  type ConnectedServer,
  type FoundIssuer,
  type IssuerClient,
  ofIssuer,
  unusable,
} from './issuer.js';
import type { IssuerFetch } from './issuer-fetch.js';
import type { Vault } from './vault.js';

export const clientDocumentPath = '/.well-known/signalbox-client.json';
const callbackPath = '/connections/callback';

export const redirectUriOf = (publicUrl: string): string => `${publicUrl}${callbackPath}`;

/** The metadata document, at the address that is the client's id. */
export function clientDocument(publicUrl: string): OAuthClientMetadata & { client_id: string } {
  return {
    client_id: `${publicUrl}${clientDocumentPath}`,
    ...clientMetadata(publicUrl),
    token_endpoint_auth_method: 'none',
  };
}

function clientMetadata(publicUrl: string): OAuthClientMetadata {
  return {
    client_name: 'Signalbox',
    client_uri: publicUrl,
    redirect_uris: [redirectUriOf(publicUrl)],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: isLoopback(new URL(publicUrl).hostname) ? 'native' : 'web',
  };
}

const find = `/* connection-clients.find */ select sealed from connection_clients
  where issuer = $1 and redirect_uri = $2 and (expires_at is null or expires_at > clock_timestamp())`;

/** The first of two registrations at the same time is kept. */
const keep = `/* connection-clients.keep */ insert into connection_clients (issuer, redirect_uri, sealed, expires_at)
  values ($1, $2, $3, to_timestamp($4::float8))
  on conflict (issuer, redirect_uri) do update set sealed = excluded.sealed, expires_at = excluded.expires_at
  where connection_clients.expires_at <= clock_timestamp()`;

const forget = `/* connection-clients.forget */ delete from connection_clients where issuer = $1 and redirect_uri = $2`;

/** The year 10000: who says a later time means none, as with 0. */
const maxExpiresAt = 253_402_300_800;

/** Methods of a client to show that it is one, the best first. */
const methods = ['client_secret_basic', 'client_secret_post', 'none'];

export class IssuerClients {
  constructor(private readonly parts: { database: Pick<Database, 'query'>; vault: Vault; publicUrl: string }) {}

  /** @throws AppError tool_unavailable */
  async clientFor(
    server: ConnectedServer,
    { issuer, metadata }: FoundIssuer,
    { scope, fetch }: { scope: string | undefined; fetch: IssuerFetch },
  ): Promise<IssuerClient> {
    const { publicUrl } = this.parts;
    const configured = configuredClient(server);
    if (configured !== undefined) return configured;
    const readsDocuments = metadata?.client_id_metadata_document_supported === true;
    if (readsDocuments && isReachable(publicUrl)) return { client_id: clientDocument(publicUrl).client_id };
    const known = await this.registered(issuer);
    if (known !== undefined) return known;
    if (metadata !== undefined && metadata.registration_endpoint === undefined) {
      throw unusable(server, 'it registers no clients: give it auth.client_id');
    }
    const supported = metadata?.token_endpoint_auth_methods_supported;
    const method = supported && methods.find((each) => supported.includes(each));
    const clientMetadata_ = {
      ...clientMetadata(publicUrl),
      ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
    };
    const made = await ofIssuer(server, () => {
      assertSecureTokenEndpoint(metadata?.registration_endpoint ?? issuer);
      const given = {
        metadata,
        clientMetadata: clientMetadata_,
        fetchFn: fetch,
        ...(scope === undefined ? {} : { scope }),
      };
      return registerClient(issuer, given);
    });
    const { client_id, client_secret, client_secret_expires_at: expiresAt = 0, token_endpoint_auth_method } = made;
    const client = { client_id, client_secret, token_endpoint_auth_method };
    const sealed = this.parts.vault.seal(client, ownerOf(issuer));
    await this.parts.database.query(keep, [
      issuer,
      redirectUriOf(publicUrl),
      sealed,
      expiresAt > 0 && expiresAt < maxExpiresAt ? expiresAt : null,
    ]);
    return (await this.registered(issuer)) ?? client;
  }

  /** The issuer no longer knows the client. */
  async forget(issuer: string): Promise<void> {
    await this.parts.database.query(forget, [issuer, redirectUriOf(this.parts.publicUrl)]);
  }

  private async registered(issuer: string): Promise<IssuerClient | undefined> {
    const [row] = await this.parts.database.query<{ sealed: string }>(find, [
      issuer,
      redirectUriOf(this.parts.publicUrl),
    ]);
    return row && (this.parts.vault.open(row.sealed, ownerOf(issuer)) as IssuerClient);
  }
}

const ownerOf = (issuer: string) => ['client', issuer];

/** Whether an issuer could fetch a document there. */
const isReachable = (publicUrl: string): boolean => {
  const { protocol, hostname } = new URL(publicUrl);
  return protocol === 'https:' || isLoopback(hostname);
};
