// The token of a call to a tool server. One that is about to end is renewed or exchanged first, by one process at a time: the others
// wait for what it stores. New tokens are stored before they are used. A connection whose tokens are refused ends.
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { refreshAuthorization } from '@modelcontextprotocol/client';
import { GrowingPause } from '#libs/concurrency/growing-pause.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { AppError } from '#libs/schemas/errors.js';
import { isStoreAway } from '#libs/store-error/store-error.js';
import { neededAt } from './connection-needed.js';
import {
  type ConnectionSecrets,
  type OAuthSecrets,
  connectionOwner,
  scopesOf,
  secretsOf,
} from './connection-secrets.js';
import type { ConnectionKey, ConnectionRequest, ConnectionStore, StoredConnection } from './connection-store.js';
import {
  askForChallenge,
  configuredClient,
  type ConnectedServer,
  fetchFor,
  findIssuer,
  IssuerRefused,
  ofIssuer,
  ownToken,
} from './issuer.js';
import { IssuerAway, type IssuerFetch, issuerMs } from './issuer-fetch.js';
import { exchangedTokens, type IssuedTokens } from './token-exchange.js';
import type { Vault } from './vault.js';

export interface ConnectionTokensParts {
  store: ConnectionStore;
  vault: Vault;
  /** Private addresses that issuers may have: `tools.fetch_allow`. */
  allow: readonly string[];
}

/** What is sent to a server, and which version of the connection it is of. */
export interface Credential {
  token?: string;
  headers?: Readonly<Record<string, string>>;
  version: string;
}

/** A caller with a token of the issuer, which has been verified. */
export interface ExchangingCaller extends ConnectionRequest {
  principal: string;
  token: string;
}

/** How tokens are got without those before. */
interface TokenSource {
  ask: (fetch: IssuerFetch, before: StoredConnection) => Promise<IssuedTokens>;
  /** Tokens without them are not enough. */
  scopes?: readonly string[];
  /** For the audit of a connection of somebody. */
  request?: ConnectionRequest;
}

/** Tokens that last less than twice as long are renewed after half their life. */
const renewBeforeMs = 30_000;
/** Several requests to the issuer, and writing down what it said. */
const renewMs = 3 * issuerMs;
const storeMs = 10_000;
const leaseMs = renewMs + storeMs + 5_000;
const waitMs = { least: 20, most: 250 };

export class ConnectionTokens {
  /** Renewals of this process, by connection. */
  private readonly renewing = new Map<string, Promise<void>>();

  constructor(private readonly parts: ConnectionTokensParts) {}

  /**
   * @param refused The version whose token the server has refused.
   * @throws ConnectionNeeded; AppError tool_unavailable, store_unavailable; the signal's reason
   */
  async credentialFor(
    principal: string,
    server: ConnectedServer,
    signal: AbortSignal,
    refused?: string,
  ): Promise<Credential> {
    const isOwn = server.auth.kind === 'client_credentials';
    const source = isOwn ? { ask: (fetch: IssuerFetch) => ownTokens(server, fetch) } : undefined;
    return this.current(isOwn ? '' : principal, server, signal, { refused, source });
  }

  /**
   * Exchanges the caller's token if there is no connection that lasts, or none with these scopes: then also for those that it had before.
   * @throws AppError tool_unavailable, IssuerRefused, store_unavailable; the signal's reason
   */
  async exchange(
    caller: ExchangingCaller,
    server: ConnectedServer,
    signal: AbortSignal,
    scopes: readonly string[] = [],
  ): Promise<void> {
    const { principal, token: callerToken, ...request } = caller;
    const ask: TokenSource['ask'] = (fetch, before) => {
      const more = scopes.length === 0 ? [] : [...before.scopes, ...scopes];
      return exchangedTokens(server, { callerToken, more }, fetch);
    };
    const source = { ask, scopes, request };
    await this.current(principal, server, signal, { source });
  }

  private async current(
    principal: string,
    server: ConnectedServer,
    signal: AbortSignal,
    { refused, source }: { refused?: string | undefined; source: TokenSource | undefined },
  ): Promise<Credential> {
    const key: ConnectionKey = { principal, server: server.name };
    const until = performance.now() + leaseMs;
    const pauses = new GrowingPause(waitMs);
    for (;;) {
      signal.throwIfAborted();
      const row = await this.parts.store.get(key);
      const usable = row !== undefined && this.isFor(row, server) && row.sealed !== null ? row : undefined;
      const isEnough = lackingIn(row?.scopes ?? [], source).length === 0;
      if (usable === undefined && source === undefined) throw neededAt(server, row?.wantedScopes);
      const secrets = usable && this.open(usable);
      const isFresh = secrets !== undefined && usable!.version !== refused && lastsMs(usable!) > renewBefore(secrets);
      if (isFresh && isEnough) {
        return toCredential(secrets, usable!.version);
      }
      if (usable !== undefined && source === undefined && !canRenew(secrets)) {
        return this.last(usable, server, secrets!, refused);
      }
      if (performance.now() > until)
        throw new AppError('tool_unavailable', `The token for '${server.name}' is not renewed`);
      if (row === undefined) {
        await this.parts.store.reserve(key, server.url);
        continue;
      }
      try {
        const isDone = await unlessAborted(this.renewOnce(row, server, source), signal);
        if (!isDone) await pause(pauses.next(), undefined, { signal });
      } catch (error) {
        const isGood = secrets !== undefined && isEnough && row.version !== refused && lastsMs(row) > 0;
        if (!isGood || !(error instanceof IssuerAway)) throw error;
        return toCredential(secrets, row.version);
      }
    }
  }

  /** Secrets of an address that was configured before are not sent to another. */
  private isFor({ state, resource }: StoredConnection, { url }: ConnectedServer): boolean {
    return state === 'connected' && resource === url;
  }

  private open(row: StoredConnection): ConnectionSecrets {
    return this.parts.vault.open(row.sealed!, connectionOwner(row, row.issuer)) as ConnectionSecrets;
  }

  /** A token that cannot be renewed is used as long as it lasts. @throws ConnectionNeeded */
  private async last(
    row: StoredConnection,
    server: ConnectedServer,
    secrets: ConnectionSecrets,
    refused: string | undefined,
  ): Promise<Credential> {
    if (row.version !== refused && lastsMs(row) > 0) return toCredential(secrets, row.version);
    await this.parts.store.end(row);
    throw neededAt(server, row.wantedScopes);
  }

  /** False if another process renews it. A caller that leaves ends nothing: the issuer may have taken the old token back. */
  private async renewOnce(
    row: StoredConnection,
    server: ConnectedServer,
    source: TokenSource | undefined,
  ): Promise<boolean> {
    const id = JSON.stringify([row.principal, row.server, source?.scopes]);
    const running = this.renewing.get(id);
    if (running !== undefined) return running.then(() => true);
    const holder = randomUUID();
    if (!(await this.parts.store.lease(row, { version: row.version, holder, forMs: leaseMs }))) return false;
    const renewal = this.renew(row, server, { holder, source }).finally(() => this.renewing.delete(id));
    this.renewing.set(id, renewal);
    return renewal.then(() => true);
  }

  private async renew(
    row: StoredConnection,
    server: ConnectedServer,
    { holder, source }: { holder: string; source: TokenSource | undefined },
  ): Promise<void> {
    const { store, vault } = this.parts;
    const { principal, server: name } = row;
    const fetch = fetchFor(server, this.parts.allow, AbortSignal.timeout(renewMs));
    try {
      const { tokens, ...asked } = await (source?.ask(fetch, row) ?? this.refreshed(row, server, fetch));
      const secrets = secretsOf(asked, tokens);
      const key = { principal, server: name, issuer: asked.issuer, resource: server.url };
      const sealed = vault.seal(secrets, connectionOwner(key, key.issuer));
      const scopes = tokens.scope === undefined ? undefined : scopesOf(tokens.scope);
      // The tokens before stay as good as they were.
      if (lackingIn(scopes ?? [], source).length > 0) throw new IssuerRefused(name, 'insufficient_scope');
      const satisfied = source?.scopes !== undefined && source.scopes.length > 0;
      const renewed = { sealed, scopes, expiresInMs: secrets.lifeMs, satisfied };
      await untilStored(() => store.renew(key, holder, renewed, source?.request));
    } catch (error) {
      if (error instanceof IssuerRefused && source === undefined) return untilStored(() => store.end(row));
      await store.leave(row, holder).catch(() => undefined);
      if (error instanceof IssuerRefused && source?.request !== undefined) {
        // Without its row the caller still learns why.
        await store.noteRefused(row, error.reason, source.request).catch(() => undefined);
      }
      throw error;
    }
  }

  private async refreshed(row: StoredConnection, server: ConnectedServer, fetchFn: IssuerFetch): Promise<IssuedTokens> {
    const { issuer, metadata, resource, client: registered, refreshToken = '' } = this.open(row) as OAuthSecrets;
    // A secret that was changed at the issuer is changed in the configuration.
    const client = configuredClient(server) ?? registered;
    const given = { metadata, clientInformation: client, refreshToken, resource, fetchFn };
    const tokens = await ofIssuer(server, () => refreshAuthorization(issuer, given));
    return { issuer, metadata, resource, client, tokens };
  }
}

async function ownTokens(server: ConnectedServer, fetch: IssuerFetch): Promise<IssuedTokens> {
  const found = await findIssuer(server, await askForChallenge(server, fetch), fetch);
  const { issuer, metadata, resource } = found;
  // The configuration has the secret.
  const client = { client_id: server.auth.client_id! };
  return { issuer, metadata, resource, client, tokens: await ownToken(server, found, fetch) };
}

const lackingIn = (scopes: readonly string[], source: TokenSource | undefined): string[] =>
  (source?.scopes ?? []).filter((each) => !scopes.includes(each));

/** How long the token is good for. Issuers need not say it. */
const lastsMs = (row: StoredConnection): number => row.lastsMs ?? Infinity;

const renewBefore = (secrets: ConnectionSecrets): number =>
  Math.min(renewBeforeMs, secrets.kind === 'oauth' ? (secrets.lifeMs ?? Infinity) / 2 : 0);

const canRenew = (secrets: ConnectionSecrets | undefined): boolean =>
  secrets?.kind === 'oauth' && secrets.refreshToken !== undefined;

const toCredential = (secrets: ConnectionSecrets, version: string): Credential =>
  secrets.kind === 'oauth' ? { token: secrets.accessToken, version } : { headers: secrets.headers, version };

/** The old tokens may be worth nothing any more, so an outage of the store is waited for. */
async function untilStored<T>(write: () => Promise<T>): Promise<T> {
  const until = performance.now() + storeMs;
  const pauses = new GrowingPause(waitMs);
  for (;;) {
    try {
      return await write();
    } catch (error) {
      if (!isStoreAway(error) || performance.now() > until) throw error;
      await pause(pauses.next());
    }
  }
}
