// Cancelled requests get no answer; over HTTP their stream would otherwise stay open as long as the client lets it.
import { type Transport, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { SseTransport } from './sse-transport.js';

/** `transport`: the server's transport at the time when the request `id` arrived. */
export function leaveUnanswered(transport: Transport | undefined, id: string | number): void {
  if (transport instanceof WebStandardStreamableHTTPServerTransport) transport.closeSSEStream(id);
  else if (transport instanceof SseTransport) transport.leaveUnanswered(id);
}
