// An HTTP request as the protocol's code takes it. Its body goes beside it, parsed.
import type { IncomingHttpHeaders } from 'node:http';

export const eventStream = 'text/event-stream';

/** Takes over only what the protocol reads. Any `Accept` will do: an answer is cut to what the caller takes. */
export function webRequest(
  { method = 'POST', headers: given }: { method?: string | undefined; headers: IncomingHttpHeaders },
  signal: AbortSignal,
): Request {
  const headers = new Headers({
    accept: method === 'POST' ? `application/json, ${eventStream}` : eventStream,
    ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
  });
  for (const [name, value] of Object.entries(given)) {
    if (name.startsWith('mcp-') && typeof value === 'string') headers.set(name, value);
  }
  const request = new Request('http://localhost/mcp', { method, headers });
  // Given to the constructor it would be copied, at three times the cost of all else here, into one that is let go by full
  // collections of garbage only.
  return Object.defineProperty(request, 'signal', { value: signal });
}
