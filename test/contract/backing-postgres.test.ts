import pg from 'pg';
import { expect } from 'vitest';
import { createTestDatabase } from '../support/services/test-database.js';
import { verifies } from '../verifies.js';
import { backingConformance } from './backing-conformance.js';
import { type ConformanceStore, makeJob, never, withBacking } from './conformance-store.js';
import { openFaultProxy } from './fault-proxy.js';

const makeStore = async (): Promise<ConformanceStore> => {
  const database = await createTestDatabase();
  const direct = new URL(database.url);
  const proxy = await openFaultProxy({ host: direct.hostname, port: Number(direct.port || 5432) });
  const proxied = new URL(direct);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(proxy.port);
  const query = async <Row extends pg.QueryResultRow>(text: string, ...values: string[]): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: direct.href, options: '-c default_transaction_read_only=off' });
    await client.connect();
    try {
      return (await client.query<Row>(text, values)).rows;
    } finally {
      await client.end();
    }
  };
  const count = async (text: string, value: string) => (await query<{ count: number }>(text, value))[0]!.count;
  return {
    options: { databaseUrl: proxied.href, sweepIntervalMs: 200 },
    proxy,
    connections: (applicationName) =>
      count(
        `select count(*)::int as count from pg_stat_activity
         where datname = current_database() and application_name = $1`,
        applicationName,
      ),
    async takeNothing(nothing) {
      await query(`alter database ${pg.escapeIdentifier(direct.pathname.slice(1))}
        set default_transaction_read_only = ${nothing ? 'on' : 'off'}`);
      // It holds for connections that begin.
      proxy.cut();
    },
    keeps: async (callId) => (await count('select count(*)::int as count from bullmq.job where id = $1', callId)) > 0,
    async leaveEnded(callId) {
      await query(
        `insert into bullmq.job (queue, id, seq, name, state, data, opts, added_at_ms, finished_at_ms)
         values ('tools', $1, nextval('bullmq.job_seq'), 'old', 'completed', '{}', '{}', 1, 1)`,
        callId,
      );
    },
    async drop() {
      await proxy.close();
      await database.drop();
    },
  };
};

backingConformance('PostgreSQL', makeStore);

verifies('backing.slow-is-waited-for', 'writes that are held up while readings are answered', async () => {
  const database = await createTestDatabase();
  const holder = new pg.Client({ connectionString: database.url });
  try {
    await withBacking({ databaseUrl: database.url }, async ({ queue }) => {
      const silenceMs = 300;
      const [slow, left] = [makeJob(), makeJob()];
      const caller = new AbortController();
      await holder.connect();
      await holder.query('begin; lock table bullmq.job in exclusive mode');
      const begunAt = performance.now();
      const adding = queue.add(slow, { signal: never(), silenceMs });
      const leaving = queue.add(left, { signal: caller.signal, silenceMs });
      while (performance.now() - begunAt < 3 * silenceMs) await queue.counts(never());
      caller.abort(new Error('the caller has left'));
      await expect(leaving).rejects.toThrow('the caller has left');
      await holder.query('commit');
      await adding;
      expect(await queue.existing([slow.callId], never())).toEqual(new Set([slow.callId]));
      // Nobody is answered any more, and it is refused.
      await holder.query('begin; lock table bullmq.job in exclusive mode');
      await expect(queue.add(makeJob(), { signal: never(), silenceMs })).rejects.toMatchObject({
        code: 'store_unavailable',
      });
      await holder.query('commit');
    });
  } finally {
    await holder.end();
    await database.drop();
  }
});
