// A tool server that believes nothing but the statement about its caller: two people, two keys of one of them, two gateways, and
// the keys as the gateway publishes them.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { createRemoteJWKSet, decodeJwt, type JWTPayload, jwtVerify } from 'jose';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { post } from '../support/scripts.js';
import { freePort } from '../support/services/free-port.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { audience, startTokenIssuer, type TokenIssuer } from '../support/token-issuer.js';
import { verifies } from '../verifies.js';

interface Heard {
  server: string;
  method: string;
  session: string;
  claims: JWTPayload;
  /** The statement in `_meta`, if the request is a call. */
  meta: JWTPayload | undefined;
}

/** The later of two servers has its name before that of its tool. */
const tools = { crm: 'whoami', named: 'named__whoami' };
const heard: Heard[] = [];
/** All statements that came, as they were sent. */
const statements = new Set<string>();
const owners = new Map<string, string>();
const problems: string[] = [];
let http: Server;
let address: string;
let issuer: TokenIssuer;
let box: SignalboxHere;
let keys: ReturnType<typeof createRemoteJWKSet>;

/** `audience`: of the statement. @throws if the request must not be answered */
async function believed(statement: string, audience: string): Promise<JWTPayload> {
  statements.add(statement);
  const { payload } = await jwtVerify(statement, keys, { issuer: box.url, audience, algorithms: ['ES256'] });
  if (payload.exp! - payload.iat! !== 60) problems.push('it is valid for another time');
  return payload;
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const server = request.url!.slice(1);
  const [, bearer = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  const statement = server === 'named' ? String(request.headers['x-caller']) : bearer;
  let claims: JWTPayload;
  try {
    claims = await believed(statement, server === 'named' ? 'named-server' : `${address}/${server}`);
  } catch (error) {
    problems.push(`${request.method} ${server}: ${String(error)}`);
    return void response.writeHead(401).end();
  }
  let session = String(request.headers['mcp-session-id'] ?? '');
  if (session !== '' && owners.get(session) !== claims.sub) problems.push(`${session} is used by ${claims.sub}`);
  if (request.method !== 'POST') return void response.writeHead(405).end();
  const { id, method, params } = JSON.parse(await text(request)) as {
    id?: number;
    method: string;
    params?: { protocolVersion?: string; _meta?: Record<string, unknown> };
  };
  if (id === undefined) return void response.writeHead(202).end();
  if (method === 'initialize') owners.set((session = randomUUID()), claims.sub!);
  const own = params?._meta?.['signalbox/identity'];
  if (typeof own === 'string') await believed(own, server === 'named' ? 'named-server' : `${address}/${server}`);
  heard.push({ server, method, session, claims, meta: typeof own === 'string' ? decodeJwt(own) : undefined });
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'crm', version: '1' },
    },
    'tools/list': { tools: [{ name: 'whoami', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: JSON.stringify([claims.sub, request.headers, params]) }] },
  };
  const result = results[method];
  const body = {
    jsonrpc: '2.0',
    id,
    ...(result === undefined ? { error: { code: -32_601, message: '' } } : { result }),
  };
  response
    .writeHead(200, { 'content-type': 'application/json', ...(session === '' ? {} : { 'mcp-session-id': session }) })
    .end(JSON.stringify(body));
}

beforeAll(async () => {
  issuer = await startTokenIssuer();
  http = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  address = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  keys = createRemoteJWKSet(new URL(`${url}/.well-known/jwks.json`));
  box = await startSignalboxHere({
    gateways: 0,
    workers: 0,
    script: ({ body }) =>
      (body['messages'] as { role: string }[]).at(-1)!.role === 'tool'
        ? { text: 'Done' }
        : { toolCalls: [{ name: 'whoami', arguments: {} }] },
    environment: {
      LOG_LEVEL: 'debug',
      SERVER_PUBLIC_URL: url,
      AUTH_JWT_ISSUER: issuer.url,
      AUTH_JWT_AUDIENCE: audience,
      MCP_SERVERS: JSON.stringify({
        crm: { url: `${address}/crm`, identity: 'jwt', concurrency: 16 },
        named: {
          url: `${address}/named`,
          identity: { kind: 'jwt', header: 'X-Caller', audience: 'named-server' },
          headers: { authorization: 'Bearer of-the-server' },
        },
      }),
    },
  });
  // The gateway first: the server asks it for the keys as soon as a worker lists its tools.
  box.url = (await box.startGateway({ PORT: String(port) })).url;
  await box.startGateway();
  await box.startWorker();
  const token = await issuer.token();
  const known = async (name: string) =>
    (await fetch(`${box.url}/api/tools/${name}`, { headers: { authorization: `Bearer ${token}` } })).status;
  await vi.waitFor(
    async () => {
      // Until both are listed, the bare name is that of whichever was listed first.
      for (const server of Object.keys(tools)) expect(await known(`${server}__whoami`)).toBe(200);
    },
    { timeout: 20_000, interval: 100 },
  );
}, 90_000);
afterAll(async () => {
  await box?.close();
  http?.closeAllConnections();
  http?.close();
  await issuer?.stop();
});

interface CallGiven {
  server?: keyof typeof tools;
  roles?: string[];
  gateway?: number;
  session?: string;
}

async function call(sub: string, { server = 'crm', roles = ['dev'], gateway = 0, session = 'work' }: CallGiven = {}) {
  const token = await issuer.token({ claims: { sub, roles } });
  const body = { name: tools[server], arguments: {}, session_id: session };
  const answer = await post(box.gateways[gateway]!.url, '/api/tools/call', body, { authorization: `Bearer ${token}` });
  expect(answer).toMatchObject({ status: 200 });
  return JSON.stringify(answer.body);
}
const callsOf = (sub: string, server = 'crm') =>
  heard.filter((each) => each.method === 'tools/call' && each.claims.sub === sub && each.server === server);

verifies('identity.statements', 'who calls, with which roles, in which session, in header and _meta', async () => {
  await call('carol', { roles: ['sales', 'dev'] });
  const [heardOf] = callsOf('carol');
  const expected = { iss: box.url, aud: `${address}/crm`, sub: 'carol', roles: ['dev', 'sales'], sid: 'work' };
  expect(heardOf).toMatchObject({ claims: expected, meta: expected });
  expect(heardOf!.claims.jti).not.toBe(heardOf!.meta!.jti);
  expect(heard.filter(({ method }) => method === 'tools/list')[0]!.claims).toMatchObject({ sub: box.url });
  // A key of other roles of the same person, on the same connection.
  await call('carol', { roles: ['ops'], session: 'other', gateway: 1 });
  expect(callsOf('carol').at(-1)).toMatchObject({
    claims: { roles: ['ops'], sid: 'other' },
    session: heardOf!.session,
  });
  expect(problems).toEqual([]);
});

verifies('identity.statements', 'in a header and for an audience of its own, and with the run of a chat', async () => {
  await call('dora', { server: 'named' });
  expect(callsOf('dora', 'named')).toMatchObject([{ claims: { aud: 'named-server', sub: 'dora' } }]);
  const token = await issuer.token({ claims: { sub: 'dora' } });
  const chat = { messages: [{ role: 'user', content: 'Who?' }], tools: [{ type: 'mcp', server_label: 'crm' }] };
  const answer = await post(box.url, '/v1/chat/completions', chat, { authorization: `Bearer ${token}` });
  expect(answer.status).toBe(200);
  expect(callsOf('dora').at(-1)!.claims).toMatchObject({ run: answer.headers.get('x-run-id') });
  expect(problems).toEqual([]);
});

verifies('identity.kept-apart', 'ten people at once, on two gateways', async () => {
  const people = Array.from({ length: 10 }, (_, n) => `person-${n}`);
  const answers = await Promise.all(
    Array.from({ length: 60 }, async (_, n) => {
      const sub = people[n % people.length]!;
      return { sub, answer: await call(sub, { gateway: n % 2, session: `s${n % 3}` }) };
    }),
  );
  for (const { sub, answer } of answers) expect(answer).toContain(sub);
  const sessions = new Map(people.map((sub) => [sub, new Set(callsOf(sub).map(({ session }) => session))]));
  expect(new Set([...sessions.values()].flatMap((each) => [...each])).size).toBe(people.length);
  expect(problems).toEqual([]);
});

verifies('identity.nowhere-else', 'a server that says everything that it was sent', async () => {
  expect(await call('erin')).toContain('signalbox/identity');
  const stored = await box.rows<{ text: string }>(
    `select row_to_json(audit_events)::text as text from audit_events union all select job::text from tool_calls`,
  );
  const rows = stored.map((row) => row.text).join('\n');
  const logs = JSON.stringify([...box.gateways, ...box.workers].map(({ log }) => log));
  expect(rows).toContain('erin');
  expect(statements.size).toBeGreaterThan(60);
  for (const statement of statements) {
    const signature = statement.split('.')[2]!;
    for (const place of [rows, logs]) expect(place.includes(signature)).toBe(false);
  }
});
