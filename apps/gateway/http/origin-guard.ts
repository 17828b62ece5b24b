// Checks Host on every path (against DNS rebinding) and Origin if there is one, and sets the CORS headers.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '#libs/config/schema.js';
import { hostAllowed, originAllowed } from '#libs/http-server/allowed-caller.js';
import { AppError } from '#libs/schemas/errors.js';

const exposedHeaders = 'x-request-id, x-run-id, retry-after, etag, mcp-session-id, www-authenticate';

/** Returns true if it has answered the request (a CORS preflight). @throws AppError host_forbidden, origin_forbidden */
export type OriginGuard = (request: FastifyRequest, reply: FastifyReply) => boolean;

export function originGuard(server: Config['server']): OriginGuard {
  const own = server.public_url === undefined ? undefined : new URL(server.public_url);
  const hosts = new Set([
    'localhost',
    ...(own === undefined ? [] : [own.hostname]),
    server.host.toLowerCase(),
    ...server.allowed_hosts.map((host) => host.toLowerCase()),
    ...(server.public_url === undefined ? [] : [new URL(server.public_url).hostname]),
  ]);
  const origins = new Set([...(own === undefined ? [] : [own.origin]), ...server.allowed_origins]);

  /** A cache, because clients send the same host again and again. */
  let lastAllowed: string | undefined;

  return (request, reply) => {
    const { origin } = request.headers;
    const host = hostOfUrl(request.url) ?? request.headers.host;
    if (hasSeveralHosts(request.raw.rawHeaders)) {
      throw new AppError('invalid_value', 'A request must have exactly one Host header', { param: 'Host' });
    }
    if (host === undefined || host !== lastAllowed) {
      if (!hostAllowed(host, hosts)) throw hostForbidden();
      lastAllowed = host;
    }
    if (origin === undefined) return false;
    if (!originAllowed(origin, host, origins)) {
      throw new AppError('origin_forbidden', 'Requests from this Origin are not allowed; see ALLOWED_ORIGINS');
    }
    reply.headers({
      'access-control-allow-origin': origin,
      'access-control-expose-headers': exposedHeaders,
      vary: 'Origin',
    });
    if (request.method === 'OPTIONS' && request.headers['access-control-request-method'] !== undefined) {
      const wanted = request.headers['access-control-request-headers'];
      reply.headers({
        'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
        'access-control-max-age': '600',
        ...(wanted === undefined ? {} : { 'access-control-allow-headers': wanted }),
      });
      void reply.status(204).send();
      return true;
    }
    return false;
  };
}

/** A request's URL may be absolute. Its host then overrides the header (RFC 9112, 3.2.2). */
function hostOfUrl(url: string): string | undefined {
  return url.startsWith('/') ? undefined : /^https?:\/\/([^/?#]*)/i.exec(url)?.[1];
}

/** Node uses the first Host, but a proxy may have used another (RFC 9112, 3.2). */
function hasSeveralHosts(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

const hostForbidden = () =>
  new AppError(
    'host_forbidden',
    'This gateway does not answer to the name in the Host header; see SERVER_ALLOWED_HOSTS',
  );
