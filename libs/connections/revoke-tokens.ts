// Gives tokens back to the issuer that has issued them (RFC 7009), if it takes them back. One that does not answer keeps nobody up: the
// gateway has forgotten them.
import { assertSecureTokenEndpoint, selectClientAuthMethod } from '@modelcontextprotocol/client';
import type { OAuthSecrets } from './connection-secrets.js';
import type { IssuerFetch } from './issuer-fetch.js';

export async function revokeTokens(secrets: OAuthSecrets, fetch: IssuerFetch): Promise<void> {
  const { metadata, client, refreshToken, accessToken } = secrets;
  // OpenID Connect has no name for it.
  const endpoint = (metadata as { revocation_endpoint?: string } | undefined)?.revocation_endpoint;
  if (endpoint === undefined) return;
  const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' });
  const hint = refreshToken === undefined ? 'access_token' : 'refresh_token';
  const body = new URLSearchParams({ token: refreshToken ?? accessToken, token_type_hint: hint });
  const method = selectClientAuthMethod(client, metadata?.token_endpoint_auth_methods_supported ?? []);
  const { client_id: id, client_secret: secret = '' } = client;
  if (method === 'client_secret_basic') {
    headers.set('authorization', `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`);
  } else {
    body.set('client_id', id);
    if (method === 'client_secret_post') body.set('client_secret', secret);
  }
  try {
    await fetch(assertSecureTokenEndpoint(endpoint), { method: 'POST', headers, body });
  } catch {
    return;
  }
}
