// Connections of users to tool servers, one of a principal and a server, in the database. Secrets are sealed before they get here.
// What a person would want to know of a connection writes its audit row in the same statement.
import type { Database } from '#libs/postgres/open-database.js';
import { storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';

export const connectionStates = ['connected', 'expired', 'error'] as const;
export type ConnectionState = (typeof connectionStates)[number];

/** The connections of the gateway itself have the principal ''. */
export interface ConnectionKey {
  principal: string;
  server: string;
}

export interface StoredConnection extends ConnectionKey {
  issuer: string;
  /** The address of the server then. */
  resource: string;
  state: ConnectionState;
  sealed: string | null;
  scopes: string[];
  /** What the server has asked for in addition. */
  wantedScopes: string[];
  account: string | null;
  connectedAt: Date | null;
  expiresAt: Date | null;
  /** How long the tokens are good for, by the clock of the database; null: their issuer does not say it. */
  lastsMs: number | null;
  /** Grows with each change of the tokens. */
  version: string;
}

export interface NewConnection extends ConnectionKey {
  issuer: string;
  resource: string;
  sealed: string;
  scopes: readonly string[];
  account?: string | undefined;
  expiresInMs?: number | undefined;
}

/** The request that changes a connection, for its audit row. */
export interface ConnectionRequest {
  requestId: string;
  ip?: string | undefined;
  keyId?: string | undefined;
}

export interface RenewedTokens {
  sealed: string;
  scopes?: readonly string[] | undefined;
  expiresInMs?: number | undefined;
  /** The tokens have the scopes that the server has asked for. */
  satisfied?: boolean;
}

const shown = `principal, server, issuer, resource, state, sealed, scopes, wanted_scopes as "wantedScopes", account,
  connected_at as "connectedAt", expires_at as "expiresAt",
  (extract(epoch from expires_at - clock_timestamp()) * 1000)::float8 as "lastsMs", version::text`;
const inMs = (parameter: number) => `clock_timestamp() + $${parameter}::float8 * interval '1 millisecond'`;
/** The second parameter is the request as JSON, null without an audit. */
const audited = `insert into audit_events (id, at, kind, request_id, ip, key_id, principal, server, success, state, error_code)
  select $1::uuid, clock_timestamp(), 'connection', coalesce($2::jsonb->>'requestId', ''), $2::jsonb->>'ip', $2::jsonb->>'keyId',
    principal, server,`;

const connect = `/* connections.connect */
  with made as (
    insert into connections (principal, server, issuer, resource, state, sealed, scopes, account, connected_at, expires_at, version)
    values ($3, $4, $5, $6, 'connected', $7, $8, $9, clock_timestamp(), ${inMs(10)}, 1)
    on conflict (principal, server) do update set issuer = excluded.issuer, resource = excluded.resource, state = 'connected',
      sealed = excluded.sealed, scopes = excluded.scopes, wanted_scopes = '{}', account = excluded.account,
      connected_at = excluded.connected_at, expires_at = excluded.expires_at, version = connections.version + 1,
      refresh_holder = null, refresh_until = null
    returning *),
  audited as (${audited} true, 'connected', null from made where $2::jsonb is not null)
  select ${shown} from made`;

/** An empty row, for the lease of a connection that the gateway makes by itself. */
const reserve = `/* connections.reserve */ insert into connections (principal, server, issuer, resource, state)
  values ($1, $2, '', $3, 'expired') on conflict do nothing`;

const lease = `/* connections.lease */ update connections
  set refresh_holder = $4, refresh_until = ${inMs(5)}
  where principal = $1 and server = $2 and version = $3::bigint
    and (refresh_until is null or refresh_until < clock_timestamp())
  returning version`;

const renew = `/* connections.renew */
  with before as (select state from connections where principal = $3 and server = $4 and refresh_holder = $5),
  renewed as (
    update connections set state = 'connected', sealed = $6, scopes = coalesce($7, scopes), expires_at = ${inMs(8)},
      wanted_scopes = case when $11::boolean then '{}' else wanted_scopes end, issuer = $9, resource = $10, connected_at = coalesce(connected_at, clock_timestamp()), version = version + 1,
      refresh_holder = null, refresh_until = null
    where principal = $3 and server = $4 and refresh_holder = $5 returning *),
  audited as (${audited} true, 'connected', null from renewed
    where $2::jsonb is not null and (select state from before) <> 'connected')
  select version from renewed`;

const leave = `/* connections.leave */ update connections set refresh_holder = null, refresh_until = null
  where principal = $1 and server = $2 and refresh_holder = $3`;

const end = `/* connections.end */
  with gone as (
    update connections set state = $6, sealed = null, version = version + 1, refresh_holder = null, refresh_until = null
    where principal = $3 and server = $4 and version = $5::bigint and state = 'connected' returning *),
  audited as (${audited} false, 'refused', null from gone where $2::jsonb is not null)
  select version from gone`;

const remove = `/* connections.remove */
  with gone as (delete from connections where principal = $3 and server = $4 returning *),
  audited as (${audited} true, 'disconnected', null from gone where $2::jsonb is not null)
  select ${shown} from gone`;

const refuse = `/* connections.refuse */ ${audited} false, 'refused', $5
  from (select $3::text as principal, $4::text as server) as asked where $2::jsonb is not null`;

const want = `/* connections.want */ update connections
  set wanted_scopes = (select array(select distinct unnest(wanted_scopes || $3::text[]) limit 100))
  where principal = $1 and server = $2 and version = $4::bigint`;

/** Begins and ends the time in which the server of a connection is not configured. */
const markUnused = `/* connections.mark-unused */ update connections
  set unused_since = case when server = any($1::text[]) then null else clock_timestamp() end
  where (server = any($1::text[])) = (unused_since is not null)`;

const unused = `/* connections.unused */ select principal, server from connections
  where unused_since < clock_timestamp() - $1::float8 * interval '1 millisecond' order by unused_since limit $2`;

export class ConnectionStore {
  private readonly audit: boolean;

  constructor(
    private readonly database: Pick<Database, 'query'>,
    { audit = true }: { audit?: boolean } = {},
  ) {
    this.audit = audit;
  }

  async get(key: ConnectionKey): Promise<StoredConnection | undefined> {
    const statement = `/* connections.get */ select ${shown} from connections where principal = $1 and server = $2`;
    const [row] = await this.database.query<StoredConnection>(statement, keyOf(key));
    return row;
  }

  async list(principal: string): Promise<StoredConnection[]> {
    return this.database.query<StoredConnection>(
      `/* connections.list */ select ${shown} from connections where principal = $1 order by server`,
      [storedText(principal)],
    );
  }

  /** Whoever connected last, or undefined. */
  async anyConnected(server: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ principal: string }>(
      `/* connections.any */ select principal from connections where server = $1 and state = 'connected' and principal <> ''
       order by connected_at desc limit 1`,
      [server],
    );
    return row?.principal;
  }

  async connect(made: NewConnection, request?: ConnectionRequest): Promise<StoredConnection> {
    const { issuer, resource, sealed, scopes, account, expiresInMs } = made;
    const [row] = await this.database.query<StoredConnection>(connect, [
      ...this.auditing(request),
      ...keyOf(made),
      issuer,
      resource,
      sealed,
      scopes,
      storedTextOrNull(account),
      expiresInMs ?? null,
    ]);
    return row!;
  }

  async reserve(key: ConnectionKey, resource: string): Promise<void> {
    await this.database.query(reserve, [...keyOf(key), resource]);
  }

  /** The right to renew the tokens of this version, for a time. */
  async lease(
    key: ConnectionKey,
    { version, holder, forMs }: { version: string; holder: string; forMs: number },
  ): Promise<boolean> {
    return (await this.database.query(lease, [...keyOf(key), version, holder, forMs])).length > 0;
  }

  /**
   * False if the lease was lost, since somebody has connected or disconnected meanwhile.
   * @param request Has an audit row if there was no connection before.
   */
  async renew(
    { issuer, resource, ...key }: ConnectionKey & Pick<StoredConnection, 'issuer' | 'resource'>,
    holder: string,
    { sealed, scopes, expiresInMs, satisfied = false }: RenewedTokens,
    request?: ConnectionRequest,
  ): Promise<boolean> {
    const values = [sealed, scopes ?? null, expiresInMs ?? null, issuer, resource, satisfied];
    const auditing = request === undefined ? [uuidv7(), null] : this.auditing(request);
    return (await this.database.query(renew, [...auditing, ...keyOf(key), holder, ...values])).length > 0;
  }

  async leave(key: ConnectionKey, holder: string): Promise<void> {
    await this.database.query(leave, [...keyOf(key), holder]);
  }

  /** Ends a connection whose tokens were refused, unless it has others meanwhile. */
  async end(
    { version, ...key }: Pick<StoredConnection, 'principal' | 'server' | 'version'>,
    state: Exclude<ConnectionState, 'connected'> = 'expired',
  ): Promise<void> {
    await this.database.query(end, [...this.auditing(), ...keyOf(key), version, state]);
  }

  /** Returns what was there. */
  async remove(key: ConnectionKey, request?: ConnectionRequest): Promise<StoredConnection | undefined> {
    const [row] = await this.database.query<StoredConnection>(remove, [...this.auditing(request), ...keyOf(key)]);
    return row;
  }

  /** Writes the audit row of a sign-in that did not succeed. */
  async noteRefused(key: ConnectionKey, reason: string, request?: ConnectionRequest): Promise<void> {
    await this.database.query(refuse, [...this.auditing(request), ...keyOf(key), reason]);
  }

  /** Remembers scopes for the next sign-in, unless there was one since: it has them, or the server will ask again. */
  async want({ version, ...key }: ConnectionKey & { version: string }, scopes: readonly string[]): Promise<void> {
    await this.database.query(want, [...keyOf(key), scopes, version]);
  }

  /** @param configured Names of all servers with `auth` */
  async markUnused(configured: readonly string[]): Promise<void> {
    await this.database.query(markUnused, [configured]);
  }

  /** Connections whose servers have not been configured for so long. */
  unused(forMs: number, limit: number): Promise<ConnectionKey[]> {
    return this.database.query<ConnectionKey>(unused, [forMs, limit]);
  }

  private auditing(request?: ConnectionRequest): unknown[] {
    if (!this.audit) return [uuidv7(), null];
    const { requestId = '', ip, keyId } = request ?? {};
    return [uuidv7(), JSON.stringify({ requestId: storedText(requestId), ip, keyId })];
  }
}

const keyOf = ({ principal, server }: ConnectionKey): string[] => [storedText(principal), server];
