// What a connection keeps in the vault, and whose it is.
import { decodeJwt } from 'jose';
import type { OAuthTokens } from '@modelcontextprotocol/client';
import type { ConnectionKey } from './connection-store.js';
import type { Issuer, IssuerClient } from './issuer.js';
import type { SealedFor } from './vault.js';

export interface OAuthSecrets extends Issuer {
  kind: 'oauth';
  client: IssuerClient;
  accessToken: string;
  refreshToken?: string | undefined;
  /** How long the token was good for when it was issued. */
  lifeMs?: number | undefined;
}

export interface HeaderSecrets {
  kind: 'headers';
  headers: Record<string, string>;
}

export type ConnectionSecrets = OAuthSecrets | HeaderSecrets;

const maxLifeSeconds = 10 * 365 * 86_400;

export const connectionOwner = ({ principal, server }: ConnectionKey, issuer: string): SealedFor => [
  'connection',
  principal,
  server,
  issuer,
];

export const scopesOf = (scope: string | undefined): string[] => (scope ?? '').split(' ').filter((each) => each !== '');

/** Undefined if the issuer does not say it, or says what cannot be. */
export function lifeMsOf({ expires_in: seconds = 0 }: OAuthTokens): number | undefined {
  return seconds > 0 && seconds < maxLifeSeconds ? seconds * 1_000 : undefined;
}

/** What is kept of an issuer's answer. */
export function secretsOf(asked: Issuer & { client: IssuerClient }, tokens: OAuthTokens): OAuthSecrets {
  const { issuer, metadata, resource, client } = asked;
  const { access_token: accessToken, refresh_token: refreshToken } = tokens;
  return { kind: 'oauth', issuer, metadata, resource, client, accessToken, refreshToken, lifeMs: lifeMsOf(tokens) };
}

const maxAccountLength = 200;

/** The name of the account, for people: the issuer has sent the token itself. */
export function accountOf({ id_token: token }: OAuthTokens): string | undefined {
  if (token === undefined) return undefined;
  try {
    const { email, preferred_username: username, sub } = decodeJwt(token);
    const name = [email, username, sub].find((each) => typeof each === 'string');
    return name?.slice(0, maxAccountLength);
  } catch {
    return undefined;
  }
}
