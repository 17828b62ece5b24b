// The public keys of an OIDC issuer, found by discovery or at a configured address. jose keeps them: it asks again when a
// token names an unknown key, and trusts the known ones while the issuer is unavailable. The issuer's answers are bounded in
// size and time, redirects are not followed, and every failure to read the keys is `issuer_unavailable`.
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  type ExportedJWKSCache,
  type JSONWebKeySet,
  jwksCache,
  type JWKSCacheInput,
} from 'jose';
import { whyUnreachable } from '#libs/http-client/why-unreachable.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';

const answerMs = 5_000;
const maxAnswerBytes = 1024 * 1024;
const trustMs = 24 * 3_600_000;
/** Tokens with invented key ids do not cause a request to the issuer each. */
const askAgainMs = 10_000;
const afterFailureMs = 2_000;

export interface IssuerKeysParts {
  issuer: string;
  /** Default: the address from the issuer's discovery document. */
  jwksUrl?: string | undefined;
  logger: Logger;
}

export interface IssuerKeys {
  /** For `jwtVerify`, which throws issuer_unavailable if the key cannot be read. */
  find: ReturnType<typeof createRemoteJWKSet>;
  /** When the issuer last gave its keys, epoch ms; 0: never. */
  lastReadAt(): number;
}

export function openIssuerKeys({ issuer, jwksUrl, logger }: IssuerKeysParts): IssuerKeys {
  const read: JWKSCacheInput = {};
  let failedAt = -Infinity;
  const fetchKeys = async (url: string, { signal }: { signal: AbortSignal }): Promise<Response> => {
    if (performance.now() - failedAt < afterFailureMs) throw issuerAway();
    try {
      const address = jwksUrl === undefined ? await keysAddress(url, issuer, signal) : url;
      const set = await fetchJson(address, signal);
      createLocalJWKSet(set as JSONWebKeySet);
      failedAt = -Infinity;
      return Response.json(set);
    } catch (error) {
      // Logged once per outage.
      const metadata = { issuer };
      if (failedAt === -Infinity) logger.warn({ error, metadata }, 'the keys of the OIDC issuer cannot be read');
      failedAt = performance.now();
      throw issuerAway();
    }
  };
  const find = createRemoteJWKSet(new URL(jwksUrl ?? `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`), {
    timeoutDuration: answerMs,
    cooldownDuration: askAgainMs,
    cacheMaxAge: trustMs,
    [customFetch]: fetchKeys,
    [jwksCache]: read,
  });
  return { find, lastReadAt: () => (read as Partial<ExportedJWKSCache>).uat ?? 0 };
}

async function keysAddress(discovery: string, issuer: string, signal: AbortSignal): Promise<string> {
  const found = (await fetchJson(discovery, signal)) as { issuer?: unknown; jwks_uri?: unknown } | null;
  if (found?.issuer !== issuer) throw new Error(`${discovery} describes another issuer`);
  const address = found.jwks_uri;
  if (typeof address !== 'string' || !URL.canParse(address)) throw new Error(`${discovery} has no jwks_uri`);
  if (/^https:/i.test(issuer) && !/^https:/i.test(address)) throw new Error('jwks_uri is not https');
  return address;
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
