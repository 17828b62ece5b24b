// The SDK's transports over HTTP, on a fetch with bounds. Redirects stay within the server's origin, as the SDK has it.
import { SSEClientTransport, StreamableHTTPClientTransport, type Transport } from '@modelcontextprotocol/client';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { boundedFetch, type FetchBounds } from './bounded-fetch.js';
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

export function streamableTransport({ url, headers, bounds }: HttpOptions): Transport {
  const { fetch, close } = boundedFetch(bounds);
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    fetch,
    requestInit: { headers },
    reconnectionScheduler: (reconnect, delay) => {
      const timer = setTimeout(reconnect, Math.min(Math.max(delay, reconnectMs.least), reconnectMs.most));
      timer.unref();
      return () => clearTimeout(timer);
    },
  });
  return closingToo(withParamHeaders(transport), {
    before: () => unlessAborted(transport.terminateSession(), AbortSignal.timeout(terminateTimeoutMs)),
    after: close,
  });
}

export function sseTransport({ url, headers, bounds }: HttpOptions): Transport {
  const { fetch, close } = boundedFetch(bounds);
  const transport = new SSEClientTransport(new URL(url), { fetch, requestInit: { headers } });
  return closingToo(transport, { after: close });
}

interface CloseHooks {
  /** Its failure is no news: a server need not be there any more. */
  before?: () => Promise<unknown>;
  after: () => void;
}

function closingToo<T extends Transport>(transport: T, { before, after }: CloseHooks): T {
  const close = transport.close.bind(transport);
  transport.close = async () => {
    await before?.().catch(() => undefined);
    try {
      await close();
    } finally {
      after();
    }
  };
  return transport;
}
