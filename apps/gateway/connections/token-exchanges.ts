// The tokens of callers, exchanged for those of the tool servers that they call. No job has a caller's token, so the gateway does it
// before it queues the call. A caller without one may still have a connection: the worker of the call looks.
import { z } from 'zod';
import { allowsServer, type Caller } from '#libs/access/access.js';
import { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import type { ConnectionTokens } from '#libs/connections/connection-tokens.js';
import type { ConnectedServer } from '#libs/connections/issuer.js';
import { secondsLeft } from '#libs/connections/token-exchange.js';
import type { Logger } from '#libs/logging/logger.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { Wait } from '#libs/waits/wait.js';
import { parkedOutcome } from '#libs/waits/wait-kinds.js';
import type { Waits } from '../govern/waits.js';

export interface TokenExchangesParts {
  /** Those whose tokens are exchanged, by name. */
  servers: ReadonlyMap<string, ConnectedServer>;
  tokens: Pick<ConnectionTokens, 'exchange'>;
  /** Whether tools of the server are known. */
  isListed: (server: string) => boolean;
  /** Tells workers of a connection with which they can list tools. Must not reject. */
  announce: (connection: { principal: string; server: string }) => Promise<void>;
  /** Where calls wait for another token. */
  waits: () => Pick<Waits, 'connected' | 'decide'>;
  logger: Logger;
}

/** A token that ends sooner is worth no exchange. */
const leastSeconds = 1;

export class TokenExchanges {
  private readonly closed = new AbortController();
  private readonly listing = new Set<Promise<void>>();

  constructor(private readonly parts: TokenExchangesParts) {}

  isFor(server: string): boolean {
    return this.parts.servers.has(server);
  }

  /** False if the caller has no token. @throws AppError tool_unavailable, store_unavailable; the signal's reason */
  async beforeCall(name: string, caller: RequestContext, scopes?: readonly string[]): Promise<boolean> {
    const { principal, callerToken, signal, requestId, ip, keyId } = caller;
    const token = callerToken?.();
    const server = this.parts.servers.get(name);
    if (server === undefined || token === undefined || secondsLeft(token) < leastSeconds) return false;
    await this.parts.tokens.exchange({ principal, token, requestId, ip, keyId }, server, signal, scopes);
    return true;
  }

  /**
   * The server of the parked call has refused the token, or asks for more scopes. What the issuer does not give ends the call.
   * @throws AppError store_unavailable, approval_already_decided; the signal's reason
   */
  async again({ id, server, schema }: Wait, caller: RequestContext): Promise<ToolOutcome | undefined> {
    const waits = this.parts.waits();
    const scopes = z.array(z.string()).catch([]).parse(schema?.['scopes']);
    try {
      if (!(await this.beforeCall(server, caller, scopes))) throw new ConnectionNeeded(server, scopes, false);
    } catch (error) {
      caller.signal.throwIfAborted();
      if (!(error instanceof AppError)) throw error;
      return parkedOutcome(await waits.decide(id, { decision: 'deny', reason: error.message }, caller));
    }
    await waits.connected(caller.principal, server, caller);
    return undefined;
  }

  /** Nobody calls tools that nobody could list, so they are listed with the rights of the first who may use them. */
  signedIn({ principal, access }: Caller, token: string): void {
    const { servers, isListed, announce, tokens, logger } = this.parts;
    const { signal } = this.closed;
    for (const server of servers.values()) {
      const { name } = server;
      if (signal.aborted || isListed(name) || !allowsServer(access, name)) continue;
      const made = tokens
        .exchange({ principal, token, requestId: '' }, server, signal)
        .then(() => announce({ principal, server: name }))
        .catch((error: unknown) => {
          if (!signal.aborted)
            logger.warn({ error, metadata: { server: name } }, 'no token to list the tools of a server');
        })
        .finally(() => this.listing.delete(made));
      this.listing.add(made);
    }
  }

  async close(): Promise<void> {
    this.closed.abort(new Error('the gateway is stopping'));
    await Promise.all(this.listing);
  }
}
