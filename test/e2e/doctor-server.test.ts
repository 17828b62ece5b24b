// `signalbox doctor server NAME`, as it is built, at servers that ask for a sign-in, that are told who calls, and that are away.
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
import { connectionOwner } from '#libs/connections/connection-secrets.js';
import { ConnectionStore } from '#libs/connections/connection-store.js';
import { Vault } from '#libs/connections/vault.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { type AuthorizationServer, startAuthorizationServer } from '../support/authorization-server.js';
import { type CountingServer, startCountingServer } from '../support/counting-server.js';
import { runProgram } from '../support/run-program.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { type SignInIssuer, startSignInIssuer } from '../support/sign-in-issuer.js';
import { audience, startTokenIssuer, type TokenIssuer } from '../support/token-issuer.js';
import { verifies } from '../verifies.js';

interface Found {
  state: string;
  check: string;
  what: string;
  remedy?: string;
}

const program = fileURLToPath(new URL('../../scripts/signalbox.mjs', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'signalbox-doctor-'));
const vaultKey = randomBytes(32).toString('base64');
const clientSecret = 'canary-secret-of-the-client';
let tokens: TokenIssuer;
let guarded: AuthorizationServer;
let issuer: SignInIssuer;
let counting: CountingServer;
let box: SignalboxHere;

beforeAll(async () => {
  tokens = await startTokenIssuer();
  issuer = await startSignInIssuer(tokens);
  // As `npm start` keeps it where none is configured.
  writeFileSync(join(directory, 'vault.key'), `${vaultKey}\n`, { mode: 0o600 });
  counting = await startCountingServer();
  guarded = await startAuthorizationServer();
  guarded.clients.set('us', { secret: clientSecret, method: 'client_secret_basic' });
  const environment = { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: audience };
  box = await startSignalboxHere({ workers: 0, environment });
}, 60_000);
afterAll(async () => {
  await box?.close();
  await counting?.close();
  await guarded?.stop();
  await issuer?.close();
  await tokens?.stop();
  rmSync(directory, { recursive: true });
});

function signalbox(server: object, ...words: string[]) {
  const usersIssuer = { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: audience };
  return runProgram(process.execPath, [program, ...words], {
    env: {
      PATH: process.env['PATH'],
      DATA_DIR: directory,
      DATABASE_URL: box.databaseUrl,
      SERVER_PUBLIC_URL: box.url,
      MCP_SERVERS: JSON.stringify({ it: server }),
      ...(JSON.stringify(server).includes('token_exchange') ? usersIssuer : {}),
    },
    timeoutMs: 60_000,
  });
}

async function doctor(server: object, ...words: string[]) {
  const ended = await signalbox(server, 'doctor', 'server', 'it', ...words);
  const findings = words.includes('--json') ? (JSON.parse(ended.stdout) as Found[]) : [];
  return { ...ended, findings: new Map(findings.map((each) => [each.check, each])) };
}

verifies('operations.doctor-server', 'one that asks for a sign-in: the gateway itself', async () => {
  const { code, findings } = await doctor({ url: `${box.url}/mcp` }, '--json');
  expect(code).toBe(1);
  expect(findings.get('reached')).toMatchObject({
    state: 'ok',
    what: expect.stringContaining('answers 401') as string,
  });
  const resource = `it is the resource ${box.url}/mcp and names the issuer ${issuer.url}; scopes: tools`;
  expect(findings.get('resource')).toEqual({ state: 'ok', check: 'resource', what: resource });
  const signIn = `${issuer.url} signs in at ${issuer.url}/authorize with PKCE, for clients by registration`;
  expect(findings.get('issuer')).toMatchObject({ state: 'ok', what: signIn });
  expect(findings.get('credentials')).toMatchObject({ state: 'problem' });
  expect(findings.get('tools')).toMatchObject({ state: 'problem', remedy: expect.any(String) as string });
});

verifies('operations.doctor-server', 'one that is told who calls', async () => {
  const server = { url: counting.url, identity: 'jwt' };
  const { code, findings } = await doctor(server, '--as', 'alice', '--json');
  expect([...findings.values()].map(({ state }) => state)).toEqual(Array(findings.size).fill('ok'));
  const told = `the statement in authorization is by ${box.url}, for ${counting.url}, about alice`;
  expect(findings.get('identity')!.what).toBe(`${told}; roles doctor, session doctor, run doctor; good for 60 s`);
  expect(findings.get('meta')!.what).toMatch(/signalbox\/request_id, signalbox\/identity \(\d{3} characters\)/);
  expect(findings.get('keys')!.what).toContain(`${box.url}/.well-known/jwks.json`);
  expect(findings.get('tools')!.what).toContain('4 tools were listed by Streamable HTTP in the older era');
  expect(code).toBe(0);
  expect(counting.calls).toEqual([]);
});

/** A connection as a sign-in leaves it. */
async function connect(principal: string, resource: string, secrets: object): Promise<void> {
  const database = openDatabase({ url: box.databaseUrl, poolSize: 1, timeoutMs: 5_000, applicationName: 'test' });
  const key = { principal, server: 'it', issuer: guarded.url };
  const sealed = new Vault([Buffer.from(vaultKey, 'base64')]).seal(secrets, connectionOwner(key, key.issuer));
  await new ConnectionStore(database).connect({ ...key, resource, sealed, scopes: [] });
  await database.close();
}

verifies(
  'operations.doctor-arrivals',
  'headers of the entry, headers of callers, and a token for the gateway',
  async () => {
    const server = {
      url: counting.url,
      headers: { 'X-Key': 'canary-of-the-entry', 'X-Empty': '' },
      forward_headers: ['X-Tenant', 'Authorization'],
      act_for_caller: true,
    };
    const { code, stdout } = await doctor(server, '--as', 'alice');
    expect(code).toBe(1);
    expect(stdout).toContain('STOP  arrived      x-empty (of `headers`) did not arrive as it is configured');
    expect(stdout).toMatch(
      /ok {4}arrived .* x-key \(19 characters\), x-tenant \(6 characters\), authorization \(Bearer and 6 c/,
    );
    expect(stdout).toMatch(/ok {4}meta .* signalbox\/call_token \(\d+ characters\)/);
    const { headers, ...rest } = server;
    const whole = await doctor({ ...rest, headers: { 'X-Key': headers['X-Key'] } });
    expect(whole.code).toBe(0);
    expect(stdout + whole.stdout).not.toContain('canary');
  },
);

verifies(
  'operations.doctor-arrivals',
  'tokens: of a user who has connected, of the gateway, and of nobody',
  async () => {
    const oauth = { url: guarded.mcpUrl, auth: { kind: 'oauth' } };
    const nobody = await doctor(oauth, '--as', 'bob', '--json');
    expect([nobody.code, nobody.findings.get('arrived')]).toMatchObject([
      1,
      { state: 'problem', what: "nothing arrived: The tool server 'it' needs a sign-in of the caller" },
    ]);
    const token = guarded.giveKey('ada');
    await connect('ada', guarded.mcpUrl, {
      kind: 'oauth',
      issuer: guarded.url,
      resource: '',
      client: {},
      accessToken: token,
    });
    const arrived = `arrived with authorization (Bearer and ${token.length} characters)`;
    // Whoever connected last is named by nobody: with these rights a worker lists the tools.
    for (const words of [['--as', 'ada'], []]) {
      const { findings, stdout } = await doctor(oauth, ...words, '--json');
      expect(findings.get('arrived')).toMatchObject({ state: 'ok', what: expect.stringContaining(arrived) as string });
      expect(stdout).not.toContain(token);
    }
    const own = { kind: 'client_credentials', client_id: 'us', client_secret: clientSecret };
    const wrong = await doctor({ url: guarded.mcpUrl, auth: { ...own, client_id: 'them' } }, '--json');
    expect([wrong.code, wrong.findings.get('arrived')]).toMatchObject([
      1,
      { state: 'problem', remedy: expect.stringContaining('client_id') as string },
    ]);
    const gateway = await doctor({ url: guarded.mcpUrl, auth: own }, '--json');
    expect([gateway.code, gateway.findings.get('arrived')]).toMatchObject([0, { state: 'ok' }]);
    for (const secret of [clientSecret, ...guarded.tokens]) expect(gateway.stdout + wrong.stdout).not.toContain(secret);
  },
);

verifies('operations.doctor-arrivals', 'headers of a user’s own', async () => {
  const server = { url: guarded.mcpUrl, auth: { kind: 'headers', names: ['X-Key', 'X-Tenant'] } };
  const [key, tenant] = [guarded.giveKey('hanna'), 'canary-of-a-tenant'];
  await connect('hanna', guarded.mcpUrl, { kind: 'headers', headers: { 'x-key': key, 'x-tenant': tenant } });
  const { code, stdout, findings } = await doctor(server, '--json');
  const arrived = `a call of hanna arrived with x-key (${key.length} characters), x-tenant (${tenant.length} characters)`;
  expect(findings.get('arrived')).toMatchObject({ state: 'ok', what: expect.stringContaining(arrived) as string });
  expect([code, findings.get('tools')]).toMatchObject([0, { state: 'ok' }]);
  for (const secret of [key, tenant]) expect(stdout).not.toContain(secret);
});

verifies('operations.doctor-arrivals', 'exchanged tokens', async () => {
  const server = {
    url: guarded.mcpUrl,
    auth: { kind: 'token_exchange', client_id: 'us', client_secret: clientSecret },
  };
  const nobody = await doctor(server, '--as', 'eve', '--json');
  expect([nobody.code, nobody.findings.get('arrived')]).toMatchObject([
    1,
    { state: 'problem', remedy: expect.stringContaining('their token is exchanged then') as string },
  ]);
  const accessToken = guarded.giveKey('eve');
  const client = { client_id: 'us' };
  await connect('eve', guarded.mcpUrl, { kind: 'oauth', issuer: guarded.url, resource: '', client, accessToken });
  const { code, stdout, findings } = await doctor(server, '--as', 'eve', '--json');
  const arrived = `a call of eve arrived with authorization (Bearer and ${accessToken.length} characters)`;
  expect(findings.get('arrived')).toMatchObject({ state: 'ok', what: expect.stringContaining(arrived) as string });
  expect([code, findings.get('tools')]).toMatchObject([0, { state: 'ok' }]);
  for (const secret of [accessToken, clientSecret]) expect(stdout + nobody.stdout).not.toContain(secret);
});

verifies('connections.settings', 'the commands open connections with the key that `npm start` has made', async () => {
  await connect('eve', guarded.mcpUrl, { kind: 'headers', headers: {} });
  const { code, stdout } = await signalbox({ command: 'node' }, 'vault', 'rotate');
  expect(stdout).toMatch(/^0 sealed anew, [1-9]\d* had the first key already, 0 do not open$/m);
  expect(code).toBe(0);
});

verifies('operations.doctor-arrivals', 'at an API, whose own address nothing answers', async () => {
  const file = join(directory, 'api.json');
  writeFileSync(
    file,
    JSON.stringify({
      openapi: '3.0.3',
      info: { title: 'a', version: '1' },
      paths: { '/me': { get: { responses: {} } } },
    }),
  );
  const api = { openapi: file, base_url: 'http://127.0.0.1:9', identity: { kind: 'jwt', header: 'X-Caller' } };
  const { code, findings } = await doctor(api, '--as', 'alice', '--json');
  expect([code, findings.get('reached')!.state]).toEqual([1, 'problem']);
  expect(findings.get('identity')!.what).toContain(`in x-caller is by ${box.url}, for http://127.0.0.1:9, about alice`);
  expect(findings.has('meta')).toBe(false);
});

verifies('operations.doctor-server', 'in lines: one that is away, and what is no server with a url', async () => {
  const [away, wrong] = await Promise.all([doctor({ url: 'http://127.0.0.1:9/mcp' }), doctor({ command: 'node' })]);
  expect(away).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^STOP {2}reached .*nothing listens there/) as string,
  });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('has no url') as string });
});
