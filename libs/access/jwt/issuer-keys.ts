// The public keys of an OIDC issuer, found by discovery or at a configured address. They are fetched again when a token
// names an unknown key. While the issuer is unavailable, the known keys stay valid. Its answers are bounded in size and
// time, and redirects are not followed.
import { createLocalJWKSet, errors, type FlattenedJWSInput, type JSONWebKeySet, type JWSHeaderParameters } from 'jose';
import { whyUnreachable } from '#libs/http-client/why-unreachable.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';

const answerMs = 5_000;
const maxAnswerBytes = 1024 * 1024;
/** Refreshed so often, so that keys withdrawn by the issuer stop working. */
export const refreshMs = 10 * 60_000;
/** How long keys are trusted while the issuer is unavailable. */
const trustMs = 24 * 3_600_000;
/** Keeps tokens with invented key ids from causing a request to the issuer each. */
const askAgainMs = 10_000;
const afterFailureMs = 2_000;

export interface IssuerKeysParts {
  /** The `iss` claim of its tokens. */
  issuer: string;
  /** Without it, the address comes from the issuer's discovery document. */
  jwksUrl?: string | undefined;
  logger: Logger;
  /** A monotonic clock, in milliseconds. */
  now?: () => number;
}

export class IssuerKeys {
  private keys: ReturnType<typeof createLocalJWKSet> | undefined;
  private readAt = -Infinity;
  private lastRead = 0;
  private failedAt = -Infinity;
  private reading: Promise<void> | undefined;
  private readonly now: () => number;

  constructor(private readonly parts: IssuerKeysParts) {
    this.now = parts.now ?? (() => performance.now());
  }

  /** When the issuer last gave its keys, epoch ms; 0: never. */
  get lastReadAt(): number {
    return this.lastRead;
  }

  /** The key that signed a token. @throws AppError issuer_unavailable, JOSEError if the issuer has no such key */
  async find(header: JWSHeaderParameters, token: FlattenedJWSInput) {
    const age = this.now() - this.readAt;
    if (this.keys === undefined || age > trustMs) await this.read();
    else if (age > refreshMs) this.read().catch(() => undefined);
    try {
      return await this.keys!(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || this.now() - this.readAt < askAgainMs) throw error;
      await this.read();
      return this.keys!(header, token);
    }
  }

  /** Concurrent callers share one request. @throws AppError issuer_unavailable */
  read(): Promise<void> {
    if (this.reading !== undefined) return this.reading;
    if (this.now() - this.failedAt < afterFailureMs) return Promise.reject(issuerAway());
    this.reading = this.readKeys().finally(() => (this.reading = undefined));
    return this.reading;
  }

  private async readKeys(): Promise<void> {
    const signal = AbortSignal.timeout(answerMs);
    try {
      const set = await fetchJson(await this.address(signal), signal);
      this.keys = createLocalJWKSet(set as JSONWebKeySet);
      this.readAt = this.now();
      this.lastRead = Date.now();
      this.failedAt = -Infinity;
    } catch (error) {
      // Logged once per outage.
      const { issuer, logger } = this.parts;
      const metadata = { issuer };
      if (this.failedAt === -Infinity) logger.warn({ error, metadata }, 'the keys of the OIDC issuer cannot be read');
      this.failedAt = this.now();
      throw issuerAway();
    }
  }

  private async address(signal: AbortSignal): Promise<string> {
    const { issuer, jwksUrl } = this.parts;
    if (jwksUrl !== undefined) return jwksUrl;
    const discovery = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const found = (await fetchJson(discovery, signal)) as { issuer?: unknown; jwks_uri?: unknown } | null;
    if (found?.issuer !== issuer) throw new Error(`${discovery} describes another issuer`);
    const address = found.jwks_uri;
    if (typeof address !== 'string' || !URL.canParse(address)) throw new Error(`${discovery} has no jwks_uri`);
    if (/^https:/i.test(issuer) && !/^https:/i.test(address)) throw new Error('jwks_uri is not https');
    return address;
  }
}

async function fetchJson(url: string, signal: AbortSignal): Promise<unknown> {
  const headers = { accept: 'application/json' };
  const answer = await fetch(url, { headers, redirect: 'error', signal }).catch((error: unknown) => {
    throw new Error(`${url} cannot be reached: ${whyUnreachable(error)}`, { cause: error });
  });
  if (answer.status !== 200 || answer.body === null) {
    await answer.body?.cancel();
    throw new Error(`${url} answered ${answer.status}`);
  }
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of answer.body as AsyncIterable<Uint8Array>) {
    size += part.length;
    if (size > maxAnswerBytes) throw new Error(`${url} sent more than ${maxAnswerBytes} bytes`);
    parts.push(part);
  }
  return JSON.parse(Buffer.concat(parts).toString()) as unknown;
}

const issuerAway = () =>
  new AppError('issuer_unavailable', 'The token issuer is not available at the moment', { retryAfterSeconds: 2 });
