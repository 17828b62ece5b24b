// One HTTP request to the outside: guarded address, redirects followed by hand and guarded anew, body decompressed as
// it is read. Bounds of time and size are the caller's; every connection ends with the call. On Node's own client:
// undici 7 throws where nobody can catch it when a peer ends a connection whose answer is not read yet (its issue 5360).
import { lookup as dnsLookup } from 'node:dns';
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP } from 'node:net';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { AppError } from '#libs/schemas/errors.js';
import { hostOf, type AddressGuard, type Lookup } from './address-guard.js';

export interface OutgoingRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body?: string | undefined;
}

export interface Incoming {
  /** Of the last redirect. */
  url: string;
  status: number;
  headers: Record<string, string>;
  body: Readable;
  /** Ends the connection, whatever has been read. */
  close(): void;
}

const maxRedirects = 5;
/** Headers that say how the message travels are ours. */
const ownHeaders =
  /^(host|connection|content-length|transfer-encoding|upgrade|te|trailer|expect|keep-alive|proxy-.*)$/i;

export class GuardedRequester {
  constructor(
    private readonly guard: AddressGuard,
    private readonly resolve: Lookup = dnsLookup,
  ) {}

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

  private hop(url: URL, outgoing: OutgoingRequest, signal: AbortSignal): Promise<Incoming> {
    const host = hostOf(url);
    if (isIP(host) !== 0) this.guard.checkAddress(host, url);
    const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const request = send(url, {
        // A connection of its own: its lookup knows the URL, and nothing of it is left after the call.
        agent: false,
        lookup: this.guard.lookup(url, this.resolve),
        signal,
        method: outgoing.method,
        headers: { 'user-agent': 'signalbox-fetch', 'accept-encoding': 'gzip, deflate, br', ...outgoing.headers },
      });
      request.once('response', (answer) => {
        const headers = firstValues(answer.headers);
        answer.on('error', () => undefined);
        const body = decompressed(answer, headers['content-encoding']);
        resolve({ url: url.href, status: answer.statusCode ?? 0, headers, body, close: () => void request.destroy() });
      });
      // Stays for what comes after the answer has begun: its reader sees that as well.
      request.on('error', (error) => reject(readable(error, url, signal)));
      request.end(outgoing.body);
    });
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
    throw new AppError('tool_failed', 'Redirected to something that is no URL');
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

function firstValues(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const entries = Object.entries(headers).flatMap(([name, value]) => {
    const first = Array.isArray(value) ? value[0] : value;
    return first === undefined ? [] : [[name, first] as const];
  });
  return Object.fromEntries(entries);
}

function decompressed(body: Readable, encoding: string | undefined): Readable {
  const decoder =
    encoding === 'gzip' || encoding === 'x-gzip'
      ? createGunzip()
      : encoding === 'br'
        ? createBrotliDecompress()
        : encoding === 'deflate'
          ? createInflate()
          : undefined;
  // The reader of the decoder sees the failure of either.
  return decoder === undefined ? body : pipeline(body, decoder, () => undefined);
}

/** What the reader may see: no address of this host's network, no stack. */
function readable(error: unknown, url: URL, signal: AbortSignal): unknown {
  if (signal.aborted || error instanceof AppError) return error;
  const cause = error instanceof AggregateError ? error.errors[0] : error;
  if (cause instanceof AppError) return cause;
  const code = (cause as NodeJS.ErrnoException | undefined)?.code ?? 'no connection';
  return new AppError('tool_failed', `Fetching ${hostOf(url)} failed: ${code}`, { cause: error });
}
