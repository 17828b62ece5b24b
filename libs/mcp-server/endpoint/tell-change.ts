// Tells the client of a connection what has changed. Before 2026-07-28 a client subscribes to resources one by one; since then the
// entry of the connection passes on what the client listens to.
import { ProtocolError, ProtocolErrorCode, type Server, type ServerEvent } from '@modelcontextprotocol/server';
import { isModern } from './eras.js';

/** How many resources a connection may subscribe to. */
const maxSubscribed = 1_000;

const subscribed = new WeakMap<Server, Set<string>>();

/** @throws ProtocolError for too many */
export function subscribe(server: Server, uri: string): void {
  const uris = subscribed.get(server) ?? new Set();
  if (uris.size >= maxSubscribed && !uris.has(uri)) {
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `A connection may subscribe to ${maxSubscribed} resources`,
    );
  }
  subscribed.set(server, uris.add(uri));
}

export function unsubscribe(server: Server, uri: string): void {
  subscribed.get(server)?.delete(uri);
}

/** A connection that is not open yet, or has just closed, asks for lists anyway. */
export function tellChange(server: Server, change: ServerEvent): void {
  if (server.transport !== undefined) send(server, change)?.catch(() => undefined);
}

function send(server: Server, change: ServerEvent): Promise<void> | undefined {
  switch (change.kind) {
    case 'tools_list_changed':
      // A list that never changes.
      return server.getCapabilities().tools?.listChanged === true ? server.sendToolListChanged() : undefined;
    case 'prompts_list_changed':
      return server.sendPromptListChanged();
    case 'resources_list_changed':
      return server.sendResourceListChanged();
    case 'resource_updated': {
      if (!isModern(server) && subscribed.get(server)?.has(change.uri) !== true) return undefined;
      return server.sendResourceUpdated({ uri: change.uri });
    }
  }
}
