// MCP clients sign people in at the token issuer, knowing only the address of `/mcp`: the official SDKs, and the requests that
// Claude, Cursor and VS Code begin with.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { freePort } from '../support/services/free-port.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { type SignInIssuer, startSignInIssuer } from '../support/sign-in-issuer.js';
import { audience, startTokenIssuer, type TokenIssuer } from '../support/token-issuer.js';
import { verifies } from '../verifies.js';

const wellKnown = '/.well-known/oauth-protected-resource';
let tokens: TokenIssuer;
let issuer: SignInIssuer;
let box: SignalboxHere;
/** Without a configured address, behind no proxy. */
let plain: string;
/** With a path before the gateway's own, as a proxy may put one there. */
let below: string;

beforeAll(async () => {
  tokens = await startTokenIssuer();
  issuer = await startSignInIssuer(tokens);
  const port = await freePort();
  box = await startSignalboxHere({
    gateways: 0,
    environment: {
      AUTH_JWT_ISSUER: issuer.url,
      AUTH_JWT_AUDIENCE: audience,
      TOOLSETS: JSON.stringify({ clerk: ['workspace/write_*'], reader: ['workspace/read_*'] }),
      ALLOWED_ORIGINS: 'https://inspector.example',
    },
  });
  const started = await box.startGateway({ PORT: String(port), SERVER_PUBLIC_URL: `http://127.0.0.1:${port}` });
  box.url = started.url;
  plain = (await box.startGateway()).url;
  below = (await box.startGateway({ SERVER_PUBLIC_URL: 'https://Tools.example.com/box/' })).url;
}, 60_000);
afterAll(async () => {
  await box?.close();
  await issuer?.close();
  await tokens?.stop();
});

/** A person's client: it opens the issuer's page, and is called back with a code. */
class Person {
  readonly redirectUrl = 'http://127.0.0.1:33418/';
  readonly clientMetadata = {
    client_name: 'Some editor',
    redirect_uris: [this.redirectUrl],
    grant_types: ['authorization_code'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
  callback: URLSearchParams | undefined;
  private readonly kept: Record<string, unknown> = {};

  tokens = () => this.kept['tokens'] as never;
  saveTokens = (tokens: unknown) => void (this.kept['tokens'] = tokens);
  clientInformation = () => this.kept['client'] as never;
  saveClientInformation = (client: unknown) => void (this.kept['client'] = client);
  codeVerifier = () => this.kept['verifier'] as string;
  saveCodeVerifier = (verifier: string) => void (this.kept['verifier'] = verifier);
  discoveryState = () => this.kept['discovery'] as never;
  saveDiscoveryState = (state: unknown) => void (this.kept['discovery'] = state);
  redirectToAuthorization = async (url: URL) => {
    const page = await fetch(url, { redirect: 'manual' });
    this.callback = new URL(page.headers.get('location')!).searchParams;
  };
}

const options = (person: Person) => ({ authProvider: person as never });
const own = { name: 'judge', version: '1' };
const code = ({ callback }: Person) => callback!.get('code')!;
/** Each with a way to tell it what the issuer called back with. */
const clients = {
  'the 2.x client': (person: Person) => {
    const transport = new StreamableHTTPClientTransport(new URL(`${box.url}/mcp`), options(person));
    const client = new Client(own);
    return { client, connect: () => client.connect(transport), finish: () => transport.finishAuth(person.callback!) };
  },
  'the 1.x client': (person: Person) => {
    const transport = new OldTransport(new URL(`${box.url}/mcp`), options(person));
    const client = new OldClient(own);
    return { client, connect: () => client.connect(transport), finish: () => transport.finishAuth(code(person)) };
  },
  'the 1.x client, of a toolset': (person: Person) => {
    const transport = new OldTransport(new URL(`${box.url}/mcp/clerk`), options(person));
    const client = new OldClient(own);
    return { client, connect: () => client.connect(transport), finish: () => transport.finishAuth(code(person)) };
  },
  'the 1.x client over HTTP+SSE': (person: Person) => {
    const transport = new SSEClientTransport(new URL(`${box.url}/sse`), options(person));
    const client = new OldClient(own);
    return { client, connect: () => client.connect(transport), finish: () => transport.finishAuth(code(person)) };
  },
};

for (const [name, open] of Object.entries(clients)) {
  verifies('mcp.sign-in', name, async () => {
    const person = new Person();
    const refused = open(person);
    await expect(refused.connect()).rejects.toThrow();
    await refused.finish();
    const { client, connect } = open(person);
    await connect();
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain('write_file');
    const resource = `${box.url}/${name.endsWith('SSE') ? 'sse' : name.endsWith('toolset') ? 'mcp/clerk' : 'mcp'}`;
    expect(issuer.exchanged.at(-1)).toMatchObject({ resource, scope: 'tools' });
    await client.close();
  });
}

const ask = async (address: string, init: RequestInit = {}) => {
  const answer = await fetch(address, init);
  const text = await answer.text();
  const challenge = answer.headers.get('www-authenticate');
  return {
    status: answer.status,
    challenge,
    headers: answer.headers,
    body: text.startsWith('{') ? (JSON.parse(text) as object) : undefined,
  };
};
const initialize = (url: string, headers: Record<string, string> = {}, path = '/mcp') =>
  ask(url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'editor', version: '1' } },
    }),
  });
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const challengeOf = (url: string, more = '', endpoint = '/mcp') =>
  `Bearer ${more}resource_metadata="${url}${wellKnown}${endpoint}", scope="tools"`;

verifies('mcp.protected-resource', 'a probe of the documents, with the path and without', async () => {
  const document = {
    resource: `${box.url}/mcp`,
    authorization_servers: [issuer.url],
    scopes_supported: ['tools'],
    bearer_methods_supported: ['header'],
    resource_name: 'Signalbox',
  };
  for (const path of ['', '/mcp', '/mcp?x=1']) {
    expect(await ask(`${box.url}${wellKnown}${path}`)).toMatchObject({ status: 200, body: document });
  }
  const sse = await ask(`${box.url}${wellKnown}/sse`);
  expect(sse.body).toEqual({ ...document, resource: `${box.url}/sse` });
  const ofSet = await ask(`${box.url}${wellKnown}/mcp/clerk`);
  expect(ofSet.body).toEqual({ ...document, resource: `${box.url}/mcp/clerk` });
  expect((await ask(`${box.url}${wellKnown}/mcp/a/b`)).status).toBe(404);
  expect(await ask(`${box.url}${wellKnown}/api`)).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found' } },
  });
  const stranger = await fetch(`${box.url}${wellKnown}`, { headers: { origin: 'https://evil.example' } });
  expect(stranger.status).toBe(403);
});

verifies(
  'mcp.protected-resource',
  'the address that the client used, and a path that a proxy puts before it',
  async () => {
    expect((await ask(`${plain}${wellKnown}/mcp`)).body).toMatchObject({ resource: `${plain}/mcp` });
    expect((await ask(`${plain}${wellKnown}/box/mcp`)).body).toMatchObject({ resource: `${plain}/box/mcp` });
    expect((await ask(`${plain}${wellKnown}/box/mcp/clerk`)).body).toMatchObject({
      resource: `${plain}/box/mcp/clerk`,
    });
    expect((await initialize(plain)).challenge).toBe(challengeOf(plain));
    const resource = 'https://tools.example.com/box/mcp';
    for (const path of ['', '/mcp', '/box/mcp']) {
      expect((await ask(`${below}${wellKnown}${path}`)).body).toMatchObject({ resource });
    }
    expect((await initialize(below)).challenge).toBe(challengeOf('https://tools.example.com/box'));
  },
);

verifies('mcp.challenges', 'without a token, with a wrong one, with one of too small a scope', async () => {
  expect(await initialize(box.url)).toMatchObject({ status: 401, challenge: challengeOf(box.url) });
  for (const [method, path, endpoint] of [
    ['GET', '/mcp', '/mcp'],
    ['DELETE', '/mcp', '/mcp'],
    ['POST', '/mcp/clerk', '/mcp/clerk'],
    ['GET', '/mcp/clerk', '/mcp/clerk'],
    ['GET', '/sse', '/sse'],
    ['POST', '/sse/messages?sessionId=x', '/sse'],
  ] as const) {
    const { status, challenge } = await ask(box.url + path, { method });
    expect([path, status, challenge]).toEqual([path, 401, challengeOf(box.url, '', endpoint)]);
  }
  const invalid = 'error="invalid_token", ';
  for (const wrong of [await tokens.token({ claims: { exp: 1 } }), 'sb_unknown']) {
    const answer = await initialize(box.url, bearer(wrong));
    expect(answer).toMatchObject({ status: 401, challenge: challengeOf(box.url, invalid) });
  }
  const small = await tokens.token({ claims: { iss: issuer.url, scope: 'chat' } });
  const refused = await initialize(box.url, bearer(small));
  expect(refused).toMatchObject({
    status: 403,
    challenge: challengeOf(box.url, 'error="insufficient_scope", '),
    body: { error: { data: { code: 'insufficient_scope' } } },
  });
  // Elsewhere there is nothing that an MCP client would follow.
  expect((await ask(`${box.url}/v1/models`)).challenge).toBe('Bearer');
});

verifies('access.token-resource', 'the addresses of this gateway, if they are configured, and no others', async () => {
  const status = async (url: string, aud: string) =>
    (await initialize(url, bearer(await tokens.token({ claims: { iss: issuer.url, aud } })))).status;
  expect(await status(box.url, `${box.url}/mcp`)).toBe(200);
  expect(await status(box.url, `${box.url}/sse`)).toBe(200);
  expect(await status(box.url, audience)).toBe(200);
  for (const other of [box.url, `${box.url}/mcp/x`, `${plain}/mcp`]) expect(await status(box.url, other)).toBe(401);
  expect(await status(plain, `${plain}/mcp`)).toBe(401);
});

verifies('access.token-resource-set', 'at its address only, unless the token is for more', async () => {
  const holding = async (...aud: string[]) => bearer(await tokens.token({ claims: { iss: issuer.url, aud } }));
  const status = async (headers: Record<string, string>, path: string) =>
    (await initialize(box.url, headers, path)).status;
  const clerk = await holding(`${box.url}/mcp/clerk`, 'https://elsewhere.example');
  expect(await status(clerk, '/mcp/clerk')).toBe(200);
  const elsewhere = await initialize(box.url, clerk, '/mcp/reader');
  expect(elsewhere).toMatchObject({
    status: 401,
    challenge: challengeOf(box.url, 'error="invalid_token", ', '/mcp/reader'),
  });
  expect(await status(clerk, '/mcp')).toBe(401);
  for (const path of ['/sse', '/v1/models', '/api/tools', '/api/sessions', '/no/such/path'])
    expect([path, (await ask(box.url + path, { headers: clerk })).status]).toEqual([path, 401]);
  expect(await status(clerk, '/mcp/clerk')).toBe(200);
  for (const more of [`${box.url}/mcp`, audience]) {
    const whole = await holding(`${box.url}/mcp/clerk`, more);
    for (const path of ['/mcp/clerk', '/mcp/reader', '/mcp']) expect(await status(whole, path)).toBe(200);
  }
  const both = await holding(`${box.url}/mcp/clerk`, `${box.url}/mcp/reader`);
  expect([await status(both, '/mcp/reader'), await status(both, '/mcp')]).toEqual([200, 401]);
});

test('a page of an allowed origin reads the challenge and the documents', async () => {
  const origin = 'https://inspector.example';
  const preflight = await fetch(`${box.url}${wellKnown}/mcp`, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'mcp-protocol-version',
    },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
    204,
    'mcp-protocol-version',
  ]);
  const { headers, challenge } = await initialize(box.url, { origin });
  expect(headers.get('access-control-allow-origin')).toBe(origin);
  expect(headers.get('access-control-expose-headers')).toContain('www-authenticate');
  expect(challenge).toBe(challengeOf(box.url));
});

test('a gateway without an issuer has no documents, and says so to everybody', async () => {
  const keyed = await box.startGateway({ AUTH_JWT_ISSUER: '', AUTH_JWT_AUDIENCE: '', AUTH_MODE: 'keys' });
  expect((await ask(`${keyed.url}${wellKnown}/mcp`)).status).toBe(404);
  expect((await initialize(keyed.url)).challenge).toBe('Bearer');
});
