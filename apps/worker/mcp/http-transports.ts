// The SDK's transports over HTTP, on a fetch with bounds. Redirects stay within the server's origin, as the SDK has it.
import { SSEClientTransport, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import type { AppError } from '#libs/schemas/errors.js';
import { boundedFetch, type BoundedFetch, type FetchBounds } from './bounded-fetch.js';
import { withParamHeaders } from './param-header-transport.js';

export interface HttpOptions {
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Absent: Streamable HTTP, and HTTP+SSE where that is not known. */
  transport?: 'http' | 'sse';
  bounds: FetchBounds;
}

const terminateTimeoutMs = 1_000;
/** What a server may tell us to wait before it is asked for its news again. */
const reconnectMs = { least: 250, most: 30_000 };

export interface HttpTransport extends Transport {
  /** Why it is over, where the server is to blame. */
  failure?: AppError;
}

export function streamableTransport({ url, headers, bounds }: HttpOptions): HttpTransport {
  const http = boundedFetch(bounds);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch: http.fetch,
    requestInit: { headers },
    reconnectionScheduler: (reconnect, delay) => {
      const timer = setTimeout(reconnect, Math.min(Math.max(delay, reconnectMs.least), reconnectMs.most));
      timer.unref();
      return () => clearTimeout(timer);
    },
  });
  const leave = () => unlessAborted(transport.terminateSession(), AbortSignal.timeout(terminateTimeoutMs));
  return endingWith(http, withParamHeaders(transport), leave);
}

export function sseTransport({ url, headers, bounds }: HttpOptions): HttpTransport {
  const http = boundedFetch(bounds);
  return endingWith(http, new SSEClientTransport(new URL(url), { fetch: http.fetch, requestInit: { headers } }));
}

/** One that floods us is cut off without a word. That `leave` fails is no news: a server need not be there any more. */
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
