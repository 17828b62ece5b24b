// APIs as tool servers, with a real HTTP server at the other end. The documents are read by the thread that `npm run build` made.
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { decodeJwt } from 'jose';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect } from 'vitest';
import { StatementMint } from '#libs/access/identity/caller-statement.js';
import { IdentityKeys } from '#libs/access/identity/identity-keys.js';
import { knowSecrets } from '#libs/audit/known-secrets.js';
import { openConnectedWorld, type ConnectedWorld } from '../../../../test/support/connected-world.js';
import { createMigratedDatabase, type TestDatabase } from '../../../../test/support/services/test-database.js';
import {
  openToolServers,
  type CallGiven,
  type ServersGiven,
  type ToolServers,
} from '../../../../test/support/tool-servers.js';
import { verifies } from '../../../../test/verifies.js';

interface Seen {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

const binary = { type: 'string', format: 'binary' };
const json = (schema: object) => ({ required: true, content: { 'application/json': { schema } } });
const operations = {
  '/pets/{id}': {
    get: {
      operationId: 'getPet',
      parameters: [
        { name: 'id', in: 'path' },
        { name: 'tags', in: 'query', schema: { type: 'array' } },
      ],
    },
    put: { operationId: 'setPet', parameters: [{ name: 'id', in: 'path' }], requestBody: json({ type: 'object' }) },
    delete: { operationId: 'deletePet', parameters: [{ name: 'id', in: 'path' }] },
  },
  '/photos': {
    post: {
      operationId: 'addPhoto',
      requestBody: {
        content: { 'multipart/form-data': { schema: { properties: { photo: binary, title: { type: 'string' } } } } },
      },
    },
  },
  '/{what}': { get: { operationId: 'ask', parameters: [{ name: 'what', in: 'path' }] } },
};
const apiDocument = (more: object = {}) => ({ openapi: '3.0.3', info: {}, paths: operations, ...more });

let seen: Seen[];
let answers: Record<string, (response: ServerResponse, request: Seen) => unknown>;
let http: Server;
let url: string;
let servers: ToolServers | undefined;

const send = (response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}) =>
  response
    .writeHead(status, { 'content-type': 'application/json', ...headers })
    .end(Buffer.isBuffer(body) ? body : JSON.stringify(body));

beforeAll(async () => {
  http = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const one = { method, url: path, headers, body: Buffer.concat(parts) };
      seen.push(one);
      const answer = answers[`${method} ${path.split('?')[0]!}`];
      if (answer === undefined) send(response, 200, { method, path, authorization: headers.authorization ?? null });
      else answer(response, one);
    });
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterAll(async () => {
  http.closeAllConnections();
  await new Promise((resolve) => http.close(resolve));
});
beforeEach(() => {
  seen = [];
  answers = {};
});
afterEach(async () => {
  await servers?.close();
  servers = undefined;
  knowSecrets([]);
});

/** @param server without `openapi`: the document is a file */
async function open(
  server: object = {},
  { document = apiDocument(), ...given }: ServersGiven & { document?: object } = {},
) {
  const opened = await openToolServers({ pets: { openapi: 'pets.json', base_url: `${url}/v1`, ...server } }, given);
  servers = opened;
  writeFileSync(join(opened.directory, 'pets.json'), JSON.stringify(document));
  return (tool: string, args: object = {}, more: CallGiven = {}) => opened.call('pets', tool, { args, ...more });
}
const signal = () => AbortSignal.timeout(20_000);
const list = () => servers!.use('pets', (connection) => connection.listTools(signal())) as Promise<{ name: string }[]>;
const textOf = ({ content }: { content?: unknown }) =>
  (content as { text: string }[]).map(({ text }) => text).join('\n');

describe('an API', () => {
  verifies('openapi.tools', 'listed and called', async () => {
    const call = await open({ headers: { 'X-Key': 'static' } });
    expect((await list()).map(({ name }) => name)).toEqual(['getPet', 'setPet', 'deletePet', 'addPhoto', 'ask']);
    const result = await call('getPet', { id: 'a/b', tags: ['x', 'y'] });
    expect(result.structuredContent).toEqual({
      method: 'GET',
      path: '/v1/pets/a%2Fb?tags=x&tags=y',
      authorization: null,
    });
    await call('setPet', { id: 1, body: { name: 'Rex' } });
    await call('deletePet', { id: 1 });
    expect(
      seen.map(({ method, headers, body }) => [method, headers['content-type'], headers['x-key'], body.toString()]),
    ).toEqual([
      ['GET', undefined, 'static', ''],
      ['PUT', 'application/json', 'static', '{"name":"Rex"}'],
      ['DELETE', undefined, 'static', ''],
    ]);
    await expect(call('unknown')).rejects.toMatchObject({ code: 'invalid_tool_arguments' });
    expect(servers!.configured.servers.at(-1)).toMatchObject({
      name: 'pets',
      isolation: 'remote',
      scope: 'shared',
      builtin: false,
    });
  });

  verifies(
    'openapi.documents',
    'one at an address is fetched once, without credentials, and names its own address',
    async () => {
      answers['GET /docs/pets.json'] = (response) => send(response, 200, apiDocument({ servers: [{ url: '/v2' }] }));
      const call = await open({ openapi: `${url}/docs/pets.json`, base_url: undefined, headers: { 'X-Key': 'k' } });
      for (const id of [1, 2]) await call('getPet', { id });
      expect(seen.map((each) => [each.url, each.headers['x-key']])).toEqual([
        ['/docs/pets.json', undefined],
        ['/v2/pets/1', 'k'],
        ['/v2/pets/2', 'k'],
      ]);
    },
  );

  verifies('openapi.documents', 'what keeps one from being fetched is said', async () => {
    const wrong: [(response: ServerResponse) => unknown, string][] = [
      [(response) => send(response, 404, {}), 'answers HTTP 404'],
      [(response) => response.writeHead(302, { location: '/v1' }).end(), 'answers HTTP 302'],
      [(response) => send(response, 200, Buffer.alloc(17 * 1024 * 1024, ' ')), 'sent more than'],
      [
        (response) => send(response, 200, apiDocument({ servers: [{ url: 'https://other.example' }] })),
        'comes from another one',
      ],
    ];
    for (const [answer, problem] of wrong) {
      answers['GET /pets.json'] = answer;
      await servers?.close();
      const call = await open({ openapi: `${url}/pets.json`, base_url: undefined });
      const code = 'tool_unavailable';
      await expect(call('getPet')).rejects.toMatchObject({ code, message: expect.stringContaining(problem) });
    }
  });

  verifies('openapi.files', 'sent from the workspace, and answers saved there', async () => {
    const call = await open();
    const user = { sessionId: 'sess_a', directory: 'ws_sess_a' };
    const workspace = servers!.workspaces.workspace({ id: user.sessionId, directory: user.directory });
    await workspace.write('pictures/rex.png', Buffer.from('PNG'), { createDirectories: true });
    await call('addPhoto', { body: { photo: 'pictures/rex.png', title: 'Rex' } }, { options: { user } });
    const [sent] = seen;
    const form = await new Response(new Uint8Array(sent!.body), {
      headers: { 'content-type': sent!.headers['content-type']! },
    }).formData();
    const photo = form.get('photo') as File;
    expect([photo.name, await photo.text(), form.get('title')]).toEqual(['rex.png', 'PNG', 'Rex']);
    for (const path of ['../ws_other/x', '/etc/passwd', 'pictures/none.png'])
      await expect(call('addPhoto', { body: { photo: path } }, { options: { user } })).rejects.toMatchObject({
        name: 'AppError',
      });
    expect(seen).toHaveLength(1);
    answers['GET /v1/bill'] = (response) =>
      send(response, 200, Buffer.from('%PDF'), { 'content-type': 'application/pdf' });
    const [, path] = /saved as \/mcp_workspaces\/sess_a\/(\S+)\]$/.exec(
      textOf(await call('ask', { what: 'bill' }, { options: { user } })),
    )!;
    const file = await workspace.openFile(path!);
    expect(file.info.size).toBe(4);
    await file.close();
  });

  verifies('openapi.answers', 'errors, other statuses, and what is compressed', async () => {
    const call = await open();
    answers['GET /v1/gone'] = (response) => send(response, 404, { message: 'no such pet' });
    expect(await call('ask', { what: 'gone' })).toEqual({
      isError: true,
      content: [{ type: 'text', text: 'HTTP 404\n{"message":"no such pet"}' }],
    });
    answers['GET /v1/none'] = (response) => response.writeHead(204).end();
    expect(textOf(await call('ask', { what: 'none' }))).toContain('204');
    answers['GET /v1/small'] = (response) => send(response, 200, gzipSync('{"a":1}'), { 'content-encoding': 'gzip' });
    expect((await call('ask', { what: 'small' })).structuredContent).toEqual({ a: 1 });
    answers['GET /v1/broken'] = (response) => send(response, 200, Buffer.from('x'), { 'content-encoding': 'gzip' });
    await expect(call('ask', { what: 'broken' })).rejects.toMatchObject({ code: 'invalid_tool_result' });
    answers['GET /v1/cut'] = (response) => response.socket!.destroy();
    await expect(call('ask', { what: 'cut' })).rejects.toMatchObject({ code: 'tool_crashed' });
  });

  verifies('openapi.bounded', 'too large, too slow, cancelled', async () => {
    const call = await open(
      { max_timeout_ms: 300, timeout_ms: 300 },
      { environment: { TOOLS_MAX_READ_BYTES: '262144' } },
    );
    const large = Buffer.alloc(400_000, 'x');
    answers['GET /v1/large'] = (response) => send(response, 200, large);
    answers['GET /v1/bomb'] = (response) => send(response, 200, gzipSync(large), { 'content-encoding': 'gzip' });
    for (const what of ['large', 'bomb'])
      await expect(call('ask', { what })).rejects.toMatchObject({ code: 'result_too_large' });
    expect(servers!.bounds).toEqual(['pets: message_bytes', 'pets: message_bytes']);
    const closed: Promise<unknown>[] = [];
    answers['GET /v1/hang'] = (response) => void closed.push(new Promise((resolve) => response.once('close', resolve)));
    await expect(call('ask', { what: 'hang' })).rejects.toMatchObject({ code: 'tool_timeout' });
    const stop = new AbortController();
    const asked = call('ask', { what: 'hang' }, { options: { signal: stop.signal } });
    const ended = expect(asked).rejects.toThrow('enough');
    await expect.poll(() => closed.length).toBe(2);
    stop.abort(new Error('enough'));
    await ended;
    await Promise.all(closed);
  });

  verifies('openapi.contained', 'redirects are not followed, and steps are refused', async () => {
    const call = await open({ headers: { Authorization: 'Bearer canary-static-token' } });
    answers['GET /v1/moved'] = (response) => response.writeHead(302, { location: `${url}/elsewhere` }).end();
    expect(textOf(await call('ask', { what: 'moved' }))).toContain('is not followed');
    for (const what of ['..', '.', '%2e%2e', ''])
      await expect(call('ask', { what })).rejects.toMatchObject({ code: 'invalid_tool_arguments' });
    expect(seen.map((each) => each.url)).toEqual(['/v1/moved']);
  });

  verifies('openapi.contained', 'an address that only the document names must be public', async () => {
    const document = apiDocument({ servers: [{ url: `https://127.0.0.1:${new URL(url).port}` }] });
    const call = await open({ base_url: undefined }, { document });
    await expect(call('getPet', { id: 1 })).rejects.toMatchObject({ code: 'tool_denied' });
  });

  verifies('openapi.secrets', 'of headers, which an API repeats', async () => {
    knowSecrets(['canary-static-token']);
    const call = await open({ headers: { Authorization: 'Bearer canary-static-token' } });
    expect((await call('getPet', { id: 1 })).structuredContent).toMatchObject({ authorization: 'Bearer [redacted]' });
    expect(seen[0]!.headers.authorization).toBe('Bearer canary-static-token');
  });

  verifies('openapi.documents', 'what is wrong with one is said, and read again', async () => {
    const call = await open({}, { document: { openapi: '3.0.0', paths: {} } });
    await expect(call('getPet')).rejects.toMatchObject({
      code: 'tool_unavailable',
      message: expect.stringContaining('has no operations'),
    });
    writeFileSync(join(servers!.directory, 'pets.json'), JSON.stringify(apiDocument()));
    await expect.poll(() => call('getPet', { id: 1 }).catch(() => undefined), { timeout: 20_000 }).toBeDefined();
  });
});

describe('with a sign-in', () => {
  let database: TestDatabase;
  let world: ConnectedWorld;
  const environment = { VAULT_KEY: Buffer.alloc(32, 1).toString('base64'), CLIENT_SECRET: 'canary-client-secret' };
  beforeAll(async () => {
    database = await createMigratedDatabase();
  });
  afterAll(() => database.drop());
  afterEach(() => world.close());

  async function signedIn(auth: object = { kind: 'oauth' }) {
    world = await openConnectedWorld(database.url, { scopes: { write: 'write' } }, auth);
    world.servers.set('pets', { ...world.servers.get('protected')!, name: 'pets' });
    const here = world.open();
    await here.database.query('delete from connections', []);
    const { store, tokens } = here;
    await open({ base_url: world.issuer.mcpUrl, auth }, { environment, connections: { store, tokens } });
    const ask = async (principal: string, what = 'whoami') => {
      const user = { principal, sessionId: 'sess_a', directory: `ws_${principal}` };
      const options = { signal: signal(), maxTimeoutMs: 20_000, onProgress: () => undefined };
      const request = { tool: 'ask', arguments: { what }, meta: {} };
      return servers!.pool.use('pets', { user, signal: signal(), deadline: Date.now() + 60_000 }, (connection) =>
        connection.callTool(request, options),
      );
    };
    return { here, ask };
  }

  verifies('openapi.credentials', 'each user has their own token, which is renewed once', async () => {
    const { here, ask } = await signedIn();
    await expect(ask('alice')).rejects.toMatchObject({ code: 'connection_needed' });
    await here.connect('alice', 'pets');
    await here.connect('bob', 'pets');
    const users = await Promise.all(['alice', 'bob', 'alice'].map(async (name) => (await ask(name)).structuredContent));
    expect(users).toMatchObject([{ user: 'alice' }, { user: 'bob' }, { user: 'alice' }]);
    world.issuer.expireAccess();
    expect((await ask('alice')).structuredContent).toMatchObject({ user: 'alice', sent: '[redacted]' });
    expect(world.issuer.countOf('/token', 'refresh_token')).toBe(1);
    await expect(ask('alice', 'write')).rejects.toMatchObject({ code: 'connection_needed', scopes: ['write'] });
    world.issuer.refusesAll = true;
    await expect(ask('alice')).rejects.toMatchObject({ code: 'connection_needed' });
  });

  verifies('openapi.credentials', 'the headers of each user', async () => {
    const { here, ask } = await signedIn({ kind: 'headers', names: ['x-key'] });
    await expect(ask('alice')).rejects.toMatchObject({ code: 'connection_needed' });
    for (const principal of ['alice', 'bob'])
      await here.flows.connectHeaders({ principal, server: 'pets' }, { 'x-key': world.issuer.giveKey(principal) });
    const users = await Promise.all(['alice', 'bob'].map(async (name) => (await ask(name)).structuredContent));
    expect(users).toMatchObject([{ user: 'alice', sent: '[redacted]' }, { user: 'bob' }]);
    world.issuer.expireAccess();
    await expect(ask('alice')).rejects.toMatchObject({ code: 'connection_needed' });
  });

  verifies('openapi.credentials', 'the tools are listed without anybody', async () => {
    await signedIn();
    expect((await list()).map(({ name }) => name)).toContain('ask');
  });

  verifies('openapi.credentials', 'the token of the gateway itself, and its refusal is an answer', async () => {
    const auth = { kind: 'client_credentials', client_id: 'gateway', client_secret: '${CLIENT_SECRET}' };
    const { ask } = await signedIn(auth);
    world.issuer.clients.set('gateway', { secret: environment.CLIENT_SECRET, method: 'client_secret_basic' });
    expect((await ask('alice')).structuredContent).toMatchObject({ sent: '[redacted]' });
    world.issuer.refusesAll = true;
    expect(textOf(await ask('alice'))).toMatch(/^HTTP 401/);
  });

  verifies('openapi.credentials', 'a statement about the caller, and headers of their request', async () => {
    world = await openConnectedWorld(database.url);
    const statements = new StatementMint({
      keys: new IdentityKeys(world.open().database),
      issuer: 'https://gate.example',
    });
    await open({ identity: { kind: 'jwt', header: 'x-caller' }, forward_headers: ['X-Tenant'] }, { statements });
    const headers = { 'x-tenant': 'acme' };
    const user = { principal: 'alice', sessionId: 'sess_a', directory: 'ws_a', headers };
    const options = { signal: signal(), maxTimeoutMs: 20_000, onProgress: () => undefined };
    await servers!.pool.use('pets', { user, signal: signal(), deadline: Date.now() + 60_000 }, (connection) =>
      connection.callTool({ tool: 'ask', arguments: { what: 'x' }, meta: {} }, options),
    );
    const { 'x-tenant': tenant, 'x-caller': statement } = seen[0]!.headers;
    expect(tenant).toBe('acme');
    expect(decodeJwt(String(statement))).toMatchObject({ sub: 'alice', aud: `${url}/v1`, iss: 'https://gate.example' });
  });
});
