// What a connection keeps in the vault, and whose it is.
import { decodeJwt } from 'jose';
import type { OAuthTokens } from '@modelcontextprotocol/client';
import { storedText } from '#libs/postgres/stored-text.js';
import { AppError } from '#libs/schemas/errors.js';
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

const maxScopeLength = 8_192;

/** As much of what an issuer or a server says as can be stored. */
export const scopesOf = (scope: string | undefined): string[] => [
  ...new Set(storedText((scope ?? '').slice(0, maxScopeLength)).match(/\S+/g)),
];

/** Undefined if the issuer does not say it, or says what cannot be. */
export function lifeMsOf({ expires_in: seconds = 0 }: OAuthTokens): number | undefined {
  return seconds > 0 && seconds < maxLifeSeconds ? seconds * 1_000 : undefined;
}

/** What a header can carry. */
const tokenForm = /^[\x21-\x7e]{1,16384}$/;

/** What is kept of an issuer's answer. @throws AppError tool_unavailable for a token that no call could send */
export function secretsOf(asked: Issuer & { client: IssuerClient }, tokens: OAuthTokens): OAuthSecrets {
  const { issuer, metadata, resource, client } = asked;
  const { access_token: accessToken, refresh_token: refreshToken } = tokens;
  if (!tokenForm.test(accessToken))
    throw new AppError('tool_unavailable', 'The issuer sent a token that cannot be used');
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
