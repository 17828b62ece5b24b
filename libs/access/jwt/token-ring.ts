// Verifies tokens of the configured issuer (JWTs with asymmetric signatures) and remembers each by its hash for at most a
// minute, so that most requests cost only a hash and a map lookup. No part of a token is stored or logged.
import { hash } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { Logger } from '#libs/logging/logger.js';
import type { Access } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { SignInFailure } from '../key-store.js';
import { IssuerKeys, refreshMs } from './issuer-keys.js';
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
const maxTokens = 10_000;
const maxAccesses = 1_000;
const maxUnderWay = 256;
/** Matches unsigned tokens too, so that they are refused as tokens. */
const form = /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/;

export interface TokenCaller {
  principal: string;
  access: Access;
}

export type TokenSignIn = { token: TokenCaller } | SignInFailure;

export interface TokenRingParts {
  settings: JwtSettings;
  logger: Logger;
  /** Epoch ms. */
  now?: () => number;
  keys?: IssuerKeys;
}

interface Remembered {
  signIn: { token: TokenCaller };
  /** Epoch ms. Outside this period the token is verified again. */
  since: number;
  until: number;
}

export class TokenRing {
  private readonly tokens = new Map<string, Remembered>();
  private readonly underWay = new Map<string, Promise<TokenSignIn>>();
  /** Equal accesses share one object, because derived data is cached per object. */
  private readonly accesses = new Map<string, Access>();
  private readonly keys: IssuerKeys;
  private readonly now: () => number;
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly parts: TokenRingParts) {
    const { settings, logger } = parts;
    this.now = parts.now ?? Date.now;
    this.keys = parts.keys ?? new IssuerKeys({ issuer: settings.issuer, jwksUrl: settings.jwks_url, logger });
  }

  /**
   * Fetches the issuer's keys before the first token arrives, and again and again, so that an issuer that cannot be read is
   * noticed while nobody signs in. A failure is logged.
   */
  start(): void {
    const read = () => void this.keys.read().catch(() => undefined);
    read();
    this.timer = setInterval(read, refreshMs);
    this.timer.unref();
  }

  /** When the issuer last gave its keys, epoch ms; 0: never. */
  get keysReadAt(): number {
    return this.keys.lastReadAt;
  }

  close(): void {
    clearInterval(this.timer);
  }

  hasForm(text: string): boolean {
    return form.test(text);
  }

  /** It was valid before and may still be. */
  isRemembered(token: string): boolean {
    return this.tokens.has(idOf(token));
  }

  /** Synchronous for a remembered token. @throws AppError issuer_unavailable */
  signIn(token: string): TokenSignIn | Promise<TokenSignIn> {
    const id = idOf(token);
    const known = this.tokens.get(id);
    if (known !== undefined) {
      const now = this.now();
      if (known.since <= now && now < known.until) return known.signIn;
    }
    const joined = this.underWay.get(id);
    if (joined !== undefined) return joined;
    if (this.underWay.size >= maxUnderWay) {
      throw new AppError('issuer_unavailable', 'Too many tokens are being verified', { retryAfterSeconds: 1 });
    }
    const verifying = this.verify(token, id).finally(() => this.underWay.delete(id));
    this.underWay.set(id, verifying);
    return verifying;
  }

  private async verify(token: string, id: string): Promise<TokenSignIn> {
    const since = this.now();
    const { issuer, audience } = this.parts.settings;
    try {
      const { payload, protectedHeader } = await jwtVerify(token, (header, jws) => this.keys.find(header, jws), {
        issuer,
        audience,
        algorithms,
        clockTolerance: toleranceSeconds,
        requiredClaims: ['sub', 'exp'],
        currentDate: new Date(since),
      });
      const principal = principalOf(payload);
      const { typ } = protectedHeader;
      if (principal === undefined || (typ !== undefined && !types.has(typ.toLowerCase()))) return this.refuse(id);
      const signIn = { token: { principal, access: this.accessOf(payload) } };
      this.remember(id, { signIn, since, until: Math.min(since + rememberMs, endOf(payload)) });
      return signIn;
    } catch (error) {
      if (error instanceof AppError) throw error;
      return this.refuse(id, error);
    }
  }

  private remember(id: string, remembered: Remembered): void {
    // Moves the token behind those verified earlier: the oldest is dropped first.
    this.tokens.delete(id);
    if (this.tokens.size >= maxTokens) this.tokens.delete(this.tokens.keys().next().value!);
    this.tokens.set(id, remembered);
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
    const principal = principalOf(error.payload);
    const about = principal === undefined ? {} : { principal };
    if (error instanceof errors.JWTExpired) return { reason: 'token_expired', ...about };
    const reason = reasons[error.claim] ?? 'token_invalid';
    return { reason, ...about };
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

const reasons: Partial<Record<string, SignInFailure['reason']>> = {
  aud: 'token_audience',
  iss: 'token_issuer',
  nbf: 'token_not_yet_valid',
};

const idOf = (token: string): string => hash('sha256', token, 'base64url');

const endOf = ({ exp }: JWTPayload): number => (exp! + toleranceSeconds) * 1_000;
