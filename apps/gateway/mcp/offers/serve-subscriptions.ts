// Subscriptions of MCP clients to single resources: by request within a session before 2026-07-28, by the stream that listens since then.
import type { Server, ServerContext } from '@modelcontextprotocol/server';
import type { McpExchange } from '#libs/mcp-server/endpoint/exchange.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import type { OfferCatalog, ToolCatalog } from '../../tools/tool-catalog.js';
import { type AnswerPorts, answer } from '../answer-request.js';
import { callerOf, defaultSessionId } from '../caller-of.js';
import { unlistedResources } from './app-resources.js';
import { namedOffers, type ResourceTarget } from './named-offers.js';
import type { LinkOwner, ResourceLinks } from './resource-links.js';
import type { ResourceFollowers } from './resource-followers.js';

export interface SubscriptionPorts extends AnswerPorts {
  catalog: OfferCatalog & Pick<ToolCatalog, 'list'>;
  links: Pick<ResourceLinks, 'serverOf'>;
  followers: Pick<ResourceFollowers, 'follow'>;
}

/** The most that one client may follow. */
const maxResources = 100;

/** What each session follows, by URI. */
const followedBy = new WeakMap<Server, Map<string, () => void>>();

export function serveSubscriptions(server: Server, ports: SubscriptionPorts): void {
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }, request) =>
    answer(ports, request, async () => {
      await subscribe(server, ports, uri, request);
      return {};
    }),
  );
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    stop(server, uri);
    return {};
  });
}

async function subscribe(server: Server, ports: SubscriptionPorts, uri: string, request: ServerContext): Promise<void> {
  if (request.sessionId === undefined) throw new AppError('invalid_value', 'Subscriptions need an MCP session');
  const followed = followedBy.get(server) ?? new Map<string, () => void>();
  followedBy.set(server, followed);
  if (followed.has(uri)) return;
  if (followed.size >= maxResources) throw tooMany();
  const { caller, sessionId } = callerOf({ server, request });
  const onUpdated = () => void server.sendResourceUpdated({ uri }).catch(() => undefined);
  const target = targetOf(ports, uri, { principal: caller.principal, sessionId });
  // Counted at once, because a client may send many requests before the first is answered.
  const asked = (): void => undefined;
  followed.set(uri, asked);
  try {
    const end = await ports.followers.follow({ target, shown: uri, sessionId, onUpdated }, caller);
    // The client, or its session, may have ended it meanwhile.
    if (followed.get(uri) === asked) followed.set(uri, end);
    else end();
  } catch (error) {
    if (followed.get(uri) === asked) followed.delete(uri);
    throw error;
  }
}

/** Ends those of a session that has ended. */
export function endSubscriptions(server: Server): void {
  for (const uri of followedBy.get(server)?.keys() ?? []) stop(server, uri);
}

function stop(server: Server, uri: string): void {
  const followed = followedBy.get(server);
  followed?.get(uri)?.();
  followed?.delete(uri);
}

/**
 * Follows the resources that a listening client names, until its exchange ends. Resolves with those that are followed: what cannot be
 * followed, or is not the caller's, is left out of what the client is told that it gets.
 */
export async function listenToResources(
  ports: SubscriptionPorts,
  uris: readonly string[],
  { context, atEnd }: McpExchange,
  onUpdated: (uri: string) => void,
): Promise<string[]> {
  if (uris.length > maxResources) throw tooMany();
  const owner = { principal: context.principal, sessionId: defaultSessionId };
  const followed = await Promise.all(
    [...new Set(uris)].map(async (uri) => {
      try {
        const follower = { target: targetOf(ports, uri, owner), shown: uri, sessionId: owner.sessionId };
        atEnd.push(await ports.followers.follow({ ...follower, onUpdated: () => onUpdated(uri) }, context));
        return [uri];
      } catch (error) {
        ports.observeError(toAppError(error));
        return [];
      }
    }),
  );
  return followed.flat();
}

/** @throws AppError not_found */
function targetOf({ catalog, links }: SubscriptionPorts, uri: string, owner: LinkOwner): ResourceTarget {
  const target = namedOffers(catalog.offering()).resource(uri, unlistedResources(catalog, links, owner));
  if (target === undefined) throw new AppError('not_found', `Resource '${uri.slice(0, 256)}' not found`);
  return target;
}

const tooMany = () =>
  new AppError('invalid_value', `A client may subscribe to ${maxResources} resources`, { param: 'uri' });
