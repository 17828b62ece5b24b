// Converts an HTTP request for the protocol's code. Its parsed body is passed separately.
import type { IncomingHttpHeaders } from 'node:http';

export const eventStream = 'text/event-stream';

/** Copies only what the protocol reads. Any `Accept` is valid: the answer is adapted to what the caller accepts. */
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
  // If passed to the constructor it would be copied, at three times the cost of everything else here, into an object
  // that only full garbage collections free.
  return Object.defineProperty(request, 'signal', { value: signal });
}
