// What was cancelled is not answered: over HTTP its stream would stay open for as long as the client lets it.
import { type Transport, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server';
import { SseTransport } from './sse-transport.js';

/** `transport`: of the server that was asked, as it was when the request `id` came. */
export function leaveUnanswered(transport: Transport | undefined, id: string | number): void {
  if (transport instanceof WebStandardStreamableHTTPServerTransport) transport.closeSSEStream(id);
  else if (transport instanceof SseTransport) transport.leaveUnanswered(id);
}
