// What the gateway adds to each request to know who asks and whether the call is allowed: 10,000 keys or tokens, 1,000 rules,
// 10,000 tools. The tokens are of an issuer in this process. It comes last: with keys in its database the bench's gateway asks
// for them.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FastifyRequest } from 'fastify';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { allowsTool } from '#libs/access/access.js';
import { CallTokenKeys } from '#libs/access/call-token-keys.js';
import { CallTokenRing } from '#libs/access/call-tokens.js';
import { FailedSignIns } from '#libs/access/failed-sign-ins.js';
import { TokenRing } from '#libs/access/jwt/token-ring.js';
import { KeyRing } from '#libs/access/key-ring.js';
import { KeyStore } from '#libs/access/key-store.js';
import { AuditNotes } from '#libs/audit/audit-notes.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { silentLogger } from '#libs/logging/logger.js';
import { CompiledPolicy } from '#libs/policy/compile-policy.js';
import type { JudgedTool } from '#libs/policy/decision.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import type { StoppableContext } from '#libs/schemas/call-context.js';
import { Authentication } from '../apps/gateway/http/admin/authenticate.js';
import { callArguments, configuration, manyTools } from './policy-decisions.js';
import type { System } from './system.js';

export const signInScenario = 'sign-in and policy, 10,000 callers';

const callers = 10_000;
const goalMicros = 20;
const rounds = 20;
const keysAtOnce = 8;

export async function measureSignIns({ databaseUrl }: Pick<System, 'databaseUrl'>): Promise<void> {
  const closing: (() => unknown)[] = [];
  try {
    const database = openDatabase({
      url: databaseUrl,
      poolSize: keysAtOnce,
      timeoutMs: 30_000,
      applicationName: 'bench',
    });
    closing.push(() => database.close());
    const backing = await openBacking({ databaseUrl });
    closing.push(() => backing.close());
    const store = new KeyStore(database, { audit: false });
    const notes = new AuditNotes(database, { audit: false });
    const keys = await makeKeys(store);
    const issuer = await startIssuer();
    closing.push(() => issuer.close());
    const ring = new KeyRing({ store, mode: 'keys', logger: silentLogger });
    closing.push(() => ring.close());
    await ring.start();
    const settings = { issuer: issuer.url, audience: 'bench', roles_claim: 'roles', scopes_claim: 'scope' };
    const authentication = new Authentication({
      ring,
      tokens: new TokenRing({ settings, logger: silentLogger }),
      callTokens: new CallTokenRing({ keys: new CallTokenKeys(database), ring, hasIssuer: true }),
      failures: new FailedSignIns({ perMinute: 120, counters: backing.counters, logger: silentLogger }),
      store,
      notes,
      onRefused: () => undefined,
      logger: silentLogger,
    });
    for (const [what, credentials] of [
      ['keys', keys],
      ['tokens', issuer.tokens],
    ] as const) {
      print(what, await costOf(authentication, credentials));
    }
  } finally {
    for (const step of closing.reverse()) await step();
  }
}

interface Cost {
  /** Of the first request with each credential, its look-up or verification included. */
  firstMicros: number;
  micros: number;
  signInMicros: number;
}

async function costOf(authentication: Authentication, credentials: readonly string[]): Promise<Cost> {
  const policy = new CompiledPolicy(configuration());
  const tools = manyTools();
  const firstMicros = await microsOf(credentials, 1, async (credential, index) => {
    const request = requestWith(credential);
    await authentication.authenticate(request);
    decide(policy, toolOf(tools, index), request);
  });
  const signIn = (credential: string) => {
    const request = requestWith(credential);
    if (authentication.authenticate(request) !== undefined) throw new Error('a caller was not remembered');
    return request;
  };
  // Once before it counts: what a caller and a tool leave of the rules is found.
  const whole = (credential: string, index: number) => decide(policy, toolOf(tools, index), signIn(credential));
  await microsOf(credentials, 1, whole);
  const micros = await microsOf(credentials, rounds, whole);
  return { firstMicros, micros, signInMicros: await microsOf(credentials, rounds, signIn) };
}

async function microsOf(
  credentials: readonly string[],
  times: number,
  work: (credential: string, index: number) => unknown,
): Promise<number> {
  const began = performance.now();
  for (let round = 0; round < times; round += 1) {
    for (const [index, credential] of credentials.entries()) {
      const done = work(credential, index);
      if (done instanceof Promise) await done;
    }
  }
  return ((performance.now() - began) * 1_000) / (credentials.length * times);
}

/** Each caller calls a tool of its own, all of them together every tool. */
const toolOf = (tools: readonly JudgedTool[], index: number): JudgedTool => tools[(index * 7) % tools.length]!;

function decide(policy: CompiledPolicy, tool: JudgedTool, { signalboxContext: context }: FastifyRequest): void {
  if (context?.access === undefined || !allowsTool(context.access, tool)) throw new Error('a caller was refused');
  policy.decide(tool, callArguments, context);
}

/** As much of a request as the sign-in reads; the text is new each time, as it is off the network. */
function requestWith(credential: string): FastifyRequest {
  const authorization = Buffer.from(`Bearer ${credential}`).toString('latin1');
  const context = { principal: 'local', header: () => undefined } as unknown as StoppableContext;
  const url = '/api/tools/call';
  const parts = { method: 'POST', routeOptions: { url }, headers: { authorization }, ip: '127.0.0.1', raw: {} };
  return { ...parts, signalboxContext: context } as unknown as FastifyRequest;
}

async function makeKeys(store: KeyStore): Promise<string[]> {
  const keys: string[] = [];
  let begun = 0;
  const maker = async () => {
    while (begun < callers) {
      const number = begun++;
      const allowed = { models: ['gpt-*'], tools: { deny: ['server-x/*', '*/delete_*'] } };
      const key = { owner: `user-${number}`, roles: [`role-${number % 50}`], scopes: ['chat', 'tools'] as const };
      keys.push((await store.create({ ...key, ...allowed }, { principal: 'bench', requestId: 'req_bench' })).key);
    }
  };
  await Promise.all(Array.from({ length: keysAtOnce }, maker));
  return keys;
}

async function startIssuer() {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const key = { ...(await exportJWK(publicKey)), kid: 'bench', alg: 'ES256', use: 'sig' };
  const server = createServer((request, response) => {
    const discovery = { issuer: url, jwks_uri: `${url}/keys` };
    response.end(JSON.stringify(request.url === '/keys' ? { keys: [key] } : discovery));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const tokens: string[] = [];
  for (let number = 0; number < callers; number += 1) {
    const claims = { roles: [`role-${number % 50}`], scope: 'openid chat tools', email: `user-${number}@example.com` };
    tokens.push(
      await new SignJWT({ ...claims, iss: url, aud: 'bench', sub: `user-${number}` })
        .setProtectedHeader({ alg: 'ES256', kid: 'bench', typ: 'at+jwt' })
        .setExpirationTime('1h')
        .sign(privateKey),
    );
  }
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { url, tokens, close };
}

function print(what: string, { firstMicros, micros, signInMicros }: Cost): void {
  const met = micros < goalMicros ? 'met' : 'missed';
  console.log(
    `${`${signInScenario}, ${what}`.padEnd(44)} first request µs: ${firstMicros.toFixed(0)} | ` +
      `request µs: ${micros.toFixed(2)}, of it sign-in: ${signInMicros.toFixed(2)} | goal: ≤ ${goalMicros} µs: ${met}`,
  );
}
