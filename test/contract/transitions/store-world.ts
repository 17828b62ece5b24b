// The store with everything that writes runs and calls, on a database of its own: what happens to one run or one call in it, and
// by which writes. Clocks are moved in the rows, processes die by their heartbeats.
import { WaitAnnouncements } from '#libs/waits/wait-announcements.js';
import { WaitStore } from '#libs/waits/wait-store.js';
import { silentLogger } from '#libs/logging/logger.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import { PostgresJournal } from '#libs/runs/postgres-journal.js';
import { PostgresRunStore } from '#libs/runs/postgres-run-store.js';
import { Reaper } from '#libs/runs/processes/reaper.js';
import { PostgresSessionStore } from '#libs/runs/sessions/postgres-session-store.js';
import { type WaitPorts, Waits } from '../../../apps/gateway/govern/waits.js';
import { MapQueue } from '../../support/map-queue.js';
import { createMigratedDatabase } from '../../support/services/test-database.js';

export const [gateway, formerGateway, goneGateway] = ['gateway-1', 'gateway-former', 'gateway-gone'] as const;
export const [worker, goneWorker] = ['worker-1', 'worker-gone'] as const;
const processes = { [gateway]: 'gateway', [formerGateway]: 'gateway', [worker]: 'worker' };

export type StoreWorld = Awaited<ReturnType<typeof openStoreWorld>>;

export async function openStoreWorld() {
  const testDatabase = await createMigratedDatabase();
  const open = () =>
    openDatabase({ url: testDatabase.url, poolSize: 4, timeoutMs: 5_000, applicationName: 'transitions' });
  const [database, closed] = [open(), open()];
  await closed.close();
  /** What was called since the last look, and what of the reaper found a row. */
  const writes = new Set<string>();
  const queue = new MapQueue();
  const waitStore = traced('waits', new WaitStore(database), writes);
  const journal = traced('journal', new PostgresJournal(database), writes);
  const channels = { publish: async () => {}, subscribe: async () => async () => {} };
  const waits = new Waits({
    store: waitStore,
    announcements: new WaitAnnouncements({ store: waitStore, channels, logger: silentLogger }),
    webhook: undefined,
    clocks: new TurnClocks(),
    onDecided: () => undefined,
    onEnded: () => undefined,
    logger: silentLogger,
    // Arguments are edited in the store.
  } satisfies Partial<WaitPorts> as unknown as WaitPorts);
  const query = <Row extends object>(text: string, ...values: unknown[]): Promise<Row[]> =>
    database.call((prisma) => prisma.$queryRawUnsafe<Row[]>(text, ...values));

  return {
    query,
    queue,
    writes,
    waits,
    waitStore,
    journal,
    runs: traced('runs', new PostgresRunStore(database), writes),
    sessions: traced('sessions', new PostgresSessionStore(database, { idleTtlMs: 60_000 }), writes),
    /** The same where the store does not answer. */
    away: { runs: new PostgresRunStore(closed), journal: new PostgresJournal(closed) },

    /** Nothing is stored, and the processes live. */
    async reset(): Promise<void> {
      queue.jobs.clear();
      for (const table of ['runs', 'run_rounds', 'run_events', 'tool_calls', 'approvals', 'sessions', 'processes'])
        await query(`delete from ${table}`);
      for (const [id, kind] of Object.entries(processes))
        await query(
          `insert into processes (id, kind, details, heartbeat_at) values ($1, $2, '{}', clock_timestamp())`,
          id,
          kind,
        );
    },
    /** Its heartbeat is older than its lease. */
    async lose(process: string): Promise<void> {
      await query(
        `update processes set heartbeat_at = clock_timestamp() - interval '7 seconds' where id = $1`,
        process,
      );
    },
    /** What every process does every two seconds, and every gateway. */
    async sweep(): Promise<void> {
      await this.reap();
      await waits['sweep']();
    },
    async reap(): Promise<void> {
      const reaper = new Reaper({
        database: tracedStatements(database, writes),
        queue: traced('queue', queue, writes),
        logger: silentLogger,
        publishOutcome: () => undefined,
        missingAfterMs: 0,
      });
      // It has already watched for the whole expiry.
      Object.assign(reaper, { watchedSince: performance.now() - 60_000, lastSeen: performance.now() });
      await reaper.sweep(AbortSignal.timeout(20_000));
    },
    /** Everything that is stored of calls, and of runs if asked for. */
    async rows(withRuns: boolean): Promise<unknown> {
      const all = (table: string) =>
        `(select json_agg(row_to_json(each)::jsonb order by row_to_json(each)::text) from ${table} each)`;
      const [found] = await query<{ calls: unknown; approvals: unknown; runs: unknown; rounds: unknown }>(
        `select ${all('tool_calls')} as calls, ${all('approvals')} as approvals, ${all('runs')} as runs,
           ${all('run_rounds')} as rounds`,
      );
      const { calls, approvals, ...runs } = found!;
      return { calls, approvals, jobs: [...queue.jobs.values()], ...(withRuns ? runs : {}) };
    },
    async audits(): Promise<number> {
      const [row] = await query<{ count: number }>('select count(*)::int as count from audit_events');
      return row!.count;
    },
    async close(): Promise<void> {
      await database.close();
      await testDatabase.drop();
    },
  };
}

/** Notes each method that is called. */
function traced<T extends object>(name: string, target: T, writes: Set<string>): T {
  return new Proxy(target, {
    get(object, key) {
      const member: unknown = Reflect.get(object, key);
      if (typeof member !== 'function') return member;
      return (...given: unknown[]): unknown => {
        writes.add(`${name}.${String(key)}`);
        return Reflect.apply(member, object, given);
      };
    },
  });
}

/** Notes each statement of the reaper that found a row, by its name: `reaper.judgeUnsafe`. */
function tracedStatements(database: Database, writes: Set<string>): Database {
  const note = (text: string) =>
    writes.add(text.slice(3, text.indexOf(' ', 3)).replace(/-[a-z]/g, (pair) => pair[1]!.toUpperCase()));
  const call: Database['call'] = (work, signal) =>
    database.call(
      (prisma) =>
        work(
          new Proxy(prisma, {
            get(object, key) {
              if (key !== '$queryRawUnsafe') return Reflect.get(object, key) as unknown;
              return async (text: string, ...values: unknown[]) => {
                const found = await object.$queryRawUnsafe<unknown[]>(text, ...values);
                if (found.length > 0) note(text);
                return found;
              };
            },
          }),
        ),
      signal,
    );
  return { ...database, call };
}
