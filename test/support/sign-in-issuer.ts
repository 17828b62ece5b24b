// The authorization server of a token issuer: metadata, registration of clients, authorization with proof keys, tokens. It asks
// nobody: everyone who comes is its one user. It binds tokens to the resource that they were asked for.
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { audience, type TokenIssuer } from './token-issuer.js';

interface Asked {
  client: string;
  redirect: string;
  challenge: string;
  scope: string | undefined;
  resource: string | undefined;
}

export type SignInIssuer = Awaited<ReturnType<typeof startSignInIssuer>>;

/** It signs with the keys of `tokens`, and takes the place of its `iss`. */
export async function startSignInIssuer(tokens: TokenIssuer, { subject = 'alice' } = {}) {
  const codes = new Map<string, Asked>();
  const registered = new Map<string, { redirect_uris: string[]; scope?: string }>();
  const exchanged: Asked[] = [];
  /** The scope of all tokens, whatever is asked for. */
  const issuer = { url: '', registered, exchanged, scope: undefined as string | undefined, close };

  const documents = (): Record<string, object> => {
    const metadata = {
      issuer: issuer.url,
      jwks_uri: `${tokens.url}/keys`,
      authorization_endpoint: `${issuer.url}/authorize`,
      token_endpoint: `${issuer.url}/token`,
      registration_endpoint: `${issuer.url}/register`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      authorization_response_iss_parameter_supported: true,
    };
    return { '/.well-known/openid-configuration': metadata, '/.well-known/oauth-authorization-server': metadata };
  };

  function authorize(given: URLSearchParams): { status: number; location?: string } {
    const redirect = given.get('redirect_uri') ?? '';
    const client = given.get('client_id') ?? '';
    const known = registered.get(client)?.redirect_uris ?? [redirect];
    if (given.get('code_challenge_method') !== 'S256' || !known.includes(redirect)) return { status: 400 };
    const code = randomUUID();
    codes.set(code, {
      client,
      redirect,
      challenge: given.get('code_challenge') ?? '',
      scope: given.get('scope') ?? undefined,
      resource: given.get('resource') ?? undefined,
    });
    const back = new URL(redirect);
    back.searchParams.set('code', code);
    back.searchParams.set('iss', issuer.url);
    if (given.has('state')) back.searchParams.set('state', given.get('state')!);
    return { status: 302, location: back.href };
  }

  async function exchange(given: URLSearchParams): Promise<object | undefined> {
    const code = given.get('code') ?? '';
    const asked = codes.get(code);
    codes.delete(code);
    const proof = createHash('sha256')
      .update(given.get('code_verifier') ?? '')
      .digest('base64url');
    const isSame = proof === asked?.challenge && given.get('redirect_uri') === asked.redirect;
    if (!isSame || (given.get('resource') ?? asked.resource) !== asked.resource) return undefined;
    exchanged.push(asked);
    const scope = issuer.scope ?? asked.scope;
    const claims = { iss: issuer.url, sub: subject, aud: asked.resource ?? audience, scope };
    return { access_token: await tokens.token({ claims }), token_type: 'Bearer', expires_in: 3_600 };
  }

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams } = new URL(request.url!, issuer.url);
    const send = (value: object, status = 200) =>
      void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    response.setHeader('access-control-allow-origin', request.headers.origin ?? '*');
    if (pathname === '/authorize') {
      const { status, location } = authorize(searchParams);
      response.writeHead(status, location === undefined ? {} : { location }).end();
    } else if (pathname === '/register') {
      const client = JSON.parse(await text(request)) as { redirect_uris: string[] };
      const id = `client-${registered.size + 1}`;
      registered.set(id, client);
      send({ ...client, client_id: id, token_endpoint_auth_method: 'none' }, 201);
    } else if (pathname === '/token') {
      const answer = await exchange(new URLSearchParams(await text(request)));
      send(answer ?? { error: 'invalid_grant' }, answer === undefined ? 400 : 200);
    } else {
      const document = documents()[pathname];
      send(document ?? {}, document === undefined ? 404 : 200);
    }
  }

  const server = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return issuer;

  async function close(): Promise<void> {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}
