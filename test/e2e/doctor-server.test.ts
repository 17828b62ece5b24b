// `signalbox doctor server NAME`, as it is built, at servers that ask for a sign-in, that are told who calls, and that are away.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect } from 'vitest';
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
let tokens: TokenIssuer;
let issuer: SignInIssuer;
let counting: CountingServer;
let box: SignalboxHere;

beforeAll(async () => {
  tokens = await startTokenIssuer();
  issuer = await startSignInIssuer(tokens);
  counting = await startCountingServer();
  const environment = { AUTH_JWT_ISSUER: issuer.url, AUTH_JWT_AUDIENCE: audience };
  box = await startSignalboxHere({ workers: 0, environment });
}, 60_000);
afterAll(async () => {
  await box?.close();
  await counting?.close();
  await issuer?.close();
  await tokens?.stop();
  rmSync(directory, { recursive: true });
});

async function doctor(server: object, ...words: string[]) {
  const ended = await runProgram(process.execPath, [program, 'doctor', 'server', 'it', ...words], {
    env: {
      PATH: process.env['PATH'],
      DATA_DIR: directory,
      DATABASE_URL: box.databaseUrl,
      SERVER_PUBLIC_URL: box.url,
      MCP_SERVERS: JSON.stringify({ it: server }),
    },
    timeoutMs: 60_000,
  });
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
  const told = { url: counting.url, identity: 'jwt' };
  const { code, findings } = await doctor(told, '--as', 'alice', '--json');
  expect([...findings.values()].map(({ state }) => state)).toEqual(Array(findings.size).fill('ok'));
  expect(findings.get('identity')!.what).toBe(`the statement is by ${box.url}, for ${counting.url}, about alice`);
  expect(findings.get('keys')!.what).toContain(`${box.url}/.well-known/jwks.json`);
  expect(findings.get('tools')!.what).toContain('4 tools were listed by Streamable HTTP in the older era');
  expect(code).toBe(0);
  expect(counting.calls).toEqual([]);
});

verifies('operations.doctor-server', 'in lines: one that is away, and what is no server with a url', async () => {
  const [away, wrong] = await Promise.all([doctor({ url: 'http://127.0.0.1:9/mcp' }), doctor({ command: 'node' })]);
  expect(away).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^STOP {2}reached .*nothing listens there/) as string,
  });
  expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('has no url') as string });
});
