// What one user's connection to a tool server sends to show whose rights its calls have: a token by the SDK's AuthProvider, or headers
// of the user's own. A refused token is renewed once; then the user has to sign in.
import {
  type AuthProvider,
  extractWWWAuthenticateParams,
  InsufficientScopeError,
  SdkHttpError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { holdSecrets, secretsOfHeader } from '#libs/audit/known-secrets.js';
import { ConnectionNeeded, neededAt } from '#libs/connections/connection-needed.js';
import { scopesOf } from '#libs/connections/connection-secrets.js';
import type { ConnectionStore } from '#libs/connections/connection-store.js';
import type { ConnectionTokens, Credential } from '#libs/connections/connection-tokens.js';
import type { ConnectedServer } from '#libs/connections/issuer.js';
import type { BoundedFetch } from '../wire/bounded-fetch.js';

/** The part of the vault that workers use. */
export interface ServerCredentials {
  store: Pick<ConnectionStore, 'anyConnected' | 'want' | 'end'>;
  tokens: Pick<ConnectionTokens, 'credentialFor'>;
}

type Fetch = BoundedFetch['fetch'];

const credentialMs = 60_000;

export class ServerAccess {
  readonly provider: AuthProvider = {
    token: async () => (this.server.auth.kind === 'headers' ? undefined : (await this.current())?.token),
    onUnauthorized: ({ response }) => this.renew(response),
  };
  private latest: Credential | undefined;
  /** The version that has replaced a refused one. */
  private renewed: string | undefined;
  /** The version that a refusal was about, unless it was older than the latest. */
  private readonly refusals = new WeakMap<Response, string>();
  private forget: (() => void) | undefined;

  /** @param principal '' for a listing, which begins without a token */
  constructor(
    private readonly server: ConnectedServer,
    private readonly principal: string,
    private readonly connections: ServerCredentials,
  ) {}

  /** Adds the user's headers, and looks at refusals before the SDK does. */
  around(fetch: Fetch): Fetch {
    return async (url, init) => {
      const headers = new Headers(init?.headers);
      if (this.server.auth.kind === 'headers') {
        for (const [name, value] of Object.entries((await this.current())?.headers ?? {})) headers.set(name, value);
      }
      const sent = this.latest;
      const isLatest = sent?.token === undefined || headers.get('authorization') === `Bearer ${sent.token}`;
      const response = await fetch(url, { ...init, headers });
      if (response.status === 401 && sent !== undefined && isLatest) await this.refused(response, sent);
      if (response.status === 403 && sent !== undefined && isLatest) await this.noteWanted(response, sent);
      return response;
    };
  }

  /** What an error of the SDK means for the user. Undefined: it is about something else. */
  needed(error: unknown): ConnectionNeeded | undefined {
    if (error instanceof ConnectionNeeded) return error;
    if (this.server.auth.kind === 'client_credentials') return undefined;
    if (error instanceof InsufficientScopeError) return this.signIn(error.requiredScope);
    const isRefused =
      error instanceof UnauthorizedError || (error instanceof SdkHttpError && error.data.status === 401);
    return isRefused ? this.signIn() : undefined;
  }

  close(): void {
    this.forget?.();
    this.forget = undefined;
  }

  private signIn(scope?: string): ConnectionNeeded {
    return neededAt(this.server, scopesOf(scope));
  }

  private async current(refused?: string): Promise<Credential | undefined> {
    const isOwn = this.server.auth.kind === 'client_credentials';
    if (this.principal === '' && !isOwn) return undefined;
    const limit = AbortSignal.timeout(credentialMs);
    const credential = await this.connections.tokens.credentialFor(this.principal, this.server, limit, refused);
    if (credential.version !== this.latest?.version) {
      const { token, headers = {} } = credential;
      const secrets = [...(token === undefined ? [] : [token]), ...Object.values(headers).flatMap(secretsOfHeader)];
      const before = this.forget;
      this.forget = holdSecrets(secrets);
      before?.();
      this.latest = credential;
    }
    return credential;
  }

  private async renew(response: Response): Promise<void> {
    const refused = this.refusals.get(response);
    const { scope } = extractWWWAuthenticateParams(response);
    const credential = await this.current(refused).catch((error: unknown) => {
      throw error instanceof ConnectionNeeded ? neededAt(this.server, [...error.scopes, ...scopesOf(scope)]) : error;
    });
    if (credential === undefined) throw this.signIn(scope);
    if (refused !== undefined) this.renewed = credential.version;
  }

  /** A server that refuses a token that was just renewed will not take another one of the same sign-in. */
  private async refused(response: Response, { version }: Credential): Promise<void> {
    this.refusals.set(response, version);
    if (version !== this.renewed || this.principal === '') return;
    await this.connections.store.end({ principal: this.principal, server: this.server.name, version }, 'error');
  }

  private async noteWanted(response: Response, { version }: Credential): Promise<void> {
    const { error, scope } = extractWWWAuthenticateParams(response);
    if (error !== 'insufficient_scope' || this.principal === '') return;
    const key = { principal: this.principal, server: this.server.name, version };
    await this.connections.store.want(key, scopesOf(scope));
  }
}
