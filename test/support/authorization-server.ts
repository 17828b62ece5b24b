// An authorization server controlled by a test, and the MCP server that it protects, on one port: discovery, registration,
// authorization with PKCE, tokens with rotation and reuse detection, revocation. Its faults are members that a test changes.
import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { protectedMcp } from './protected-mcp.js';
import { assertionGrant, exchangeGrant, type TokenGrant, TokenGrants, unsigned } from './token-grants.js';

export interface IssuerFaults {
  /** The server names no issuer, as before there was metadata of resources. */
  undescribed?: boolean;
  /** The issuer in answers of the authorization endpoint; '' for none. */
  iss?: string;
  /** Metadata that replaces the usual; undefined removes a member. */
  metadata?: Record<string, unknown>;
  /** Of the protected resource. */
  resourceMetadata?: Record<string, unknown>;
  /** The user refuses, with this error. */
  refusal?: string;
  /** Every token request gets this error. */
  tokenError?: { status: number; body: string };
  /** The audience is refused. */
  refusedAudience?: string;
  /** Nobody gets tokens with this scope by exchange. */
  refusedScope?: string;
  /** How long a token request takes, ms. */
  slowMs?: number;
  /** Members of a registered client that replace the usual. */
  registered?: Record<string, unknown>;
  /** Redirects every metadata request there. */
  redirect?: string;
}

interface Code extends TokenGrant {
  challenge: string;
  redirectUri: string;
}

const sha256 = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');
/** What the MCP server answers nobody who has not signed in, even if anybody may list. */
const asksForUser = new Set(['tools/call', 'resources/read', 'prompts/get']);
const made = (kind: string) => `${kind}-${randomBytes(18).toString('base64url')}`;

export interface AuthorizationServerOptions {
  /** How long access tokens last. */
  tokenSeconds?: number;
  /** Scopes that calls of tools take, by tool. */
  scopes?: Record<string, string>;
  /** Whether anybody may list the tools. */
  listsOpenly?: boolean;
  /** Signed by nobody: what the issuer says of the user. */
  idToken?: boolean;
  /** Whose keys sign the tokens of users, which it then exchanges: it takes the place of their `iss`. */
  users?: { url: string };
}

export async function startAuthorizationServer(options: AuthorizationServerOptions = {}) {
  const clients = new Map<string, { secret?: string; method: string }>();
  const codes = new Map<string, Code>();
  const accessTokens = new Map<string, TokenGrant & { until: number }>();
  const refreshTokens = new Map<string, TokenGrant & { used: boolean }>();
  /** What arrived: `METHOD path` with the parameters of the form. */
  const asked: { path: string; form: URLSearchParams; authorization: string | undefined }[] = [];
  const calls: { user: string; tool: string }[] = [];
  const tokens: string[] = [];
  const world = {
    url: '',
    mcpUrl: '',
    faults: {} as IssuerFaults,
    /** Who is signed in at the issuer's page. */
    user: 'alice',
    tokenSeconds: options.tokenSeconds ?? 3_600,
    /** The MCP server takes no token at all. */
    refusesAll: false,
    asked,
    calls,
    /** Everything secret that was issued. */
    tokens,
    clients,
    countOf: (path: string, grant?: string) =>
      asked.filter((each) => each.path === path && (grant === undefined || each.form.get('grant_type') === grant))
        .length,
    /** As a browser: opens the address, signs in and returns where it is sent. */
    async signIn(address: string): Promise<URL> {
      const answer = await fetch(address, { redirect: 'manual' });
      const location = answer.headers.get('location');
      if (location === null) throw new Error(`the issuer answered ${answer.status}: ${await answer.text()}`);
      return new URL(location);
    },
    revokeAll: () => {
      accessTokens.clear();
      refreshTokens.clear();
    },
    expireAccess: () => accessTokens.clear(),
    /** A key that the MCP server takes in the header `x-key`. */
    giveKey: (user: string): string => {
      const key = made('key');
      accessTokens.set(key, { user, scope: 'read', client: '', resource: '', until: Infinity });
      tokens.push(key);
      return key;
    },
    async stop(): Promise<void> {
      await mcp.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };

  const mcp = protectedMcp(calls);

  const metadata = () => ({
    issuer: world.url,
    authorization_endpoint: `${world.url}/authorize`,
    token_endpoint: `${world.url}/token`,
    registration_endpoint: `${world.url}/register`,
    revocation_endpoint: `${world.url}/revoke`,
    response_types_supported: ['code'],
    grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    authorization_response_iss_parameter_supported: true,
    ...(options.users === undefined ? {} : { jwks_uri: `${options.users.url}/keys` }),
    ...world.faults.metadata,
  });

  const issue = (grant: TokenGrant, refreshable: boolean) => {
    const accessToken = made('access');
    accessTokens.set(accessToken, { ...grant, until: Date.now() + world.tokenSeconds * 1_000 });
    tokens.push(accessToken);
    const body: Record<string, unknown> = {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: world.tokenSeconds,
      scope: grant.scope,
    };
    if (options.idToken === true) body['id_token'] = unsigned({ sub: grant.user, email: `${grant.user}@example.com` });
    if (refreshable) {
      const refreshToken = made('refresh');
      refreshTokens.set(refreshToken, { ...grant, used: false });
      tokens.push(refreshToken);
      body['refresh_token'] = refreshToken;
    }
    return body;
  };

  const grants = new TokenGrants();
  const granting = { issue, keep: (secret: string) => void tokens.push(secret) };

  const authorize = (query: URLSearchParams): Answer => {
    const redirectUri = query.get('redirect_uri') ?? '';
    const to = new URL(redirectUri);
    to.searchParams.set('state', query.get('state') ?? '');
    const iss = world.faults.iss ?? world.url;
    if (iss !== '') to.searchParams.set('iss', iss);
    if (world.faults.refusal !== undefined) to.searchParams.set('error', world.faults.refusal);
    else {
      if (query.get('code_challenge_method') !== 'S256') return [400, { error: 'invalid_request' }];
      const code = made('code');
      codes.set(code, {
        user: world.user,
        scope: query.get('scope') ?? '',
        client: query.get('client_id') ?? '',
        resource: query.get('resource') ?? '',
        challenge: query.get('code_challenge') ?? '',
        redirectUri,
      });
      to.searchParams.set('code', code);
    }
    return [302, {}, { location: to.href }];
  };

  const token = (form: URLSearchParams, authorization: string | undefined): Answer => {
    const client = clientOf(form, authorization);
    if (client === undefined) return [401, { error: 'invalid_client' }];
    switch (form.get('grant_type')) {
      case 'authorization_code': {
        const code = codes.get(form.get('code') ?? '');
        codes.delete(form.get('code') ?? '');
        const fits =
          code !== undefined &&
          code.client === client &&
          code.redirectUri === form.get('redirect_uri') &&
          code.resource === form.get('resource') &&
          code.challenge === sha256(form.get('code_verifier') ?? '');
        return fits ? [200, issue(code, true)] : [400, { error: 'invalid_grant' }];
      }
      case 'refresh_token': {
        const old = refreshTokens.get(form.get('refresh_token') ?? '');
        if (old === undefined || old.client !== client) return [400, { error: 'invalid_grant' }];
        if (old.used) {
          // A token that is used twice was stolen, so all end.
          world.revokeAll();
          return [400, { error: 'invalid_grant' }];
        }
        old.used = true;
        return [200, issue(old, true)];
      }
      case 'client_credentials':
        if (clients.get(client)?.secret === undefined) return [401, { error: 'invalid_client' }];
        return [
          200,
          issue({ user: client, scope: form.get('scope') ?? '', client, resource: form.get('resource') ?? '' }, false),
        ];
      case exchangeGrant:
        return grants.exchange(form, client, {
          ...granting,
          ...world.faults,
          issuer: world.url,
        });
      case assertionGrant:
        return grants.redeem(form, client, granting);
      default:
        return [400, { error: 'unsupported_grant_type' }];
    }
  };

  const clientOf = (form: URLSearchParams, authorization: string | undefined): string | undefined => {
    const basic = /^Basic (.+)$/.exec(authorization ?? '')?.[1];
    const [id, secret] =
      basic === undefined
        ? [form.get('client_id') ?? '', form.get('client_secret') ?? undefined]
        : (Buffer.from(basic, 'base64').toString().split(':') as [string, string]);
    const isDocument = id.endsWith('/.well-known/signalbox-client.json');
    if (isDocument) return id;
    const known = clients.get(id);
    return known !== undefined && known.secret === secret ? id : undefined;
  };

  const answer = async (request: IncomingMessage, url: URL): Promise<Answer> => {
    const body = request.method === 'POST' ? await text(request) : '';
    const { authorization } = request.headers;
    const isForm = request.headers['content-type']?.startsWith('application/x-www-form-urlencoded') === true;
    const form = new URLSearchParams(isForm ? body : '');
    asked.push({ path: url.pathname, form, authorization });
    if (url.pathname.startsWith('/.well-known/') && world.faults.redirect !== undefined) {
      return [302, {}, { location: world.faults.redirect }];
    }
    switch (url.pathname) {
      case '/.well-known/oauth-protected-resource/mcp':
        if (world.faults.undescribed === true) return [404, {}];
        return [
          200,
          {
            resource: world.mcpUrl,
            authorization_servers: [world.url],
            scopes_supported: ['read'],
            ...world.faults.resourceMetadata,
          },
        ];
      case '/.well-known/oauth-authorization-server':
      case '/.well-known/openid-configuration':
        return [200, metadata()];
      case '/register': {
        const wanted = JSON.parse(body) as { token_endpoint_auth_method?: string };
        const method = wanted.token_endpoint_auth_method ?? 'client_secret_basic';
        const id = made('client');
        const secret = method === 'none' ? undefined : made('secret');
        if (secret !== undefined) tokens.push(secret);
        clients.set(id, { method, ...(secret === undefined ? {} : { secret }) });
        const registered = { client_id: id, client_secret: secret, client_secret_expires_at: 0 };
        return [201, { ...wanted, ...registered, ...world.faults.registered }];
      }
      case '/authorize':
        return authorize(url.searchParams);
      case '/token': {
        const { slowMs, tokenError } = world.faults;
        if (slowMs !== undefined) await new Promise((resolve) => setTimeout(resolve, slowMs));
        if (tokenError !== undefined) return [tokenError.status, tokenError.body];
        return token(form, authorization);
      }
      case '/revoke':
        refreshTokens.delete(form.get('token') ?? '');
        accessTokens.delete(form.get('token') ?? '');
        return [200, {}];
      default:
        return [404, {}];
    }
  };

  const challenge = (parameters: string) =>
    `Bearer resource_metadata="${world.url}/.well-known/oauth-protected-resource/mcp"${parameters}`;

  const serveMcp = async (request: IncomingMessage): Promise<Response> => {
    const body = request.method === 'POST' ? await text(request) : undefined;
    const bearer =
      /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? request.headers['x-key']?.toString();
    const grant = accessTokens.get(bearer ?? '');
    const message = body === undefined ? {} : (JSON.parse(body) as { method?: string; params?: { name?: string } });
    const isOpen = options.listsOpenly === true && !asksForUser.has(message.method ?? '');
    const valid = grant !== undefined && grant.until > Date.now() && !world.refusesAll;
    if (!isOpen && !valid) {
      const error = bearer === undefined ? '' : ', error="invalid_token"';
      const headers = { 'www-authenticate': challenge(`${error}, scope="read"`) };
      return new Response('', { status: 401, headers });
    }
    // Below it are operations of an API: `/mcp/whoami`.
    const operation = /^\/mcp\/(\w+)$/.exec(request.url ?? '')?.[1];
    const needed = options.scopes?.[operation ?? message.params?.name ?? ''];
    const isCall = operation !== undefined || message.method === 'tools/call';
    if (isCall && needed !== undefined && !grant!.scope.split(' ').includes(needed)) {
      const headers = { 'www-authenticate': challenge(`, error="insufficient_scope", scope="${needed}"`) };
      return new Response('', { status: 403, headers });
    }
    if (operation !== undefined) return Response.json({ user: grant!.user, sent: bearer });
    const headers = new Headers();
    for (const [name, value] of Object.entries(request.headers)) headers.set(name, String(value));
    headers.set('x-user', grant?.user ?? 'nobody');
    const method = request.method ?? 'GET';
    return mcp.fetch(new Request(world.mcpUrl, { method, headers, ...(body === undefined ? {} : { body }) }));
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url!, world.url);
    if (url.pathname === '/mcp' || url.pathname.startsWith('/mcp/')) {
      const served = await serveMcp(request);
      response.writeHead(served.status, Object.fromEntries(served.headers));
      if (served.body !== null) for await (const piece of served.body) response.write(piece);
      response.end();
      return;
    }
    const [status, body, headers = {}] = await answer(request, url);
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  world.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  world.mcpUrl = `${world.url}/mcp`;
  return world;
}

export type AuthorizationServer = Awaited<ReturnType<typeof startAuthorizationServer>>;

type Answer = [status: number, body: object | string, headers?: Record<string, string>];
