// An HTTP request to the outside: the address is guarded, also of redirects, and the body is decompressed while it is read.
// The caller bounds time and size. Every connection ends with the call.
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { hostOf, type AddressGuard } from '#libs/http-client/address-guard.js';
import { HttpClient } from '#libs/http-client/http-client.js';
import type { HttpAnswer } from '#libs/http-client/outgoing.js';
import { streamOf } from '#libs/http-client/stream-of.js';
import { AppError } from '#libs/schemas/errors.js';

export interface OutgoingRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string | undefined;
}

export interface Incoming {
  /** The URL after redirects. */
  url: string;
  status: number;
  headers: Record<string, string>;
  body: Readable;
  close(): void;
}

const maxRedirects = 5;
/** Headers of the connection are set here, not by the caller. */
const ownHeaders =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|keep-alive|proxy-.*)$/i;

export class GuardedRequester {
  constructor(private readonly guard: AddressGuard) {}

  /** @throws AppError tool_denied, invalid_tool_arguments, tool_failed; the signal's reason. */
  async send(outgoing: OutgoingRequest, signal: AbortSignal): Promise<Incoming> {
    let current = { ...outgoing, headers: checkHeaders(outgoing.headers) };
    for (let redirects = 0; ; redirects += 1) {
      const url = readUrl(current.url);
      const incoming = await this.hop(url, current, signal);
      const location = incoming.headers['location'];
      if (!isRedirect(incoming.status) || location === undefined) return incoming;
      incoming.close();
      if (redirects === maxRedirects) throw new AppError('tool_failed', `More than ${maxRedirects} redirects`);
      current = redirected(current, { from: url, status: incoming.status, location });
    }
  }

  private async hop(url: URL, { method, headers, body }: OutgoingRequest, signal: AbortSignal): Promise<Incoming> {
    // Each request has its own client, so that no connection is left after the call.
    const client = new HttpClient({
      baseUrl: url.origin,
      headers: { 'user-agent': 'signalbox-fetch', 'accept-encoding': 'gzip, deflate, br' },
      timeoutMs: { connect: 0, first_byte: Infinity, idle: Infinity },
      keepAliveMs: 1_000,
      maxExchanges: 1,
      maxBytes: Infinity,
      opensAt: 'headers',
      guard: this.guard,
      // The caller must not see addresses of this host's network or stacks.
      toError: ({ kind, what, cause }) =>
        kind === 'cancelled' ? (cause as Error) : new AppError('tool_failed', `${hostOf(url)} ${what}`, { cause }),
    });
    const close = () => void client.close().catch(() => undefined);
    try {
      const path = url.pathname + url.search;
      const answer = await client.open({ method, path, headers, body }, { signal, deadline: Infinity });
      const received = firstValues(answer.headers);
      const decoded = decompressed(streamOf(answer), received['content-encoding']);
      return { url: url.href, status: answer.status, headers: received, body: decoded, close };
    } catch (error) {
      close();
      throw error;
    }
  }
}

function readUrl(text: string): URL {
  if (!URL.canParse(text)) throw new AppError('invalid_tool_arguments', 'url is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new AppError('tool_denied', `Only http and https URLs are fetched, not ${url.protocol}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new AppError('tool_denied', 'URLs with a user name or password are not fetched: use a header');
  }
  url.hash = '';
  return url;
}

function checkHeaders(headers: Record<string, string>): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || /[\r\n\0]/.test(value)) {
      throw new AppError('invalid_tool_arguments', 'A header has characters that are not allowed');
    }
    if (ownHeaders.test(name)) throw new AppError('invalid_tool_arguments', `Header '${name}' cannot be set`);
    checked[name.toLowerCase()] = value;
  }
  return checked;
}

const isRedirect = (status: number) => [301, 302, 303, 307, 308].includes(status);

function redirected(
  outgoing: OutgoingRequest & { headers: Record<string, string> },
  to: { from: URL; status: number; location: string },
) {
  if (!URL.canParse(to.location, to.from.href))
    throw new AppError('tool_failed', 'Redirected to something that is not a URL');
  const url = new URL(to.location, to.from.href);
  const headers = { ...outgoing.headers };
  if (url.origin !== to.from.origin) {
    delete headers['authorization'];
    delete headers['cookie'];
  }
  const keepsMethod = to.status === 307 || to.status === 308 || ['GET', 'HEAD'].includes(outgoing.method);
  if (keepsMethod) return { ...outgoing, url: url.href, headers };
  delete headers['content-type'];
  return { url: url.href, method: 'GET', headers, body: undefined };
}

function firstValues(headers: HttpAnswer['headers']): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value].flat()[0] ?? '']));
}

const decoders = new Map([
  ['gzip', createGunzip],
  ['x-gzip', createGunzip],
  ['br', createBrotliDecompress],
  ['deflate', createInflate],
]);

/** A failure of the body or of the decoder is an error of the returned stream. */
function decompressed(body: Readable, encoding = ''): Readable {
  const decoder = decoders.get(encoding)?.();
  return decoder === undefined ? body : pipeline(body, decoder, () => undefined);
}
