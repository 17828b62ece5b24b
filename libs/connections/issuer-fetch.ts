// The `fetch` that the SDK's OAuth functions get. An operator's own addresses may be private; addresses that a server or an issuer
// names may not, unless they have the host of an operator's one. Follows no redirect; bounds size and time.
import { AddressGuard, hostOf } from '#libs/http-client/address-guard.js';
import { HttpClient } from '#libs/http-client/http-client.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject, parseJson } from '#libs/schemas/json.js';

export const issuerMs = 10_000;
const maxAnswerBytes = 1024 * 1024;
const bodiless = new Set([101, 204, 205, 304]);

export type IssuerFetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** No answer, so nothing is known about what was asked. */
export class IssuerAway extends AppError {
  constructor(message: string, cause?: unknown) {
    super('tool_unavailable', message, { cause });
  }
}

/**
 * @param own Addresses that the operator has configured
 * @param allow Hosts, addresses and CIDR ranges that are allowed besides public ones
 */
export function openIssuerFetch(own: readonly string[], allow: readonly string[], signal: AbortSignal): IssuerFetch {
  const guard = new AddressGuard([...own.map((url) => hostOf(new URL(url))), ...allow]);
  return async (input, init = {}) => {
    const url = new URL(input);
    if (url.protocol !== 'https:' && url.protocol !== 'http:')
      throw new IssuerAway('An issuer has an address that is not HTTP');
    const client = new HttpClient({
      baseUrl: url.origin,
      headers: { 'user-agent': 'signalbox', 'accept-encoding': 'identity' },
      timeoutMs: { connect: 0, first_byte: Infinity, idle: Infinity },
      keepAliveMs: 1_000,
      maxExchanges: 1,
      maxBytes: maxAnswerBytes,
      opensAt: 'headers',
      guard,
      toError: ({ kind, what, cause }) =>
        kind === 'cancelled' ? (cause as Error) : new IssuerAway(`The issuer at ${hostOf(url)} ${what}`, cause),
    });
    try {
      const answer = await client.open(
        {
          method: init.method ?? 'GET',
          path: url.pathname + url.search,
          headers: Object.fromEntries(new Headers(init.headers)),
          body:
            init.body === undefined || init.body === null ? undefined : String(init.body as string | URLSearchParams),
        },
        { signal, deadline: steadyNow() + issuerMs },
      );
      const { status } = answer;
      if (status >= 300 && status < 400)
        throw new IssuerAway(`The issuer at ${hostOf(url)} redirects, which is not followed`);
      if (status < 200 || status > 599) throw new IssuerAway(`The issuer at ${hostOf(url)} sent no HTTP status`);
      const parts: Uint8Array[] = [];
      await answer.read((bytes) => void parts.push(bytes));
      const headers = Object.entries(answer.headers).flatMap(([name, value]) =>
        [value].flat().flatMap((each): [string, string][] => (each === undefined ? [] : [[name, each]])),
      );
      return new Response(bodiless.has(status) ? null : withoutNulls(Buffer.concat(parts)), { status, headers });
    } finally {
      await client.close().catch(() => undefined);
    }
  };
}

/** Many issuers write null for a member that they leave out, which the SDK's schemas refuse: a refresh token would be used up for nothing. */
function withoutNulls(body: Buffer): Buffer | string {
  const answer = parseJson(body.toString());
  if (!isJsonObject(answer)) return body;
  return JSON.stringify(Object.fromEntries(Object.entries(answer).filter(([, value]) => value !== null)));
}
