// What an authorization server that a test controls gives for tokens of users: others by exchange (RFC 8693), an ID-JAG, and tokens for that.
import { randomBytes } from 'node:crypto';
import { decodeJwt } from 'jose';

export interface TokenGrant {
  user: string;
  scope: string;
  client: string;
  resource: string;
}

export interface TokenGranting {
  issuer: string;
  refusedAudience?: string;
  refusedScope?: string;
  issue: (grant: TokenGrant, refreshable: boolean) => object;
  keep: (secret: string) => void;
}

type Answer = [status: number, body: object];

const tokenType = 'urn:ietf:params:oauth:token-type:';
export const exchangeGrant = 'urn:ietf:params:oauth:grant-type:token-exchange';
export const assertionGrant = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

export class TokenGrants {
  /** By the assertion. */
  private readonly jags = new Map<string, TokenGrant>();

  exchange(form: URLSearchParams, client: string, granting: TokenGranting): Answer {
    const { issuer, refusedAudience, refusedScope, issue, keep } = granting;
    const { iss, sub = '', exp = 0 } = decodeJwt(form.get('subject_token') ?? '');
    if (iss !== issuer || exp * 1_000 < Date.now()) return [400, { error: 'invalid_grant' }];
    const audience = form.get('audience');
    if (audience !== null && audience === refusedAudience) return [400, { error: 'invalid_target' }];
    const scopes = (form.get('scope') ?? '').split(' ');
    if (refusedScope !== undefined && scopes.includes(refusedScope)) return [400, { error: 'invalid_scope' }];
    const grant = { user: sub, scope: form.get('scope') ?? '', client, resource: form.get('resource') ?? '' };
    const issued_token_type = form.get('requested_token_type');
    if (issued_token_type !== `${tokenType}id-jag`) return [200, { ...issue(grant, true), issued_token_type }];
    const fits = audience === issuer && form.get('subject_token_type') === `${tokenType}id_token`;
    if (!fits) return [400, { error: 'invalid_request' }];
    const jag = `jag-${randomBytes(18).toString('base64url')}`;
    keep(jag);
    this.jags.set(jag, { ...grant, client: `${client}-there` });
    return [200, { issued_token_type, access_token: jag, token_type: 'N_A', expires_in: 300 }];
  }

  redeem(form: URLSearchParams, client: string, { issue }: Pick<TokenGranting, 'issue'>): Answer {
    const jag = this.jags.get(form.get('assertion') ?? '');
    return jag?.client === client ? [200, issue(jag, false)] : [400, { error: 'invalid_grant' }];
  }
}

/** What the issuer says of the user, signed by nobody. */
export const unsigned = (claims: object): string => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'none' })}.${part(claims)}.`;
};
