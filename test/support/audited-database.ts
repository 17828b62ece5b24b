// A migrated database whose audit is written as the product writes it, and changed as only SQL can.
import pg from 'pg';
import { verifyAudit } from '#libs/audit/chain/verify-audit.js';
import { type Database, openDatabase } from '#libs/postgres/open-database.js';
import type { Prisma } from '#libs/postgres/prisma-client/client.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import { createMigratedDatabase } from './services/test-database.js';

export interface AuditedDatabase {
  url: string;
  database: Database;
  /** The ids of the rows, in their order. */
  write(rows: number, members?: Partial<Prisma.AuditEventCreateManyInput>): Promise<string[]>;
  /** On a connection that is no writer of the audit. */
  sql<Row extends pg.QueryResultRow>(statement: string, ...values: unknown[]): Promise<Row[]>;
  verify: (options?: Parameters<typeof verifyAudit>[1]) => ReturnType<typeof verifyAudit>;
  close(): Promise<void>;
}

export async function openAuditedDatabase(): Promise<AuditedDatabase> {
  const migrated = await createMigratedDatabase();
  // One connection, so that what is written one after the other is one chain.
  const database = openDatabase({ url: migrated.url, poolSize: 1, timeoutMs: 20_000, applicationName: 'test' });
  const client = new pg.Client({ connectionString: migrated.url });
  await client.connect();
  return {
    url: migrated.url,
    database,
    write: async (rows, members = {}) => {
      const data = Array.from({ length: rows }, () => ({
        id: uuidv7(),
        at: new Date(),
        kind: 'test',
        requestId: 'req_1',
        principal: 'local',
        success: true,
        ...members,
      }));
      await database.call((prisma) => prisma.auditEvent.createMany({ data }));
      return data.map(({ id }) => id);
    },
    sql: async <Row extends pg.QueryResultRow>(statement: string, ...values: unknown[]) =>
      (await client.query<Row>(statement, values)).rows,
    verify: (options) => verifyAudit(database, options),
    close: async () => {
      await client.end();
      await database.close();
      await migrated.drop();
    },
  };
}
