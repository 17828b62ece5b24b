// The principal and the rights of a verified token. Pure.
import type { JWTPayload } from 'jose';
import type { Config } from '#libs/config/schema.js';
import { type Access, keylessPrincipal, type Scope } from '#libs/schemas/call-context.js';

export type JwtSettings = NonNullable<Config['auth']['jwt']>;
type ClaimSettings = Pick<JwtSettings, 'roles_claim' | 'scopes_claim' | 'admin_role' | 'admin_scope'>;

/** OpenID Connect allows up to 255 ASCII characters. */
const subjectForm = /^[\x21-\x7e]{1,255}$/;
const everyday = ['chat', 'tools', 'files'] as const satisfies readonly Scope[];

/**
 * A token and a key with the same owner name belong to the same principal. Undefined for a subject that cannot own
 * anything: data from before keys were enabled belongs to `local`, which no token may access.
 */
export function principalOf({ sub }: JWTPayload): string | undefined {
  return typeof sub === 'string' && subjectForm.test(sub) && sub !== keylessPrincipal ? sub : undefined;
}

export function accessOf(claims: JWTPayload, settings: ClaimSettings): Access {
  const roles = [...new Set(textsOf(claimAt(claims, settings.roles_claim ?? 'roles')))].sort();
  return { roles, scopes: scopesOf(claims, roles, settings), tools: {}, limits: {} };
}

/** The scopes of ours that the token names, else all except `admin`, which only the configured role or scope grants. */
function scopesOf(claims: JWTPayload, roles: readonly string[], settings: ClaimSettings): Scope[] {
  const { admin_role: adminRole, admin_scope: adminScope } = settings;
  const claimed = textsOf(claimAt(claims, settings.scopes_claim ?? 'scope'));
  const scopes: Scope[] = everyday.filter((scope) => claimed.includes(scope));
  if (adminScope !== undefined && claimed.includes(adminScope)) scopes.push('admin');
  if (scopes.length === 0) scopes.push(...everyday);
  if (adminRole !== undefined && roles.includes(adminRole) && !scopes.includes('admin')) scopes.push('admin');
  return scopes;
}

/** The claim by its full name (`https://example.com/roles`), else by its path (`realm_access.roles`). */
function claimAt(claims: JWTPayload, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name];
  let here: unknown = claims;
  for (const part of name.split('.')) {
    if (typeof here !== 'object' || here === null || !Object.hasOwn(here, part)) return undefined;
    here = (here as Record<string, unknown>)[part];
  }
  return here;
}

function textsOf(claim: unknown): string[] {
  if (typeof claim === 'string') return claim.split(' ').filter((text) => text !== '');
  return Array.isArray(claim) ? claim.filter((text) => typeof text === 'string') : [];
}
