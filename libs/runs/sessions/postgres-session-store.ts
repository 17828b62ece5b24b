// Sessions on PostgreSQL. A session in use is written once every few seconds, concurrent sessions in one statement; memory serves
// the reads in between.
import { randomBytes } from 'node:crypto';
import type { Database } from '#libs/postgres/open-database.js';
import { storedJson, storedJsonOrNull, storedText } from '#libs/postgres/stored-text.js';
import { deletePartsOfRuns } from '../delete-parts-of-runs.js';
import type { DeletedSession, SessionKey } from './deleted-sessions.js';
import { KnownSessions } from './known-sessions.js';
import type { GivenSession, Session, SessionDirectories, SessionStore } from './session-store.js';
import { StoreWrites } from '../store-writes.js';

export interface SessionStoreOptions {
  /** `workspaces.idle_ttl_ms` */
  idleTtlMs: number;
  /** A known session is written again no sooner than this. */
  renewAfterMs?: number;
  /** Shared with the other stores of the process. */
  writes?: StoreWrites;
  /** Notifies the other processes, also about expired sessions; awaited. Must not reject. */
  onDeleted?: (session: DeletedSession) => Promise<void>;
}

/** Times as returned by Prisma or JSON. */
interface SessionRow extends Omit<Session, 'createdAt' | 'usedAt' | 'expiresAt'> {
  created_at: Date | string;
  used_at: Date | string;
  expires_at: Date | string;
}

const sessionMembers = 'principal, id, directory, created_at, used_at, expires_at, metadata';

/** Deletes a session with its runs, except runs in progress, which the reaper deletes later. */
const deleteSession = `/* sessions.delete */ with
  gone as (delete from sessions where principal = $1 and id = $2 returning ${sessionMembers}),
  runs_gone as (
    delete from runs using gone where runs.principal = gone.principal and runs.session_id = gone.id
      and runs.state not in ('running', 'waiting') and not exists (
        select from tool_calls call
        where call.run_id = runs.id and call.kind = 'server' and call.state in ('planned', 'parked', 'dispatched'))
    returning runs.id),
  ${deletePartsOfRuns('runs_gone')},
  calls_gone as (
    delete from tool_calls call using gone where call.principal = gone.principal and call.session_id = gone.id
      and call.run_id is null and call.state not in ('planned', 'parked', 'dispatched'))
  select ${sessionMembers} from gone`;

const takeExpired = `/* sessions.take-expired */
  delete from sessions where (principal, id) in (
    select principal, id from sessions session where expires_at < clock_timestamp() and not exists (
      select from tool_calls call
      where call.principal = session.principal and call.session_id = session.id and call.kind = 'server'
        and call.state in ('planned', 'dispatched'))
    order by expires_at limit $1 for update skip locked)
  returning ${sessionMembers}`;

export class PostgresSessionStore implements SessionStore, SessionDirectories {
  private readonly knownSessions: KnownSessions;
  private readonly ensuring = new Map<string, Promise<Session>>();
  private readonly writes: StoreWrites;
  private readonly idleTtlMs: number;

  constructor(
    private readonly database: Database,
    private readonly options: SessionStoreOptions,
  ) {
    const { idleTtlMs, renewAfterMs = Math.min(5_000, idleTtlMs / 4), writes = new StoreWrites(database) } = options;
    this.idleTtlMs = idleTtlMs;
    this.knownSessions = new KnownSessions(renewAfterMs);
    this.writes = writes;
  }

  ensure(principal: string, id: string, given: GivenSession = {}): Promise<Session> {
    const key = keyOf(principal, id);
    const known = this.knownSessions.get(key);
    if (known !== undefined && given.metadata === undefined) return Promise.resolve(known);
    // One write of a session at a time: a statement must not name a row twice.
    const earlier = this.ensuring.get(key);
    if (earlier !== undefined) {
      if (given.metadata === undefined) return earlier;
      return earlier.catch(() => undefined).then(() => this.ensure(principal, id, given));
    }
    const writing = this.write(key, { principal, id, ...given });
    this.ensuring.set(key, writing);
    return writing;
  }

  /** The session, if this process wrote it a moment ago. Undefined does not mean that there is no such session. */
  known(principal: string, id: string): Session | undefined {
    return this.knownSessions.get(keyOf(principal, id));
  }

  private write(key: string, given: GivenSession & { principal: string; id: string }): Promise<Session> {
    const row = {
      principal: storedText(given.principal),
      id: storedText(given.id),
      directory: given.directory ?? randomBytes(16).toString('hex'),
      metadata: storedJsonOrNull(given.metadata),
      idle_ttl_ms: this.idleTtlMs,
    };
    return this.writes.submit('session', row).then(
      (written) => {
        this.ensuring.delete(key);
        const session = toSession(written!.result as unknown as SessionRow);
        this.knownSessions.set(key, session);
        return session;
      },
      (error: unknown) => {
        this.ensuring.delete(key);
        throw error;
      },
    );
  }

  async get(principal: string, id: string): Promise<Session | undefined> {
    const where = { principal_id: { principal: storedText(principal), id: storedText(id) } };
    const row = await this.database.call((prisma) => prisma.session.findUnique({ where }));
    return row === null ? undefined : { ...row, metadata: row.metadata as Record<string, unknown> };
  }

  async list(principal: string, page: { limit: number; after?: string }): Promise<Session[]> {
    const rows = await this.database.call((prisma) =>
      prisma.session.findMany({
        where: {
          principal: storedText(principal),
          ...(page.after !== undefined && { id: { gt: storedText(page.after) } }),
        },
        orderBy: { id: 'asc' },
        take: page.limit,
      }),
    );
    return rows.map((row) => ({ ...row, metadata: row.metadata as Record<string, unknown> }));
  }

  async listAll({ limit, after }: Parameters<SessionStore['listAll']>[0]): Promise<Session[]> {
    const rows = await this.database.query<SessionRow>(
      `/* sessions.list-all */ select ${sessionMembers} from sessions
       where (principal, id) > ($1, $2) order by principal, id limit $3`,
      [storedText(after?.principal ?? ''), storedText(after?.id ?? ''), limit],
    );
    return rows.map(toSession);
  }

  async delete(principal: string, id: string): Promise<Session | undefined> {
    this.forget({ principal, id });
    const rows = await this.database.call((prisma) =>
      prisma.$queryRawUnsafe<SessionRow[]>(deleteSession, storedText(principal), storedText(id)),
    );
    this.forget({ principal, id });
    if (rows[0] === undefined) return undefined;
    const session = toSession(rows[0]);
    await this.options.onDeleted?.(session);
    return session;
  }

  /** Forgets a session that another process deleted. */
  forget({ principal, id }: SessionKey): void {
    this.knownSessions.delete(keyOf(principal, id));
  }

  async takeExpired(limit: number): Promise<Session[]> {
    const rows = await this.database.call((prisma) => prisma.$queryRawUnsafe<SessionRow[]>(takeExpired, limit));
    for (const row of rows) this.forget(row);
    const sessions = rows.map(toSession);
    await Promise.all(sessions.map(async (session) => this.options.onDeleted?.(session)));
    return sessions;
  }

  async existing(directories: readonly string[]): Promise<Set<string>> {
    const rows = await this.database.call((prisma) =>
      prisma.session.findMany({ where: { directory: { in: [...directories] } }, select: { directory: true } }),
    );
    return new Set(rows.map(({ directory }) => directory));
  }

  async count(): Promise<number> {
    return this.database.call((prisma) => prisma.session.count());
  }
}

const keyOf = (principal: string, id: string): string => storedJson([principal, id]);

function toSession({ created_at, used_at, expires_at, ...row }: SessionRow): Session {
  return { ...row, createdAt: new Date(created_at), usedAt: new Date(used_at), expiresAt: new Date(expires_at) };
}
