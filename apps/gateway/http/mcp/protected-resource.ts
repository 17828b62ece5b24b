// `/mcp`, `/mcp/<toolset>` and `/sse` as protected resources of the token issuer: the challenges that send MCP clients there (RFC 6750), and the
// documents that name it (RFC 9728). Decides nothing about access.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { presentedKey } from '#libs/access/api-key.js';
import { publicAddress } from '#libs/config/addresses/public-address.js';
import type { Config } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';

type ResourceSettings = Pick<Config, 'server' | 'auth'>;

const wellKnown = '/.well-known/oauth-protected-resource';
const routes: Readonly<Record<string, string>> = { '/mcp': '/mcp', '/sse': '/sse', '/sse/messages': '/sse' };
/** A toolset that is not configured has no other document: the name is all that the caller knows. */
const setPath = /\/mcp\/[A-Za-z0-9_-]{1,64}$/;

/** The path of the endpoint that a request is for. */
function endpointOf({ routeOptions, url }: FastifyRequest): string | undefined {
  if (routeOptions.url !== '/mcp/:toolset') return routes[routeOptions.url ?? ''];
  return setPath.exec(url.split('?', 1)[0]!)?.[0];
}

/** `WWW-Authenticate` of a refusal; undefined if it has none. */
export function signInChallenges({
  server,
  auth: { jwt },
}: ResourceSettings): (request: FastifyRequest, error: AppError) => string | undefined {
  const scope = scopesOf(jwt).join(' ');
  return (request, error) => {
    const needsScope = error.code === 'insufficient_scope';
    if (error.http !== 401 && !needsScope) return undefined;
    const endpoint = endpointOf(request);
    if (jwt === undefined || endpoint === undefined) return needsScope ? undefined : 'Bearer';
    const reason = needsScope ? 'insufficient_scope' : 'invalid_token';
    const parts = [
      // A request without any credentials is told no error (RFC 6750, 3.1).
      ...(presentedKey(request.headers) === undefined ? [] : [`error="${reason}"`]),
      `resource_metadata="${addressOf(server, request)}${wellKnown}${endpoint}"`,
      ...(scope === '' ? [] : [`scope="${scope}"`]),
    ];
    return `Bearer ${parts.join(', ')}`;
  };
}

/** A client looks at the path of its endpoint first, then at the root. A proxy may have put a path before that of the endpoint. */
export function serveProtectedResource(fastify: FastifyInstance, { server, auth: { jwt } }: ResourceSettings): void {
  const send = (path: string | undefined, request: FastifyRequest, reply: FastifyReply) => {
    const [endpoint] = setPath.exec(path ?? '') ?? /\/(?:mcp|sse)$/.exec(path ?? '') ?? [];
    if (jwt === undefined || path === undefined || endpoint === undefined) {
      throw new AppError('not_found', 'There is no protected resource of a token issuer at this address');
    }
    const scopes = scopesOf(jwt);
    return reply.send({
      resource: addressOf(server, request) + (server.public_url === undefined ? path : endpoint),
      authorization_servers: [jwt.issuer],
      ...(scopes.length === 0 ? {} : { scopes_supported: scopes }),
      bearer_methods_supported: ['header'],
      resource_name: 'Signalbox',
    });
  };
  fastify.get(wellKnown, (request: FastifyRequest, reply: FastifyReply) => send('/mcp', request, reply));
  fastify.get(`${wellKnown}/*`, (request: FastifyRequest, reply: FastifyReply) =>
    send(request.url.split('?', 1)[0]!.split(wellKnown, 2)[1], request, reply),
  );
}

const scopesOf = (jwt: ResourceSettings['auth']['jwt']): readonly string[] => jwt?.mcp_scopes ?? ['tools'];

/** Without a configured address, the one that the client used: its Host has been checked. */
const addressOf = (server: ResourceSettings['server'], { headers: { host } }: FastifyRequest): string =>
  server.public_url === undefined ? `http://${host}` : publicAddress(server);
