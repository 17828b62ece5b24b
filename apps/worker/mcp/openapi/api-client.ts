// The HTTP of one connection to an API, to its one origin: credentials, one retry with a fresh token after a refusal, bounds on time
// and size. Follows no redirect, so that credentials and arguments go nowhere else.
import { promisify } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { extractWWWAuthenticateParams, InsufficientScopeError, UnauthorizedError } from '@modelcontextprotocol/client';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { AddressGuard } from '#libs/http-client/address-guard.js';
import { HttpClient } from '#libs/http-client/http-client.js';
import type { HttpFailure } from '#libs/http-client/outgoing.js';
import { AppError, type ErrorCode } from '#libs/schemas/errors.js';
import type { BoundedFetch, FetchBounds } from '../wire/bounded-fetch.js';
import type { ToolCallOptions } from '../wire/call-scope.js';
import type { HttpOptions } from '../wire/http-transports.js';
import type { OperationRequest } from './request-of-call.js';
import type { ApiAnswer } from './result-of-answer.js';

export interface OpenApiClientOptions {
  baseUrl: string;
  /** Set by the operator and the caller: arguments do not replace them. */
  headers: Readonly<Record<string, string>>;
  bounds: FetchBounds;
  /** For an address that only the document names. */
  guard?: AddressGuard | undefined;
  access?: HttpOptions['access'];
  /** A header that is made for each request. */
  fresh?: { name: string; value: (call: ToolCallOptions) => Promise<string> } | undefined;
  /** What a refusal means for the user. Undefined: it is an answer like others. */
  needed: (error: unknown) => AppError | undefined;
}

/** Idle connections are closed before servers do it, as those to MCP servers are. */
const keepAliveMs = 4_000;
const codes: Partial<Record<HttpFailure['kind'], ErrorCode>> = {
  timeout: 'tool_timeout',
  too_large: 'result_too_large',
  not_http: 'invalid_tool_result',
  lost: 'tool_crashed',
  cut: 'tool_crashed',
};
/** An answer with one of these statuses has no body. */
const bodiless = new Set([204, 205, 304]);

type Fetch = BoundedFetch['fetch'];

export class OpenApiClient {
  private readonly http: HttpClient;
  private readonly fetch: Fetch;

  /** @throws AppError tool_denied for a forbidden address */
  constructor(private readonly options: OpenApiClientOptions) {
    const { baseUrl, bounds, guard, access } = options;
    this.http = new HttpClient({
      baseUrl: new URL(baseUrl).origin,
      headers: { 'user-agent': 'signalbox', accept: 'application/json, */*;q=0.5' },
      timeoutMs: { connect: bounds.connectMs, first_byte: Infinity, idle: Infinity },
      keepAliveMs,
      maxExchanges: bounds.maxExchanges,
      maxBytes: bounds.maxBytes,
      opensAt: 'headers',
      ...(guard === undefined ? {} : { guard }),
      toError: (failure) => this.toError(failure),
    });
    const plain: Fetch = (url, init) => this.exchange(new URL(url), init);
    this.fetch = access?.around(plain) ?? plain;
  }

  /** @throws AppError as of `ToolConnection.callTool`, ConnectionNeeded; the signal's reason */
  async send(request: OperationRequest, signal: AbortSignal, call: ToolCallOptions): Promise<ApiAnswer> {
    const { access, needed } = this.options;
    let answer = await this.attempt(request, signal, call);
    if (answer.status === 401 && access !== undefined) {
      // The refused request has done nothing, so that it can be repeated.
      await access.provider.onUnauthorized?.({ response: answer, serverUrl: request.url, fetchFn: this.fetch });
      answer = await this.attempt(request, signal, call);
    }
    const refused = access === undefined ? undefined : refusalOf(answer);
    const failure = refused === undefined ? undefined : needed(refused);
    if (failure !== undefined) throw failure;
    const body = Buffer.from(await answer.arrayBuffer());
    return { status: answer.status, headers: answer.headers, body, url: request.url };
  }

  close(): void {
    this.http.close().catch(() => undefined);
    this.options.access?.close();
  }

  private async attempt(request: OperationRequest, signal: AbortSignal, call: ToolCallOptions): Promise<Response> {
    const { headers: own, access, fresh } = this.options;
    const headers = new Headers({ ...request.headers });
    for (const [name, value] of Object.entries(own)) headers.set(name, value);
    const type = request.headers['content-type'];
    if (type !== undefined) headers.set('content-type', type);
    const token = await access?.provider.token();
    if (token !== undefined) headers.set('authorization', `Bearer ${token}`);
    if (fresh !== undefined) headers.set(fresh.name, await fresh.value(call));
    return this.fetch(request.url, {
      method: request.method,
      headers,
      signal,
      body: request.body as RequestInit['body'],
    });
  }

  private async exchange({ pathname, search }: URL, init: RequestInit = {}): Promise<Response> {
    const { method = 'GET', body } = init;
    const headers: Record<string, string> = Object.fromEntries(new Headers(init.headers));
    headers['accept-encoding'] = 'identity';
    const sent = { method, path: `${pathname}${search}`, headers, body: body as string | Uint8Array | undefined };
    const deadline = steadyNow() + this.options.bounds.totalMs;
    const answer = await this.http.open(sent, { signal: init.signal!, deadline });
    try {
      const parts: Uint8Array[] = [];
      await answer.read((bytes) => void parts.push(bytes));
      const received = new Headers();
      for (const [name, value] of Object.entries(answer.headers))
        for (const each of [value].flat()) if (each !== undefined) received.append(name, each);
      if (answer.status > 599) throw new AppError('tool_failed', 'The API sent no HTTP status');
      const content = await this.decoded(Buffer.concat(parts), received.get('content-encoding') ?? '');
      const isBodiless = bodiless.has(answer.status);
      return new Response(isBodiless ? null : new Uint8Array(content), { status: answer.status, headers: received });
    } finally {
      answer.close(true);
    }
  }

  /** Some servers compress although they are asked not to. */
  private async decoded(body: Buffer, encoding: string): Promise<Buffer> {
    const decoder = decoders.get(encoding.trim().toLowerCase());
    if (decoder === undefined || body.length === 0) return body;
    const { maxBytes } = this.options.bounds;
    return decoder(body, { maxOutputLength: maxBytes }).catch((error: unknown) => {
      if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE')
        throw this.toError({ kind: 'too_large', what: `sent more than ${maxBytes} bytes` });
      throw new AppError('invalid_tool_result', 'The answer of the API is compressed in a way that cannot be read');
    });
  }

  /** Callers see the message, so it has no address. */
  private toError({ kind, what, cause }: HttpFailure): Error {
    if (kind === 'cancelled') return cause instanceof Error ? cause : new Error('aborted');
    if (kind === 'too_large') this.options.bounds.onBound?.('message_bytes');
    if (kind === 'crowded') this.options.bounds.onBound?.('exchanges');
    return new AppError(codes[kind] ?? 'tool_unavailable', `The API ${what}`, { cause });
  }
}

const decoders = new Map([
  ['gzip', promisify(gunzip)],
  ['x-gzip', promisify(gunzip)],
  ['deflate', promisify(inflate)],
  ['br', promisify(brotliDecompress)],
]);

/** As the SDK would throw it for an MCP server. */
function refusalOf(answer: Response): unknown {
  if (answer.status === 401) return new UnauthorizedError();
  if (answer.status !== 403) return undefined;
  const { error, scope } = extractWWWAuthenticateParams(answer);
  if (error !== 'insufficient_scope') return undefined;
  return new InsufficientScopeError(scope === undefined ? {} : { requiredScope: scope });
}
