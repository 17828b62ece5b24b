// Connections of callers to tool servers, as callers use them: which there are, how one is made, and how it ends.
import type { CompletedSignIn, OAuthFlows, PendingSignIn, SignInAnswer } from '#libs/connections/oauth-flows.js';
import type { ConnectionKey, ConnectionRequest, ConnectionStore } from '#libs/connections/connection-store.js';
import { type DescribedConnection, describeConnection } from '#libs/connections/describe-connection.js';
import type { ConnectedServer } from '#libs/connections/issuer.js';
import type { Vault } from '#libs/connections/vault.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { signInAddress } from '../govern/sign-in-addresses.js';

export interface ConnectionsParts {
  /** Those that users connect to now, by name. */
  servers: ReadonlyMap<string, ConnectedServer>;
  flows: OAuthFlows;
  store: ConnectionStore;
  vault: Vault;
  publicUrl: string;
  /** Whether the caller may use a tool of the server. */
  mayUse: (context: RequestContext, server: string) => boolean;
  /** A limit was reached. */
  onRefused?: (limit: string) => void;
  /** What waits for the connection goes on. Absent: nothing waits. The connection is made whatever comes of it, so it must not reject. */
  onConnected?: (principal: string, server: string) => Promise<void>;
  /** Whose sign-in a wait is for. */
  waitingFor?: (waitId: string) => Promise<ConnectionKey | undefined>;
}

export type ListedConnection = DescribedConnection & { server: ConnectedServer };

export class Connections {
  constructor(private readonly parts: ConnectionsParts) {}

  get vault(): Vault {
    return this.parts.vault;
  }

  /** One entry for each server that the caller may use, by name. */
  async list(context: RequestContext): Promise<ListedConnection[]> {
    const { servers, store, mayUse, vault } = this.parts;
    const usable = [...servers.values()].filter(({ name }) => mayUse(context, name));
    if (usable.length === 0) return [];
    const rows = new Map((await store.list(context.principal)).map((row) => [row.server, row]));
    return usable
      .toSorted((one, other) => one.name.localeCompare(other.name))
      .map((server) => ({ server, ...describeConnection(server, rows.get(server.name), vault) }));
  }

  /** The browser opens the address. @throws AppError not_found, invalid_value, rate_limit_exceeded */
  async begin(
    context: RequestContext,
    server: string,
    returnTo: string | undefined,
  ): Promise<{ flowId: string; address: string; expiresAt: Date }> {
    this.usable(context, server);
    const begun = await this.begun(context.principal, server, returnTo);
    return { ...begun, address: signInAddress(this.parts.publicUrl, begun.flowId) };
  }

  /** @throws AppError not_found, invalid_value */
  async connectHeaders(
    context: RequestContext,
    server: string,
    headers: Readonly<Record<string, unknown>>,
  ): Promise<ListedConnection> {
    const known = this.usable(context, server);
    const { flows, vault, onConnected } = this.parts;
    const key = { principal: context.principal, server };
    const row = await flows.connectHeaders(key, headers, asRequest(context));
    await onConnected?.(row.principal, server);
    return { server: known, ...describeConnection(known, row, vault) };
  }

  /** With a server that is configured no more too. @throws AppError not_found */
  async disconnect(context: RequestContext, server: string): Promise<void> {
    const key = { principal: context.principal, server };
    if (await this.parts.flows.revoke(key, context.signal, asRequest(context))) return;
    throw new AppError('not_found', 'There is no connection with this tool server');
  }

  /** Nobody has asked for it. */
  async end(key: ConnectionKey, signal: AbortSignal): Promise<void> {
    await this.parts.flows.revoke(key, signal);
  }

  /** A sign-in by its id, or by that of a wait. Uses nothing up. @throws AppError not_found */
  async pending(id: string): Promise<PendingSignIn & { kind: ConnectedServer['auth']['kind'] }> {
    const found = isWait(id)
      ? await this.parts.waitingFor?.(id).then((key) => key && { id, ...key })
      : await this.parts.flows.pending({ flowId: id });
    const server = found && this.parts.servers.get(found.server);
    if (found === undefined || server === undefined) throw new AppError('not_found', 'There is no such sign-in');
    return { ...found, kind: server.auth.kind };
  }

  /** The sign-in that an answer of an issuer belongs to. Uses nothing up. @throws AppError not_found */
  pendingOf(state: string): Promise<PendingSignIn> {
    return this.parts.flows.pending({ state });
  }

  /** Where the issuer asks the user. A wait's sign-in begins here. @throws AppError */
  async open(
    { id, principal, server }: PendingSignIn,
    signal: AbortSignal,
  ): Promise<{ flowId: string; address: string }> {
    const { flows } = this.parts;
    const { flowId } = isWait(id) ? await this.begun(principal, server) : { flowId: id };
    return { flowId, address: await flows.open(flowId, signal) };
  }

  /** Uses the answer up. @throws AppError */
  async complete(answer: SignInAnswer, context: RequestContext): Promise<CompletedSignIn> {
    const completed = await this.parts.flows.complete(answer, context.signal, asRequest(context));
    const { principal, server } = completed.connection;
    await this.parts.onConnected?.(principal, server);
    return completed;
  }

  private async begun(principal: string, server: string, returnTo?: string) {
    try {
      return await this.parts.flows.begin(principal, server, returnTo);
    } catch (error) {
      if (error instanceof AppError && error.code === 'rate_limit_exceeded') this.parts.onRefused?.('open_sign_ins');
      throw error;
    }
  }

  private usable(context: RequestContext, name: string): ConnectedServer {
    const server = this.parts.servers.get(name);
    if (server !== undefined && this.parts.mayUse(context, name)) {
      if (server.auth.kind !== 'token_exchange') return server;
      const message = 'This tool server takes the token that requests are sent with: there is nothing to connect';
      throw new AppError('invalid_value', message, { param: 'server' });
    }
    throw new AppError('not_found', 'There is no tool server of this name that you connect to');
  }
}

const isWait = (id: string): boolean => id.startsWith('appr_');
const asRequest = ({ requestId, ip, keyId }: RequestContext): ConnectionRequest => ({ requestId, ip, keyId });
