// Call tokens as workers make them and gateways take them. A token is worth no more than the key that its call was made with
// is now, and opens chats without server tools only.
import type { Access } from '#libs/schemas/call-context.js';
import { keylessPrincipal } from '#libs/schemas/call-context.js';
import type { SignIn } from './access.js';
import { type CallTokenClaims, signCallToken, signingKeyOf, verifiedClaims } from './call-token.js';
import type { CallTokenKeys } from './call-token-keys.js';
import type { KeyRing } from './key-ring.js';
import type { SignInFailure } from './key-store.js';

/** For clocks that differ, and for a call that still works when its time is over. */
const toleranceMs = 30_000;

export class CallTokenMint {
  constructor(private readonly keys: Pick<CallTokenKeys, 'toSign'>) {}

  /** @throws AppError store_unavailable */
  async mint(call: Omit<CallTokenClaims, 'expiresAt'>, lifeMs: number): Promise<string> {
    return signCallToken({ ...call, expiresAt: Date.now() + lifeMs }, await this.keys.toSign());
  }
}

/** The rights of a user of a token issuer: the gateway no longer knows the user's own token. */
const userAccess: Access = { roles: [], scopes: ['chat'], tools: {}, limits: {} };

export class CallTokenRing {
  constructor(
    private readonly parts: {
      keys: Pick<CallTokenKeys, 'find' | 'has'>;
      ring: Pick<KeyRing, 'inForce'>;
      /** A token issuer is configured: callers may have no key. */
      hasIssuer: boolean;
    },
  ) {}

  /** For gateways where keys are needed. @throws AppError store_unavailable */
  async signIn(token: string): Promise<SignIn> {
    const claims = await this.verify(token);
    if ('reason' in claims) return claims;
    const { principal, keyId, callId: parentCall } = claims;
    if (keyId === undefined) {
      // The call began before the first key was made, or while there was an issuer.
      if (principal === keylessPrincipal || !this.parts.hasIssuer) return { reason: 'token_invalid', principal };
      return { caller: { principal, keyId: undefined, access: userAccess, parentCall } };
    }
    const signIn = await this.parts.ring.inForce(keyId);
    if ('reason' in signIn) return { reason: signIn.reason, key: { id: keyId, owner: principal } };
    return { caller: { ...signIn.caller, parentCall } };
  }

  /** Whether the token's signing key is known here. */
  isRemembered(token: string): boolean {
    return this.parts.keys.has(signingKeyOf(token) ?? '');
  }

  /** Checks the token's signature and time. @throws AppError store_unavailable */
  async verify(token: string): Promise<CallTokenClaims | SignInFailure> {
    const id = signingKeyOf(token);
    const key = id === undefined ? undefined : await this.parts.keys.find(id);
    const claims = key && verifiedClaims(token, key);
    if (claims === undefined) return { reason: 'token_invalid' };
    if (Date.now() > claims.expiresAt + toleranceMs) return { reason: 'token_expired', principal: claims.principal };
    return claims;
  }
}
