// `npm run bench -- --connections 10000`: so many principals who have connected to one tool server, beside ten: what a call costs, how long
// their list and a new key of the vault take, and how often the issuer is asked when a hundred calls meet a token that has ended.
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { mintKey } from '#libs/access/api-key.js';
import { connectionOwner, type OAuthSecrets } from '#libs/connections/connection-secrets.js';
import { rotateVault } from '#libs/connections/rotate-vault.js';
import { Vault } from '#libs/connections/vault.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { keepBusy } from './keep-busy.js';
import { answerOf, cpuMs, residentMegabytes, startPart } from './processes.js';
import { type Fakes, querying, startSystem, type System } from './system.js';

const few = 10;
const inFlight = 16;
/** Each is a connection of its own for the worker. */
const mostOnce = 2_000;
const server = 'hub';
const unlimited = {
  LIMITS_REQUESTS_PER_MINUTE: '1000000',
  LIMITS_PRINCIPAL_TURNS: '200',
  LIMITS_PRINCIPAL_CALLS: '200',
};
const call = JSON.stringify({ name: 'whoami', arguments: {} });
const none = new AbortController().signal;

interface Setting {
  fakes: Fakes;
  redis: boolean;
}

export async function measureConnections(count: number, setting: Setting): Promise<boolean> {
  const part = startPart('signed-in-server');
  let system: System | undefined;
  try {
    const { port } = await answerOf<{ port: number }>(part);
    const origin = `http://127.0.0.1:${port}`;
    const key = randomBytes(32);
    system = await startSystem({
      ...setting,
      servers: { [server]: { url: `${origin}/mcp`, auth: { kind: 'oauth' }, trusted: true, concurrency: 64 } },
      settings: { VAULT_KEY: key.toString('base64'), ...unlimited },
    });
    const connect = (from: number, to: number) => addConnections(system!, new Vault([key]), { origin, from, to });
    const keys = await connect(0, few);
    const put = (given: readonly string[], what: string, times?: number) => putCalls(system!, given, { what, times });
    await put(keys, 'warm');
    await put(keys, `${few} connections in the store`);
    await measureList(system, keys[0]!, few);
    keys.push(...(await connect(few, count)));
    await put(keys.slice(0, few), `${count} in the store, calls of the same ${few}`);
    await measureList(system, keys[0]!, count);
    const once = Math.min(count, mostOnce);
    await put(keys.slice(-once), `${count} in the store, one call each of ${once}`, once);
    const storms = await measureStorm(system, { keys, renewals: () => renewalsOf(part) });
    await measureRotation(system, key);
    return storms;
  } finally {
    await system?.close();
    part.kill();
  }
}

/** Principals of these numbers, each with a key and a sealed connection. Returns the keys. */
async function addConnections(
  { databaseUrl }: System,
  vault: Vault,
  { origin, from, to }: { origin: string; from: number; to: number },
): Promise<string[]> {
  const began = performance.now();
  const rows = Array.from({ length: to - from }, (_none, at) => {
    const principal = `person-${from + at}`;
    const metadata = { issuer: origin, token_endpoint: `${origin}/token`, response_types_supported: ['code'] };
    const secrets: OAuthSecrets = {
      kind: 'oauth',
      issuer: origin,
      metadata: metadata as OAuthSecrets['metadata'],
      resource: `${origin}/mcp`,
      client: { client_id: 'bench' },
      accessToken: randomBytes(32).toString('base64url'),
      refreshToken: randomBytes(32).toString('base64url'),
      lifeMs: 3_600_000,
    };
    return { ...mintKey(), principal, sealed: vault.seal(secrets, connectionOwner({ principal, server }, origin)) };
  });
  const column = (name: 'id' | 'hash' | 'prefix' | 'principal' | 'sealed') => rows.map((row) => row[name]);
  await querying(databaseUrl, async (client) => {
    await client.query(
      `insert into api_keys (id, hash, prefix, owner, roles, scopes)
       select *, '{}'::text[], '{tools}'::text[] from unnest($1::text[], $2::text[], $3::text[], $4::text[])`,
      [column('id'), column('hash'), column('prefix'), column('principal')],
    );
    await client.query(
      `insert into connections (principal, server, issuer, resource, state, sealed, connected_at, expires_at, version)
       select principal, $3, $4, $5, 'connected', sealed, clock_timestamp(), clock_timestamp() + interval '1 hour', 1
       from unnest($1::text[], $2::text[]) as made(principal, sealed)`,
      [column('principal'), column('sealed'), server, origin, `${origin}/mcp`],
    );
    await client.query('analyze connections, api_keys');
  });
  console.log(`${rows.length} connections made in ${seconds(began)}`);
  // Gateways read changed keys twice a second.
  await delay(1_000);
  return rows.map(({ key }) => key);
}

async function putCalls(
  { gateway, worker, databaseUrl }: System,
  keys: readonly string[],
  { what, times = 1_000 }: { what: string; times?: number | undefined },
): Promise<void> {
  const pool = new Pool(gateway.url, { connections: inFlight, pipelining: 1 });
  let last = 0;
  const before = [cpuMs(gateway.pid), cpuMs(worker.pid)] as const;
  const result = await keepBusy({ inFlight, forMs: 600_000, atMost: times }, () =>
    callOnce(pool, keys[last++ % keys.length]!),
  );
  const used = (pid: number, since: number) => ((cpuMs(pid) - since) / result.requests).toFixed(2);
  await pool.close();
  if (result.failures.length > 0) throw new Error(`not every call succeeded: ${result.failures.join('\n')}`);
  const [row] = (
    await querying(databaseUrl, (client) => client.query(`select pg_total_relation_size('connections') as bytes`))
  ).rows as { bytes: string }[];
  console.log(
    `${what}: ${result.requests} calls, ${Math.round((result.requests * 1_000) / result.elapsedMs)}/s, p50 ${result.p50Ms.toFixed(1)} ms, ` +
      `p99 ${result.p99Ms.toFixed(1)} ms; CPU ms a call: gateway ${used(gateway.pid, before[0])}, worker ${used(worker.pid, before[1])}; ` +
      `memory: gateway ${residentMegabytes(gateway.pid)} MB, worker ${residentMegabytes(worker.pid)} MB; ` +
      `table ${(Number(row!.bytes) / 1024 ** 2).toFixed(1)} MiB`,
  );
}

async function callOnce(pool: Pool, key: string): Promise<void> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await pool.request({ method: 'POST', path: '/api/tools/call', headers, body: call });
  const text = await answer.body.text();
  if (answer.statusCode !== 200 || !text.includes('somebody'))
    throw new Error(`${answer.statusCode} ${text.slice(-300)}`);
}

async function measureList({ gateway }: System, key: string, count: number): Promise<void> {
  const pool = new Pool(gateway.url);
  const headers = { authorization: `Bearer ${key}` };
  const { p50Ms, p99Ms } = await keepBusy({ inFlight: 1, forMs: 60_000, atMost: 200 }, async () => {
    await (await pool.request({ method: 'GET', path: '/api/connections', headers })).body.dump();
  });
  await pool.close();
  console.log(`GET /api/connections, ${count} in the store: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms`);
}

async function renewalsOf(part: ReturnType<typeof startPart>): Promise<number> {
  const answer = answerOf<{ renewals: number }>(part);
  part.send({});
  return (await answer).renewals;
}

/** Half of the calls by another gateway; a second worker shares them. */
async function measureStorm(
  system: System,
  { keys, renewals }: { keys: readonly string[]; renewals: () => Promise<number> },
): Promise<boolean> {
  const [gateway] = await Promise.all([system.startGateway(), system.startWorker()]);
  await querying(system.databaseUrl, (client) =>
    client.query(`update connections set expires_at = clock_timestamp() where principal = 'person-0'`),
  );
  const before = await renewals();
  const pools = [system.gateway.url, gateway.url].map((url) => new Pool(url, { connections: 50, pipelining: 1 }));
  const began = performance.now();
  await Promise.all(Array.from({ length: 100 }, (_none, at) => callOnce(pools[at % 2]!, keys[0]!)));
  const asked = (await renewals()) - before;
  await Promise.all(pools.map((pool) => pool.close()));
  console.log(
    `100 calls at once meet a token that has ended, on two gateways and workers: ${asked} renewals, all answered after ${seconds(began)}`,
  );
  return asked === 1;
}

async function measureRotation({ databaseUrl }: System, key: Buffer): Promise<void> {
  const database = openDatabase({ url: databaseUrl, poolSize: 1, timeoutMs: 60_000, applicationName: 'bench' });
  const began = performance.now();
  try {
    const { sealed } = await rotateVault(database, new Vault([randomBytes(32), key]), none);
    console.log(`vault rotate: ${sealed} sealed anew in ${seconds(began)}`);
  } finally {
    await database.close();
  }
}

const seconds = (began: number): string => `${((performance.now() - began) / 1_000).toFixed(2)} s`;
