import pg from 'pg';
import { createTestDatabase } from '#libs/testing/test-database.js';
import { backingConformance } from './backing-conformance.js';
import type { ConformanceStore } from './conformance-store.js';
import { openFaultProxy } from './fault-proxy.js';

backingConformance('PostgreSQL', async (): Promise<ConformanceStore> => {
  const database = await createTestDatabase();
  const direct = new URL(database.url);
  const proxy = await openFaultProxy({ host: direct.hostname, port: Number(direct.port || 5432) });
  const proxied = new URL(direct);
  proxied.hostname = '127.0.0.1';
  proxied.port = String(proxy.port);
  return {
    options: { databaseUrl: proxied.href },
    proxy,
    async connections(applicationName) {
      const client = new pg.Client({ connectionString: direct.href });
      await client.connect();
      try {
        const { rows } = await client.query<{ count: number }>(
          'select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name = $1',
          [applicationName],
        );
        return rows[0]!.count;
      } finally {
        await client.end();
      }
    },
    async drop() {
      await proxy.close();
      await database.drop();
    },
  };
});
