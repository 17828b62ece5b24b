// The SDK's transports over HTTP, on a bounded fetch. Redirects stay within the server's origin, as in the SDK. An
// older server's notification stream is requested until it is open: the SDK would give up at the third failure.
import { setTimeout as delay } from 'node:timers/promises';
import {
  type AuthProvider,
  SSEClientTransport,
  StreamableHTTPClientTransport,
  type Transport,
} from '@modelcontextprotocol/client';
import { GrowingPause } from '#libs/concurrency/growing-pause.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { AppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { BoundedFetch, type FetchBounds } from './bounded-fetch.js';
import { listenPauseMs } from './keep-listening.js';

export interface HttpOptions {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** A header that is made for each request, and its value. */
  fresh?: { name: string; value: () => Promise<string> } | undefined;
  /** Absent: Streamable HTTP, then HTTP+SSE if the server does not support it. */
  transport?: 'http' | 'sse' | undefined;
  bounds: FetchBounds;
  /** Shows whose rights the connection has. */
  access?:
    { provider: AuthProvider; around(fetch: BoundedFetch['fetch']): BoundedFetch['fetch']; close(): void } | undefined;
}

interface News {
  fetch: BoundedFetch['fetch'];
  /** Whether the notification stream is open or may open. */
  mayBeOpen: () => boolean;
}

const terminateTimeoutMs = 1_000;
/** How long a server may ask us to wait before its notification stream is requested again. */
const reconnectMs = { least: 250, most: 30_000 };

export interface HttpTransport extends Transport {
  /** Why the connection ended, if the server caused it. */
  failure?: AppError;
  /** The notification stream was interrupted and is open again: messages in between were lost. */
  onnewsagain?: () => void;
}

export function streamableTransport({ url, headers, bounds, access, fresh }: HttpOptions): HttpTransport {
  const http = new BoundedFetch(new URL(url).origin, bounds);
  const sent = withFresh(access?.around(http.fetch) ?? http.fetch, fresh);
  const fetch = answeredOrRefused(persistentNews(sent, () => over.onnewsagain?.()));
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch,
    authProvider: access?.provider,
    onInsufficientScope: 'throw',
    requestInit: { headers },
    reconnectionScheduler: (reconnect, delay) => {
      const timer = setTimeout(reconnect, Math.min(Math.max(delay, reconnectMs.least), reconnectMs.most)).unref();
      return () => clearTimeout(timer);
    },
  });
  const leave = () => unlessAborted(transport.terminateSession(), AbortSignal.timeout(terminateTimeoutMs));
  const over = endingWith(http, transport, leave);
  return over;
}

/**
 * The first GET opens the notification stream, and so do those with the same signal: resuming a call's answer uses a
 * signal of its own. A refusal counts as an answer, and the SDK judges it: the session may be gone.
 */
function persistentNews(fetch: BoundedFetch['fetch'], onAgain: () => void): News {
  let listening: AbortSignal | undefined;
  let refused = false;
  const pause = new GrowingPause(listenPauseMs);
  return { fetch: listen, mayBeOpen: () => listening !== undefined && !refused };

  async function listen(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const { method, signal } = init;
    if (method !== 'GET' || !(signal instanceof AbortSignal)) return fetch(url, init);
    const first = listening === undefined;
    listening ??= signal;
    if (signal !== listening) return fetch(url, init);
    const answer = await (first ? fetch(url, init) : again(url, init, signal));
    refused = !answer.ok || answer.body === null;
    return answer;
  }

  async function again(url: string | URL, init: RequestInit, signal: AbortSignal): Promise<Response> {
    for (;;) {
      const answer = await fetch(url, init).catch((error: unknown) => {
        if (signal.aborted) throw error;
      });
      if (answer !== undefined && answer.status < 500) {
        onAgain();
        return answer;
      }
      await answer?.body?.cancel();
      await delay(pause.next(), undefined, { signal, ref: false });
    }
  }
}

/**
 * A request that was accepted like a notification (202) gets no answer, so it fails at once. Some servers answer on the
 * notification stream, against the protocol, so with such a stream it waits.
 */
function answeredOrRefused({ fetch, mayBeOpen }: News): BoundedFetch['fetch'] {
  return async (url, init) => {
    const answer = await fetch(url, init);
    if (answer.status !== 202 || mayBeOpen() || !isRequest(init?.body)) return answer;
    await answer.body?.cancel();
    throw new AppError('invalid_tool_result', 'The tool server accepted the request but did not answer');
  };
}

function isRequest(body: unknown): boolean {
  const message: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
  return isJsonObject(message) && 'method' in message && 'id' in message;
}

export function sseTransport({ url, headers, bounds, access, fresh }: HttpOptions): HttpTransport {
  const http = new BoundedFetch(new URL(url).origin, bounds);
  const fetch = withFresh(access?.around(http.fetch) ?? http.fetch, fresh);
  const authProvider = access?.provider;
  return endingWith(http, new SSEClientTransport(new URL(url), { fetch, authProvider, requestInit: { headers } }));
}

function withFresh(fetch: BoundedFetch['fetch'], fresh: HttpOptions['fresh']): BoundedFetch['fetch'] {
  if (fresh === undefined) return fetch;
  return async (url, init) => {
    const headers = new Headers(init?.headers);
    headers.set(fresh.name, await fresh.value());
    return fetch(url, { ...init, headers });
  };
}

/** A server that floods us is cut off without `leave`. A failing `leave` is ignored, since the server may be gone. */
function endingWith(http: BoundedFetch, transport: HttpTransport, leave?: () => Promise<unknown>): HttpTransport {
  const close = transport.close.bind(transport);
  transport.close = async () => {
    if (transport.failure === undefined) await leave?.().catch(() => undefined);
    try {
      await close();
    } finally {
      http.close();
    }
  };
  http.onFlood = (failure) => {
    transport.failure ??= failure;
    transport.close().catch(() => undefined);
  };
  return transport;
}
