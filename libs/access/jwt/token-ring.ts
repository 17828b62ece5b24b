// Verifies tokens of the configured issuer (JWTs with asymmetric signatures) and remembers each by its hash for at most a
// minute, so that most requests cost only a hash and a map lookup. No part of a token is stored or logged.
import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { Logger } from '#libs/logging/logger.js';
import type { Access } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Caller, SignIn } from '../access.js';
import type { SignInFailure } from '../key-store.js';
import { type IssuerKeys, openIssuerKeys } from './issuer-keys.js';
import { accessOf, type JwtSettings, principalOf } from './read-claims.js';

/** Excludes `none` and algorithms with shared secrets. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
/** Issuers sign other things with the same keys, such as logout tokens. */
const types = new Set(['jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']);
const toleranceSeconds = 30;
const rememberMs = 60_000;
/** Keys are refreshed this often, so that keys withdrawn by the issuer stop working. */
const refreshMs = 10 * 60_000;
const maxTokens = 10_000;
const maxAccesses = 1_000;
/** Matches unsigned tokens too, so that they are refused as tokens. */
const form = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

export interface TokenRingParts {
  settings: JwtSettings;
  /**
   * Audiences besides the configured ones: addresses of this gateway, to which an issuer binds tokens (RFC 8707), with the toolset that
   * an address is of.
   */
  resources?: () => ReadonlyMap<string, string | undefined>;
  /** A token was verified. Must not throw. */
  onVerified?: ((caller: Caller, token: string) => void) | undefined;
  logger: Logger;
}

interface Remembered {
  signIn: SignIn;
  /** Steady clock, ms. Afterwards the token is verified again. */
  until: number;
}

export class TokenRing {
  private readonly tokens = new Map<string, Remembered>();
  /** Equal accesses share one object, because derived data is cached per object. */
  private readonly accesses = new Map<string, Access>();
  private readonly keys: IssuerKeys;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: TokenRingParts) {
    const { settings, logger } = parts;
    this.keys = openIssuerKeys({ issuer: settings.issuer, jwksUrl: settings.jwks_url, logger });
  }

  /**
   * Fetches the issuer's keys before the first token arrives, and regularly after that: withdrawn keys stop working,
   * and an issuer that cannot be read is noticed while nobody signs in. A failure is logged.
   */
  start(): void {
    const read = () => void this.keys.find.reload().catch(() => undefined);
    read();
    this.timer = setInterval(read, refreshMs).unref();
  }

  /** When the issuer last gave its keys, epoch ms; 0: never. */
  get keysReadAt(): number {
    return this.keys.lastReadAt();
  }

  close(): void {
    clearInterval(this.timer);
  }

  /** Whoever shows a token from now on is noticed by `onVerified` again. */
  verifyAgain(): void {
    this.tokens.clear();
  }

  hasForm(text: string): boolean {
    return form.test(text);
  }

  /** The token was valid before and may still be. */
  isRemembered(token: string): boolean {
    return this.tokens.has(idOf(token));
  }

  /** Synchronous for a remembered token. @throws AppError issuer_unavailable */
  signIn(token: string): SignIn | Promise<SignIn> {
    const id = idOf(token);
    const known = this.tokens.get(id);
    return known !== undefined && performance.now() < known.until ? known.signIn : this.verify(token, id);
  }

  private async verify(token: string, id: string): Promise<SignIn> {
    const { settings } = this.parts;
    const resources = this.parts.resources?.() ?? new Map<string, undefined>();
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.keys.find, {
        issuer: settings.issuer,
        audience: [settings.audience, ...resources.keys()].flat(),
        algorithms,
        clockTolerance: toleranceSeconds,
        requiredClaims: ['sub', 'exp'],
      });
      const principal = principalOf(payload);
      const { typ } = protectedHeader;
      if (principal === undefined || (typ !== undefined && !types.has(typ.toLowerCase()))) return this.refuse(id);
      const toolsets = onlySetsOf(payload, [settings.audience].flat(), resources);
      const access = this.accessOf(payload);
      const caller = { principal, keyId: undefined, access, parentCall: undefined, ...(toolsets && { toolsets }) };
      const signIn = { caller };
      // Moves the token behind those verified earlier: the oldest is dropped first.
      this.tokens.delete(id);
      if (this.tokens.size >= maxTokens) this.tokens.delete(this.tokens.keys().next().value!);
      const leftMs = (payload.exp! + toleranceSeconds) * 1_000 - Date.now();
      this.tokens.set(id, { signIn, until: performance.now() + Math.min(rememberMs, leftMs) });
      this.parts.onVerified?.(caller, token);
      return signIn;
    } catch (error) {
      if (error instanceof AppError) throw error;
      return this.refuse(id, error);
    }
  }

  private refuse(id: string, error?: unknown): SignInFailure {
    this.tokens.delete(id);
    if (error !== undefined && !(error instanceof errors.JOSEError)) {
      this.parts.logger.warn({ error }, 'a token could not be verified');
    }
    if (!(error instanceof errors.JWTExpired || error instanceof errors.JWTClaimValidationFailed)) {
      return { reason: 'token_invalid' };
    }
    // The signature is valid, so the principal can be named.
    const reason = error instanceof errors.JWTExpired ? 'token_expired' : (reasons[error.claim] ?? 'token_invalid');
    return { reason, principal: principalOf(error.payload) };
  }

  private accessOf(payload: JWTPayload): Access {
    const access = accessOf(payload, this.parts.settings);
    const key = JSON.stringify([access.roles, access.scopes]);
    const known = this.accesses.get(key);
    if (known !== undefined) return known;
    if (this.accesses.size >= maxAccesses) this.accesses.clear();
    this.accesses.set(key, access);
    return access;
  }
}

/** The sets to whose addresses alone a verified token is bound; undefined if it is for the whole gateway. */
function onlySetsOf(
  { aud = [] }: JWTPayload,
  audiences: readonly string[],
  resources: ReadonlyMap<string, string | undefined>,
): string[] | undefined {
  const given = [aud].flat();
  const isWhole = (each: string) =>
    audiences.includes(each) || (resources.has(each) && resources.get(each) === undefined);
  return given.some(isWhole) ? undefined : given.flatMap((each) => resources.get(each) ?? []);
}

const reasons: Partial<Record<string, SignInFailure['reason']>> = {
  aud: 'token_audience',
  iss: 'token_issuer',
  nbf: 'token_not_yet_valid',
};

const idOf = (token: string): string => hash('sha256', token, 'base64url');
