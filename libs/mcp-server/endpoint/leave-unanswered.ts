// Ends the stream of a cancelled request over HTTP, which gets no answer and would stay open as long as the client waits.
import { type Transport, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { SseTransport } from './sse-transport.js';

/** `transport`: the server's transport at the time when the request `id` arrived. */
export function leaveUnanswered(transport: Transport | undefined, id: string | number): void {
  if (transport instanceof WebStandardStreamableHTTPServerTransport) transport.closeSSEStream(id);
  else if (transport instanceof SseTransport) transport.leaveUnanswered(id);
}
