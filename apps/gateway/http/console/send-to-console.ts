// Sends a browser that opens the gateway's address to the console. It runs before callers are authenticated, because whoever
// opens a page has no key yet. All others get what they got: GET / is no route.
import type { FastifyReply, FastifyRequest } from 'fastify';

/** Returns true if it has answered the request. */
export function sendToConsole({ method, url, headers }: FastifyRequest, reply: FastifyReply): boolean {
  if (url !== '/' || method !== 'GET' || headers.accept?.includes('text/html') !== true) return false;
  // A relative address stays below the path of a proxy in front of the gateway.
  void reply.header('vary', 'Accept').redirect('console/');
  return true;
}
