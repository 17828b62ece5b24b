// Lists what a server has on an instance without a session: a shared server's own, or one created for this and removed
// with its workspace. What a session does to its instance does not change the catalog of other sessions.
import { randomBytes } from 'node:crypto';
import { abortAfter } from '#libs/concurrency/abort-after.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';
import type { ConfiguredServer } from '../servers/configured-server.js';
import type { ToolConnection } from '../servers/connection.js';
import type { ListedOffers } from '../servers/list-pages.js';
import type { ServerPool } from '../pool/pool.js';

export interface ListParts {
  pool: ServerPool;
  workspaces: Workspaces;
  /** Deadline for the whole listing, including the wait for a free place on a shared instance, ms. */
  timeoutMs: number;
}

export interface ServerListing {
  tools: unknown[];
  /** What the connection did not make a tool of, with the reasons. */
  leftOut: readonly string[];
  /** Why there are no `offers`. */
  failure?: unknown;
  offers?: ListedOffers;
  /** With whose rights, if the server lists nothing without. */
  principal?: string;
}

interface ListHooks {
  signal: AbortSignal;
  onConnection: (connection: ToolConnection) => void;
}

/** @throws ConnectionNeeded; AppError tool_unavailable, tool_crashed, tool_timeout, invalid_tool_result */
export async function listServer(server: ConfiguredServer, parts: ListParts, hooks: ListHooks): Promise<ServerListing> {
  const signal = AbortSignal.any([hooks.signal, abortAfter(parts.timeoutMs)]);
  const listFor = (principal: string) => listAs(principal, server, parts, { ...hooks, signal });
  try {
    return await listFor('');
  } catch (error) {
    if (!(error instanceof ConnectionNeeded)) throw error;
    // The server shows its tools to those only who have signed in.
    const principal = await server.users?.anyConnected();
    if (principal === undefined) throw error;
    return { ...(await listFor(principal)), principal };
  }
}

async function listAs(
  principal: string,
  server: ConfiguredServer,
  parts: ListParts,
  { signal, onConnection }: ListHooks,
): Promise<ServerListing> {
  if (server.scope === 'session') return listOnce(principal, server, parts.workspaces, signal);
  const user = { principal, sessionId: '', directory: '' };
  const options = { user, signal, deadline: steadyNow() + parts.timeoutMs, line: 'listing' as const };
  return parts.pool.use(server.name, options, (connection) => {
    onConnection(connection);
    return listingOf(connection, signal);
  });
}

/** Tools are published even if the rest cannot be listed. */
async function listingOf(connection: ToolConnection, signal: AbortSignal): Promise<ServerListing> {
  const tools = await connection.listTools(signal);
  const { leftOut = [] } = connection;
  try {
    return { tools, leftOut, offers: await connection.listOffers(signal) };
  } catch (failure) {
    return { tools, leftOut, failure };
  }
}

async function listOnce(
  principal: string,
  server: ConfiguredServer,
  workspaces: Workspaces,
  signal: AbortSignal,
): Promise<ServerListing> {
  const name = `listing_${randomBytes(8).toString('hex')}`;
  try {
    const connection = await server.open({ principal, sessionId: name, directory: name }, signal);
    try {
      return await listingOf(connection, signal);
    } finally {
      await connection.close();
    }
  } finally {
    // After a crash the sweeper removes the directory, which belongs to no session.
    await workspaces.remove(name);
  }
}
