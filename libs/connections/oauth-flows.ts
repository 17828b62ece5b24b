// Sign-ins of users to tool servers: begun for a principal, opened in a browser, completed by what the issuer sends back with it. The
// state works once, for ten minutes, and for whom it was begun. How the browser gets here is the gateway's matter.
import { createHash, randomBytes } from 'node:crypto';
import {
  exchangeAuthorization,
  startAuthorization,
  validateAuthorizationResponseIssuer,
} from '@modelcontextprotocol/client';
import type { Database } from '#libs/postgres/open-database.js';
import { storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { accountOf, type ConnectionSecrets, connectionOwner, scopesOf, secretsOf } from './connection-secrets.js';
import type {
  ConnectionKey,
  ConnectionRequest,
  ConnectionStore,
  NewConnection,
  StoredConnection,
} from './connection-store.js';
import { type IssuerClients, redirectUriOf } from './issuer-clients.js';
import {
  askForChallenge,
  type ConnectedServer,
  fetchFor,
  findIssuer,
  type FoundIssuer,
  type Issuer,
  type IssuerClient,
  IssuerRefused,
  ofIssuer,
  unusable,
} from './issuer.js';
import { flowMs } from './flow-life.js';
import { issuerMs } from './issuer-fetch.js';
import { revokeTokens } from './revoke-tokens.js';
import { SignInRefused } from './sign-in-refused.js';
import type { SealedFor, Vault } from './vault.js';

export interface OAuthFlowsParts {
  database: Pick<Database, 'query'>;
  store: ConnectionStore;
  vault: Vault;
  clients: IssuerClients;
  /** Where people reach the gateway, without a slash at the end. */
  publicUrl: string;
  /** Servers with `auth`, as they are configured now. */
  serverNamed: (name: string) => ConnectedServer | undefined;
  /** Private addresses that issuers may have: `tools.fetch_allow`. */
  allow: readonly string[];
  /** Called when the tokens of a connection have become others, or none. */
  onChanged?: (key: ConnectionKey) => void;
}

/** What the issuer sends back with the browser. */
export interface SignInAnswer {
  state: string;
  code?: string | undefined;
  iss?: string | undefined;
  error?: string | undefined;
}

export interface CompletedSignIn {
  connection: StoredConnection;
  returnTo: string | undefined;
}

/** Whose sign-in it is, at which server. */
export interface PendingSignIn extends ConnectionKey {
  id: string;
}

interface OpenedFlow extends Issuer {
  client: IssuerClient;
  verifier: string;
  scope: string | undefined;
  resourceUrl: string;
}

interface StoredFlow extends PendingSignIn {
  returnTo: string | null;
  sealed: string | null;
}

/** Open ones of a principal, so that nobody fills the table. */
const maxFlows = 20;
/** Discovery, registration and what is between. */
const openMs = 3 * issuerMs;
const shown = `id, principal, server, return_to as "returnTo", sealed`;

/** Old flows go with each new one. */
const begin = `/* connection-flows.begin */
  with gone as (delete from connection_flows where expires_at < clock_timestamp() - interval '1 day')
  insert into connection_flows (id, principal, server, return_to, expires_at)
  select $1, $2, $3, $4, clock_timestamp() + $5::float8 * interval '1 millisecond'
  where (select count(*) from connection_flows where principal = $2 and expires_at > clock_timestamp()) < $6
  returning expires_at as "expiresAt"`;
const find = `/* connection-flows.find */ select ${shown} from connection_flows where id = $1 and expires_at > clock_timestamp()`;
const findState = `/* connection-flows.find-state */ select ${shown} from connection_flows
  where state_hash = $1 and expires_at > clock_timestamp()`;
const open = `/* connection-flows.open */ update connection_flows set state_hash = $2, sealed = $3
  where id = $1 and expires_at > clock_timestamp() returning id`;
const take = `/* connection-flows.take */ delete from connection_flows
  where state_hash = $1 and expires_at > clock_timestamp() returning ${shown}`;

export class OAuthFlows {
  constructor(private readonly parts: OAuthFlowsParts) {}

  /** @throws AppError not_found, rate_limit_exceeded */
  async begin(principal: string, server: string, returnTo?: string): Promise<{ flowId: string; expiresAt: Date }> {
    this.known(server);
    const flowId = `flow_${uuidv7()}`;
    const values = [flowId, storedText(principal), server, storedTextOrNull(returnTo), flowMs, maxFlows];
    const [row] = await this.parts.database.query<{ expiresAt: Date }>(begin, values);
    if (row !== undefined) return { flowId, expiresAt: row.expiresAt };
    const message = `At most ${maxFlows} sign-ins may be open: complete one, or wait until they expire`;
    throw new AppError('rate_limit_exceeded', message, { retryAfterSeconds: 60 });
  }

  /** Uses nothing up. @throws AppError not_found */
  async pending(by: { flowId: string } | { state: string }): Promise<PendingSignIn> {
    const [statement, value] = 'flowId' in by ? [find, storedText(by.flowId)] : [findState, hashOf(by.state)];
    const [flow] = await this.parts.database.query<StoredFlow>(statement, [value]);
    if (flow === undefined) throw gone();
    const { id, principal, server } = flow;
    return { id, principal, server };
  }

  /**
   * Asks the server and its issuer, and returns the address at which the user signs in. Opened again, it begins anew.
   * @throws AppError not_found, tool_unavailable, tool_denied, store_unavailable
   */
  async open(flowId: string, signal: AbortSignal): Promise<string> {
    const { database, store, vault, clients, publicUrl } = this.parts;
    const [flow] = await database.query<StoredFlow>(find, [storedText(flowId)]);
    if (flow === undefined) throw gone();
    const server = this.known(flow.server);
    const fetch = fetchFor(server, this.parts.allow, AbortSignal.any([signal, AbortSignal.timeout(openMs)]));
    const found = await findIssuer(server, await askForChallenge(server, fetch), fetch);
    const { issuer, metadata, resource } = found;
    if (metadata !== undefined && metadata.code_challenge_methods_supported?.includes('S256') !== true) {
      throw unusable(server, 'it does not support PKCE with S256');
    }
    const scope = scopeFor(server, found, await store.get(flow));
    const client = await clients.clientFor(server, found, { scope, fetch });
    const state = randomBytes(32).toString('base64url');
    const { authorizationUrl, codeVerifier } = await ofIssuer(server, () =>
      startAuthorization(issuer, {
        metadata,
        clientInformation: client,
        redirectUrl: redirectUriOf(publicUrl),
        state,
        resource,
        ...(scope === undefined ? {} : { scope }),
      }),
    );
    if (!/^https?:$/.test(authorizationUrl.protocol)) throw unusable(server, 'its address for sign-ins is not HTTP');
    const opened: OpenedFlow = {
      issuer,
      metadata,
      resource,
      client,
      verifier: codeVerifier,
      scope,
      resourceUrl: server.url,
    };
    const sealed = vault.seal(opened, ownerOfFlow(flow));
    if ((await database.query(open, [flow.id, hashOf(state), sealed])).length === 0) throw gone();
    return authorizationUrl.href;
  }

  /**
   * Uses the state up, whatever comes of it.
   * @throws AppError not_found, invalid_value, tool_unavailable, store_unavailable
   */
  async complete(answer: SignInAnswer, signal: AbortSignal, request?: ConnectionRequest): Promise<CompletedSignIn> {
    const { database, store } = this.parts;
    const [flow] = await database.query<StoredFlow>(take, [hashOf(answer.state)]);
    if (flow === undefined || flow.sealed === null) throw gone();
    try {
      const made = await this.exchanged(flow, answer, signal);
      const connection = await store.connect(made, request);
      this.parts.onChanged?.(connection);
      return { connection, returnTo: flow.returnTo ?? undefined };
    } catch (failure) {
      // Without its row the reader still learns why.
      await store.noteRefused(flow, reasonOf(failure), request).catch(() => undefined);
      throw failure;
    }
  }

  private async exchanged(
    flow: StoredFlow,
    { code, iss, error }: SignInAnswer,
    signal: AbortSignal,
  ): Promise<NewConnection> {
    const { vault } = this.parts;
    const server = this.known(flow.server);
    const opened = vault.open(flow.sealed!, ownerOfFlow(flow)) as OpenedFlow;
    const { issuer, metadata, resource, client, verifier } = opened;
    // Checked before anything else of the answer is believed: it may come from another issuer.
    checkIssuer(opened, iss);
    if (opened.resourceUrl !== server.url) throw gone();
    if (error !== undefined || code === undefined) {
      throw new SignInRefused(error);
    }
    const fetch = fetchFor(server, this.parts.allow, AbortSignal.any([signal, AbortSignal.timeout(issuerMs)]));
    const given = { metadata, clientInformation: client, authorizationCode: code, iss, codeVerifier: verifier };
    const tokens = await ofIssuer(server, () =>
      exchangeAuthorization(issuer, {
        ...given,
        redirectUri: redirectUriOf(this.parts.publicUrl),
        resource,
        fetchFn: fetch,
      }),
    ).catch(async (failure: unknown) => {
      if (failure instanceof IssuerRefused && failure.reason === 'invalid_client')
        await this.parts.clients.forget(issuer);
      throw failure;
    });
    const secrets = secretsOf(opened, tokens);
    return {
      principal: flow.principal,
      server: flow.server,
      issuer,
      resource: server.url,
      sealed: vault.seal(secrets, connectionOwner(flow, issuer)),
      // An issuer that names no scopes has given those that were asked for.
      scopes: scopesOf(tokens.scope ?? opened.scope),
      account: accountOf(tokens),
      expiresInMs: secrets.lifeMs,
    };
  }

  /** The secrets that a user gives for `kind: headers`. @throws AppError not_found, invalid_value */
  async connectHeaders(
    { principal, server: name }: ConnectionKey,
    headers: Readonly<Record<string, unknown>>,
    request?: ConnectionRequest,
  ): Promise<StoredConnection> {
    const server = this.named(name, 'headers');
    for (const wanted of server.auth.names ?? []) {
      const value = headers[wanted];
      if (typeof value !== 'string' || !/^[\t\x20-\x7e]{1,8192}$/.test(value)) {
        throw new AppError('invalid_value', `The header '${wanted}' needs a value of printable characters`, {
          param: wanted,
        });
      }
    }
    const given = Object.fromEntries(
      (server.auth.names ?? []).map((each) => [each.toLowerCase(), headers[each] as string]),
    );
    const secrets: ConnectionSecrets = { kind: 'headers', headers: given };
    const key = { principal, server: name };
    const sealed = this.parts.vault.seal(secrets, connectionOwner(key, ''));
    const made = { ...key, issuer: '', resource: server.url, sealed, scopes: [] };
    const connection = await this.parts.store.connect(made, request);
    this.parts.onChanged?.(connection);
    return connection;
  }

  /** Removes the connection, and revokes its tokens if the issuer can (RFC 7009). False if there was none. */
  async revoke(key: ConnectionKey, signal: AbortSignal, request?: ConnectionRequest): Promise<boolean> {
    const removed = await this.parts.store.remove(key, request);
    if (removed === undefined) return false;
    this.parts.onChanged?.(removed);
    if (removed.sealed === null) return true;
    const server = this.parts.serverNamed(key.server) ?? formerServer(removed);
    const secrets = this.readable(removed.sealed, connectionOwner(removed, removed.issuer));
    if (secrets?.kind !== 'oauth') return true;
    const fetch = fetchFor(server, this.parts.allow, AbortSignal.any([signal, AbortSignal.timeout(issuerMs)]));
    await revokeTokens(secrets, fetch);
    return true;
  }

  /** Undefined if its key is no longer configured: then there is nothing that could be given back. */
  private readable(sealed: string, owner: SealedFor): ConnectionSecrets | undefined {
    try {
      return this.parts.vault.open(sealed, owner) as ConnectionSecrets;
    } catch {
      return undefined;
    }
  }

  private known(name: string): ConnectedServer {
    return this.named(name, 'oauth');
  }

  private named(name: string, kind: ConnectedServer['auth']['kind']): ConnectedServer {
    const server = this.parts.serverNamed(name);
    if (server?.auth.kind === kind) return server;
    throw new AppError('not_found', 'There is no tool server of this name that users connect to in this way');
  }
}

/** A server that is configured no more, with the address that it was configured with. */
const formerServer = ({ server: name, resource: url }: StoredConnection): ConnectedServer => ({
  name,
  url,
  auth: { kind: 'oauth' },
});

/** For the audit. */
const reasonOf = (failure: unknown): string =>
  failure instanceof SignInRefused || failure instanceof IssuerRefused ? failure.reason : toAppError(failure).code;

/** RFC 9207. @throws AppError invalid_value */
function checkIssuer({ issuer, metadata }: Issuer, iss: string | undefined): void {
  const issParameterSupported = metadata?.authorization_response_iss_parameter_supported === true;
  try {
    validateAuthorizationResponseIssuer({ iss, expectedIssuer: metadata && issuer, issParameterSupported });
  } catch {
    const message = 'The answer is not from the issuer that the sign-in was begun at';
    throw new AppError('invalid_value', message, { param: 'iss' });
  }
}

/** The configured scopes, else those that the server names; with those that were given before, and those that it asked for since. */
function scopeFor(
  server: ConnectedServer,
  { scope, metadata }: FoundIssuer,
  row: StoredConnection | undefined,
): string | undefined {
  const named = server.auth.scopes ?? scopesOf(scope);
  const before = row === undefined ? [] : [...(row.wantedScopes.length === 0 ? [] : row.scopes), ...row.wantedScopes];
  const all = new Set([...named, ...before]);
  const offers = metadata?.['scopes_supported'];
  // For a refresh token.
  if (all.size > 0 && Array.isArray(offers) && offers.includes('offline_access')) all.add('offline_access');
  return all.size === 0 ? undefined : [...all].join(' ');
}

const gone = () =>
  new AppError('not_found', 'The sign-in is over: it was used, has expired, or never began. Begin it again');
const hashOf = (state: string): string => createHash('sha256').update(state).digest('hex');
const ownerOfFlow = ({ id, principal, server }: StoredFlow) => ['flow', id, principal, server];
