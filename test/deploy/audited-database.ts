// A database with a row of each kind that the dashboard of the audit shows, read as Grafana reads it: by the reader's role.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject } from 'vitest';
import { grantRoles } from '#libs/postgres/database-roles.js';
import { createMigratedDatabase } from '../support/services/test-database.js';

export interface AuditedDatabase {
  read(statement: string): Promise<pg.QueryResult>;
  close(): Promise<void>;
}

export async function openAuditedDatabase(): Promise<AuditedDatabase> {
  const database = await createMigratedDatabase();
  const suffix = randomBytes(4).toString('hex');
  const urlAs = (name: string) => {
    const url = new URL(database.url);
    url.username = `${name}_${suffix}`;
    url.password = suffix;
    return url.href;
  };
  await grantRoles(database.url, { applicationUrl: urlAs('application'), readerUrl: urlAs('reader') });
  await run(urlAs('application'), rows);
  const reader = new pg.Client({ connectionString: urlAs('reader') });
  await reader.connect();
  return {
    read: (statement) => reader.query(statement),
    async close() {
      await reader.end();
      await database.drop();
      for (const name of ['application', 'reader']) await run(inject('postgresUrl'), `drop role ${name}_${suffix}`);
    },
  };
}

const kinds = ['approval', 'key_change', 'policy_change', 'definition_change', 'sign_in_failed'];
const rows = `
insert into audit_events (id, kind, request_id, principal, server, tool, success, state, error_code, duration_ms)
values (gen_random_uuid(), 'tool_call', 'req_1', 'alice', 'workspace', 'write_file', true, 'completed', null, 12),
  (gen_random_uuid(), 'tool_call', 'req_2', 'alice', 'files', 'delete', false, 'unknown', 'tool_outcome_unknown', null);
insert into audit_events (id, kind, request_id, principal, success, state)
select gen_random_uuid(), kind, 'req_3', 'bob', true, 'approved' from unnest('{${kinds.join(',')}}'::text[]) as kind`;

async function run(url: string, statements: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statements);
  } finally {
    await client.end();
  }
}

/** The macros of Grafana's data source for PostgreSQL, as it replaces them: the last hour, in minutes. */
export function withoutMacros(query: string): string {
  return query
    .replaceAll(/\$__timeFilter\((\w+)\)/g, `$1 between now() - interval '1 hour' and now() + interval '1 minute'`)
    .replaceAll(/\$__timeGroup\((\w+), \$__interval\)/g, 'floor(extract(epoch from $1) / 60) * 60');
}
