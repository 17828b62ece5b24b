// Leases: which worker runs a session's stateful servers. A lease lives as long as its worker's heartbeat and is never renewed
// itself; each new lease has a higher fence than all earlier leases.
import type { Database } from '#libs/postgres/open-database.js';
import { storeUnavailable } from '#libs/store-error/store-error.js';
import { storedText } from '#libs/postgres/stored-text.js';
import { processExpiryMs } from '../processes/process-registry.js';

export interface SessionName {
  principal: string;
  sessionId: string;
}

export interface SessionLease {
  worker: string;
  /** Digits of a bigint. */
  fence: string;
  /** The holder accepts no more calls and will free the session when the last one has ended. */
  draining: boolean;
  /** Time until the holder may be given up for lack of a heartbeat, ms. */
  expiresInMs: number;
}

export interface SessionLeases {
  /**
   * The session's lease: `worker`'s own, or that of another living worker that took it first. Undefined if `worker` itself
   * is dead or drains: no lease was taken. @throws AppError store_unavailable
   */
  take(session: SessionName, worker: string): Promise<SessionLease | undefined>;
  /** Whether a living worker holds the session, so its servers may run there. @throws AppError store_unavailable */
  isTaken(session: SessionName): Promise<boolean>;
  /** Ends the lease under this fence; a later lease stays. @throws AppError store_unavailable */
  release(session: SessionName, fence: string): Promise<void>;
  /** Frees the remaining leases of a worker that stops. @throws AppError store_unavailable */
  releaseAll(worker: string): Promise<void>;
}

interface LeaseRow {
  /** Whether `worker` may take a lease. */
  able: boolean;
  worker: string | null;
  fence: string;
  draining: boolean | null;
  expires_in_ms: number | null;
}

/** Attempts to take a lease. If another worker took it while the statement ran, the next attempt sees that lease. */
const attempts = 5;

export class PostgresSessionLeases implements SessionLeases {
  constructor(
    private readonly database: Database,
    private readonly expiryMs = processExpiryMs,
  ) {}

  async take({ principal, sessionId }: SessionName, worker: string): Promise<SessionLease | undefined> {
    const parameters = [storedText(principal), storedText(sessionId), worker, this.expiryMs];
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const [row] = await this.database.call((prisma) => prisma.$queryRawUnsafe<LeaseRow[]>(takeLease, ...parameters));
      if (row === undefined || !row.able) return undefined;
      // Another worker took the lease while the statement ran.
      if (row.worker === null) continue;
      return {
        worker: row.worker,
        fence: row.fence,
        draining: row.draining ?? false,
        expiresInMs: row.expires_in_ms ?? 0,
      };
    }
    throw storeUnavailable('The session is taken and freed again and again');
  }

  async isTaken({ principal, sessionId }: SessionName): Promise<boolean> {
    const parameters = [storedText(principal), storedText(sessionId), this.expiryMs];
    const rows = await this.database.call((prisma) => prisma.$queryRawUnsafe<unknown[]>(findTaken, ...parameters));
    return rows.length > 0;
  }

  async release({ principal, sessionId }: SessionName, fence: string): Promise<void> {
    await this.database.call(
      (prisma) => prisma.$executeRaw`/* leases.release */
        delete from session_leases
        where principal = ${storedText(principal)} and session_id = ${storedText(sessionId)}
          and fence = ${fence}::text::bigint`,
    );
  }

  async releaseAll(worker: string): Promise<void> {
    await this.database.call((prisma) => prisma.sessionLease.deleteMany({ where: { worker } }));
  }
}

const alive = (expiryMs: string) =>
  `heartbeat_at > statement_timestamp() - ${expiryMs}::float8 * interval '1 millisecond'`;

const findTaken = `/* leases.is-taken */
  select from session_leases lease join processes on processes.id = lease.worker
  where lease.principal = $1 and lease.session_id = $2 and ${alive('$3')}`;

/** Heartbeats are compared with the statement's own time, because waiting for a lock must not age them. */
const takeLease = `/* leases.take */ with
  asking as (select from processes where id = $3 and not draining and ${alive('$4')}),
  taken as (
    insert into session_leases as lease (principal, session_id, worker, fence, leased_at)
    select $1, $2, $3, nextval('session_lease_fence'), statement_timestamp() from asking
    where not exists (
      select from session_leases known join processes on processes.id = known.worker
      where known.principal = $1 and known.session_id = $2 and ${alive('$4')})
    on conflict (principal, session_id) do update
      set worker = excluded.worker, fence = excluded.fence, leased_at = excluded.leased_at
      where not exists (select from processes where id = lease.worker and ${alive('$4')})
    returning worker, fence),
  held as (
    select worker, fence from taken
    union all
    select worker, fence from session_leases
    where principal = $1 and session_id = $2 and not exists (select from taken))
  select exists (select from asking) as able, held.worker, held.fence::text as fence, processes.draining,
    extract(epoch from heartbeat_at - statement_timestamp())::float8 * 1000 + $4::float8 as expires_in_ms
  from (select) as always left join held on true left join processes on processes.id = held.worker`;
