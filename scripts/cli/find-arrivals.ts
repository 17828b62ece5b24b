// What a tool server is told of a caller, as it arrives: one call to a server of the doctor's own, by the code with which a worker calls
// the configured one. Of whatever may be a secret, only its scheme and its length are shown.
import { decodeJwt } from 'jose';
import { CallTokenKeys } from '#libs/access/call-token-keys.js';
import { CallTokenMint } from '#libs/access/call-tokens.js';
import { StatementMint } from '#libs/access/identity/caller-statement.js';
import { IdentityKeys } from '#libs/access/identity/identity-keys.js';
import { publicAddress } from '#libs/config/addresses/public-address.js';
import type { Config } from '#libs/config/schema.js';
import { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import { ConnectionStore } from '#libs/connections/connection-store.js';
import { ConnectionTokens } from '#libs/connections/connection-tokens.js';
import { openVault } from '#libs/connections/vault.js';
import { silentLogger } from '#libs/logging/logger.js';
import { callTokenMetaKey, identityMetaKey } from '#libs/mcp-server/call-meta.js';
import type { Database } from '#libs/postgres/open-database.js';
import { metaOfCall, type ToldCall } from '../../apps/worker/jobs/run-tool.js';
import { type AccessParts, statementOf, type UrlServer, usersOf } from '../../apps/worker/mcp/servers/caller-access.js';
import type { PoolUser } from '../../apps/worker/mcp/servers/configured-server.js';
import { type ApiConfig, openApiClients } from '../../apps/worker/mcp/servers/open-api.js';
import { openUrl } from '../../apps/worker/mcp/servers/servers.js';
import { withStore } from '../with-store.js';
import { okFinding, problemFinding, type ServerFinding } from './server-finding.js';
import { type ArrivedCall, echoTool, type Echo, openEcho } from './open-echo.js';

export interface ToldServer {
  name: string;
  /** With the address that credentials and statements are for. */
  server: UrlServer;
  config: Config;
  /** '': nobody, as when the tools are listed. */
  principal: string;
}

export interface DoctorAccess extends AccessParts {
  callTokens: Pick<CallTokenMint, 'mint'>;
}

const askMs = 30_000;
/** What the call says of itself, and what a caller would send. */
const example = 'doctor';
const known = /^(?:basic|bearer|digest|dpop|token|apikey) /i;

/** What workers show servers with, as far as this server needs it: a server that needs nothing of the store is not asked for one. */
export async function withAccess<T>(
  { server, config }: ToldServer,
  work: (access: DoctorAccess) => Promise<T>,
): Promise<T> {
  const none = { mint: () => Promise.reject(new Error('there are no call tokens without a store')) };
  const { identity, auth, act_for_caller: actsForCaller = false } = server;
  if (identity === undefined && auth === undefined && !actsForCaller) return work({ callTokens: none });
  return withStore(config, { applicationName: 'doctor' }, (database) => work(openAccess(config, database)));
}

function openAccess(config: Config, database: Database): DoctorAccess {
  // The findings say what is missing.
  const vault = openVault({ vault: config.vault, mcpServers: {} });
  const store = new ConnectionStore(database, { audit: config.audit.enabled });
  return {
    statements: new StatementMint({ keys: new IdentityKeys(database), issuer: publicAddress(config.server) }),
    connections: vault && { store, tokens: new ConnectionTokens({ store, vault, allow: config.tools.fetch_allow }) },
    callTokens: new CallTokenMint(new CallTokenKeys(database)),
  };
}

/** Whose rights the call has: those of `--as`, else, where each user has their own, those with which a worker lists the tools. */
export async function userOfCall({ name, server, principal }: ToldServer, access: AccessParts): Promise<PoolUser> {
  const users = usersOf(name, server, access);
  const found = principal === '' ? await users?.anyConnected() : principal;
  const headers = Object.fromEntries(server.forward_headers.map((each) => [each.toLowerCase(), sampleOf(each)]));
  const forwarded = server.forward_headers.length === 0 ? undefined : headers;
  return { principal: found ?? '', sessionId: example, directory: '', headers: forwarded };
}

/** Empty if nothing shows the server who calls. Never rejects. */
export async function findArrivals(told: ToldServer, access: DoctorAccess): Promise<ServerFinding[]> {
  const { server } = told;
  const isTold = expectedOf(server).size > 0 || server.act_for_caller === true;
  if (!isTold) return [];
  const echo = await openEcho();
  try {
    const user = await userOfCall(told, access);
    await sendCall(told, access, { echo, user });
    return judge(told, user, echo.arrived());
  } catch (error) {
    const what = `nothing arrived: ${error instanceof Error ? error.message : String(error)}`;
    return [problemFinding('arrived', what, remedyOf(told, error))];
  } finally {
    await echo.close();
  }
}

async function sendCall(
  { name, server, config }: ToldServer,
  access: DoctorAccess,
  { echo, user }: { echo: Echo; user: PoolUser },
): Promise<void> {
  const { principal } = user;
  const signal = AbortSignal.timeout(askMs);
  const call: ToldCall = {
    job: {
      requestId: example,
      principal,
      callId: `call_${example}`,
      sessionId: example,
      runId: example,
      roles: [example],
      maxTimeoutMs: askMs,
    },
    user,
    holdSecrets: () => undefined,
    signal,
    maxTimeoutMs: askMs,
    onProgress: () => undefined,
  };
  const parts = { config, logger: silentLogger, ...access };
  const { openapi } = server;
  if (openapi !== undefined) {
    const api: ApiConfig = { ...server, openapi };
    const client = openApiClients(name, api, parts).clientOf(user, { baseUrl: echo.apiUrl, isFromDocument: false });
    try {
      await client.send({ method: 'GET', url: new URL(echo.apiUrl), headers: {} }, signal, call);
    } finally {
      client.close();
    }
    return;
  }
  const statement = statementOf(server, access);
  const place = { key: { server: name, configHash: '' }, statement, at: echo.mcpUrl };
  const connection = await openUrl({ ...server, transport: 'http' }, parts, place)(user, signal);
  try {
    const own = { builtin: false, actsForCaller: server.act_for_caller === true, statement };
    const meta = await metaOfCall(call, own, { callTokens: access.callTokens, traceparent: undefined });
    await connection.callTool({ tool: echoTool, arguments: {}, meta }, call);
  } finally {
    await connection.close();
  }
}

interface Expected {
  /** The setting that sends it. */
  by: 'headers' | 'forward_headers' | 'auth' | 'identity';
  /** Absent if it is made for the request. */
  value?: string;
}

const sampleOf = (name: string): string => (name.toLowerCase() === 'authorization' ? `Bearer ${example}` : example);

/** By the lower-case name of the header; of two settings with one name, the one that the other gives way to. */
function expectedOf({ headers, forward_headers: forwarded, auth, identity }: UrlServer): Map<string, Expected> {
  const expected = new Map<string, Expected>();
  const expect = (name: string, given: Expected) => void expected.set(name.toLowerCase(), given);
  for (const [name, value] of Object.entries(headers)) expect(name, { by: 'headers', value: value.trim() });
  for (const name of forwarded) expect(name, { by: 'forward_headers', value: sampleOf(name) });
  for (const name of auth === undefined ? [] : (auth.names ?? ['authorization'])) expect(name, { by: 'auth' });
  if (identity !== undefined) expect(statementHeaderOf({ identity }), { by: 'identity' });
  return expected;
}

const statementHeaderOf = ({ identity }: Pick<UrlServer, 'identity'>): string =>
  ((typeof identity === 'object' && identity.header) || 'authorization').toLowerCase();

function judge(told: ToldServer, user: PoolUser, arrived: ArrivedCall | undefined): ServerFinding[] {
  const { server } = told;
  if (arrived === undefined) return [problemFinding('arrived', 'nothing arrived', 'Run it again with LOG_LEVEL=debug')];
  const { headers, meta } = arrived;
  const expected = expectedOf(server);
  const valueOf = (name: string) => [headers[name]].flat().join(', ');
  const isThere = ([name, { value }]: [string, Expected]) =>
    valueOf(name) !== '' && (value === undefined || valueOf(name) === value);
  const missing = [...expected].filter((each) => !isThere(each));
  const shown = [...expected.keys()].filter((name) => valueOf(name) !== '');
  const others = Object.keys(headers).filter((name) => !expected.has(name));
  const whose = user.principal === '' ? 'the gateway itself' : user.principal;
  const findings = missing.map(([name, { by }]) =>
    problemFinding('arrived', `${name} (of \`${by}\`) did not arrive as it is configured`, remedyOf(told)),
  );
  if (shown.length > 0) {
    const carried = shown.map((name) => `${name} (${sizeOf(valueOf(name), name)})`).join(', ');
    findings.push(
      okFinding('arrived', `a call of ${whose} arrived with ${carried}; and without secrets: ${others.join(', ')}`),
    );
  }
  if (server.identity !== undefined && !missing.some(([, { by }]) => by === 'identity'))
    findings.push(describeStatement(valueOf(statementHeaderOf(server)), statementHeaderOf(server)));
  if (meta !== undefined) findings.push(judgeMeta(server, meta));
  return findings;
}

/** Scheme and length of what may be a secret. */
function sizeOf(value: string, name: string): string {
  const scheme = name === 'authorization' ? known.exec(value)?.[0] : undefined;
  const length = `${value.length - (scheme ?? '').length} characters`;
  return scheme === undefined ? length : `${scheme}and ${length}`;
}

function describeStatement(value: string, header: string): ServerFinding {
  const { iss, aud, sub, roles, sid, run, iat = 0, exp = 0 } = decodeJwt(value.replace(known, ''));
  const who = `the statement in ${header} is by ${iss}, for ${String(aud)}, about ${sub}`;
  const where = `roles ${String(roles)}, session ${String(sid)}, run ${String(run)}`;
  return okFinding('identity', `${who}; ${where}; good for ${exp - iat} s`);
}

function judgeMeta(
  { identity, act_for_caller: actsForCaller }: UrlServer,
  meta: Record<string, unknown>,
): ServerFinding {
  const wanted = [
    ...(identity === undefined ? [] : [identityMetaKey]),
    ...(actsForCaller === true ? [callTokenMetaKey] : []),
  ];
  const lacking = wanted.filter((key) => typeof meta[key] !== 'string');
  if (lacking.length > 0)
    return problemFinding('meta', `_meta came without ${lacking.join(', ')}`, 'Run it again with LOG_LEVEL=debug');
  const shown = Object.entries(meta).map(([key, value]) =>
    wanted.includes(key) ? `${key} (${String(value).length} characters)` : key,
  );
  return okFinding('meta', `_meta carried ${shown.join(', ')}`);
}

function remedyOf({ server: { auth }, principal }: ToldServer, error?: unknown): string {
  if (auth === undefined)
    return 'A variable in a value of `headers` may be empty; `config check` says where values are from';
  if (auth.kind === 'client_credentials') return 'Check client_id, client_secret and scopes of `auth` at the issuer';
  const isUnknown = error === undefined || error instanceof ConnectionNeeded;
  if (!isUnknown) return 'docs/connections.md says what `auth` needs';
  if (auth.kind === 'token_exchange')
    return 'Name with --as a user who has sent a request with a token of the issuer: their token is exchanged then';
  return principal === ''
    ? 'Nobody has connected yet: connect in the console, or by POST /api/connections'
    : 'Connect as this user, in the console or by POST /api/connections';
}
