// The token of a caller, exchanged for one of a tool server: by RFC 8693 at the issuer of the caller's token, or by an ID-JAG of that
// issuer, which the server's own issuer takes (RFC 7523). Stores nothing.
import { decodeJwt } from 'jose';
import {
  discoverAuthorizationServerMetadata,
  fetchToken,
  type OAuthClientProvider,
  type OAuthTokens,
  resourceUrlFromServerUrl,
} from '@modelcontextprotocol/client';
import {
  askForChallenge,
  configuredClient,
  type ConnectedServer,
  findIssuer,
  type Issuer,
  type IssuerClient,
  ofIssuer,
  unusable,
} from './issuer.js';
import { scopesOf } from './connection-secrets.js';
import type { IssuerFetch } from './issuer-fetch.js';

/** An issuer's tokens, and the client that they were issued to. */
export type IssuedTokens = Issuer & { client: IssuerClient; tokens: OAuthTokens };

const urn = 'urn:ietf:params:oauth';

/**
 * `auth.issuer` is the issuer of the caller's token.
 * @param more Scopes besides those that are asked for anyway
 * @throws AppError tool_unavailable, tool_denied, IssuerRefused
 */
export async function exchangedTokens(
  server: ConnectedServer,
  { callerToken, more }: { callerToken: string; more: readonly string[] },
  fetch: IssuerFetch,
): Promise<IssuedTokens> {
  const { audience, id_jag: isIdJag, issuer: address = '', scopes } = server.auth;
  const of = isIdJag === true ? await issuerOfServer(server, fetch) : undefined;
  const metadata = await ofIssuer(server, () => discoverAuthorizationServerMetadata(address, { fetchFn: fetch }));
  if (metadata === undefined) throw unusable(server, 'the issuer of users has no metadata');
  const resource = of?.resource ?? resourceUrlFromServerUrl(server.url).href;
  const client = configuredClient(server);
  const issuer: Issuer = { issuer: metadata.issuer, metadata, resource };
  const type = (name: string) => `${urn}:token-type:${name}`;
  const usual = scopes ?? scopesOf(of?.scope);
  const asked = [...new Set([...usual, ...more])].join(' ');
  const scope = asked === '' ? undefined : asked;
  const tokens = await granted(server, { ...issuer, client }, fetch, {
    grant_type: `${urn}:grant-type:token-exchange`,
    subject_token: callerToken,
    subject_token_type: type(isIdJag === true ? 'id_token' : 'access_token'),
    requested_token_type: type(isIdJag === true ? 'id-jag' : 'access_token'),
    audience: of?.issuer ?? audience,
    scope,
  });
  // An issuer that names no scopes has given those that were asked for.
  const named = (given: OAuthTokens) => (scope === undefined ? given : { ...given, scope: given.scope ?? scope });
  if (of === undefined) return shortened({ ...issuer, client: idOf(client), tokens: named(tokens) }, callerToken);
  const { server_client_id: ownId = '', server_client_secret: ownSecret } = server.auth;
  const ownClient = { client_id: ownId, ...(ownSecret === undefined ? {} : { client_secret: ownSecret }) };
  const own = await granted(server, { ...of, client: ownClient }, fetch, {
    grant_type: `${urn}:grant-type:jwt-bearer`,
    assertion: tokens.access_token,
  });
  return shortened({ ...of, client: idOf(ownClient), tokens: named(own) }, callerToken);
}

const issuerOfServer = async ({ name, url, auth }: ConnectedServer, fetch: IssuerFetch) => {
  const server = { name, url, auth: { ...auth, issuer: undefined } };
  return findIssuer(server, await askForChallenge(server, fetch), fetch);
};

/** The configuration has the secret. */
const idOf = (client: IssuerClient | undefined): IssuerClient => ({ client_id: client?.client_id ?? '' });

async function granted(
  server: ConnectedServer,
  { issuer, metadata, resource, client }: Issuer & { client: IssuerClient | undefined },
  fetchFn: IssuerFetch,
  grant: Record<string, string | undefined>,
): Promise<OAuthTokens> {
  const given = Object.entries(grant).filter((each): each is [string, string] => each[1] !== undefined);
  const provider: OAuthClientProvider = {
    redirectUrl: undefined,
    clientMetadata: { redirect_uris: [] },
    clientInformation: () => client && { ...client, issuer },
    prepareTokenRequest: () => new URLSearchParams(given),
    tokens: () => undefined,
    saveTokens: () => undefined,
    redirectToAuthorization: () => undefined,
    saveCodeVerifier: () => undefined,
    codeVerifier: () => '',
  };
  return ofIssuer(server, () => fetchToken(provider, issuer, { metadata, resource, fetchFn }));
}

/** The rights that a token gives end with it, and are not renewed without the next one. */
function shortened(issued: IssuedTokens, callerToken: string): IssuedTokens {
  const { refresh_token: _unused, ...tokens } = issued.tokens;
  const leftSeconds = Math.max(secondsLeft(callerToken), 0.001);
  const lifeSeconds = tokens.expires_in !== undefined && tokens.expires_in > 0 ? tokens.expires_in : Infinity;
  return { ...issued, tokens: { ...tokens, expires_in: Math.min(leftSeconds, lifeSeconds) } };
}

/** The token must have been verified. */
export const secondsLeft = (token: string): number => decodeJwt(token).exp! - Date.now() / 1_000;
