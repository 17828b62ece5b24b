import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { AuditKeeper } from '#libs/audit/chain/audit-keeper.js';
import { verifyAudit } from '#libs/audit/chain/verify-audit.js';
import { openBacking } from '#libs/backing/open-backing.js';
import { ConfigError } from '#libs/config/config-error.js';
import { silentLogger } from '#libs/logging/logger.js';
import {
  createMigratedDatabase,
  createTestDatabase,
  type TestDatabase,
} from '../../test/support/services/test-database.js';
import { verifies } from '../../test/verifies.js';
import { grantRoles } from './database-roles.js';
import { migrate } from './migrate.js';
import { type Database, openDatabase } from './open-database.js';

const suffix = randomBytes(4).toString('hex');
const names = { application: `application_${suffix}`, reader: `reader "${suffix}"` };
const signal = () => AbortSignal.timeout(20_000);
let owned: TestDatabase;
let roles: { applicationUrl: string; readerUrl: string };

const addressAs = (name: string, url = owned.url): string => {
  const address = new URL(url);
  address.username = encodeURIComponent(name);
  address.password = encodeURIComponent("p/ä '\\ %");
  return address.href;
};
const as = async <Row extends pg.QueryResultRow>(url: string, sql: string): Promise<Row[]> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
};

beforeAll(async () => {
  owned = await createMigratedDatabase();
  roles = { applicationUrl: addressAs(names.application), readerUrl: addressAs(names.reader) };
  await (await openBacking({ databaseUrl: owned.url })).close();
  await grantRoles(owned.url, roles);
});
afterAll(async () => {
  await owned.drop();
  for (const name of Object.values(names)) {
    await as(inject('postgresUrl'), `drop role ${pg.escapeIdentifier(name)}`);
  }
});

const row = `insert into audit_events (id, kind, request_id, principal, success)
  values (gen_random_uuid(), 'tool_call', 'req_1', 'alice', true)`;

verifies('audit.append-only-role', 'adds rows, checkpoints and partitions, and changes none', async () => {
  const database: Database = openDatabase({
    url: roles.applicationUrl,
    poolSize: 2,
    timeoutMs: 10_000,
    applicationName: 'test',
  });
  const warned: unknown[] = [];
  const logger = { ...silentLogger, warn: (...line: unknown[]) => void warned.push(line) };
  try {
    await database.query(row, []);
    const connection = { url: roles.applicationUrl, timeoutMs: 10_000, applicationName: 'test' };
    const keeper = new AuditKeeper({ database, connection, logger });
    await keeper.round();
    await database.query(`select audit_make_partition(now() + interval '5 months')`, []);
    await keeper.close();
    expect(warned).toEqual([]);
    const { rows, checkpoints, breaks, problems } = await verifyAudit(database, { publicKeys: [] });
    expect({ rows, checkpoints, breaks, problems }).toEqual({ rows: 1, checkpoints: 1, breaks: [], problems: [] });
  } finally {
    await database.close();
  }
  // Also after the grants that follow a later migration, and by the names of its partitions, old and new.
  await grantRoles(owned.url, roles);
  const tables = await as<{ name: string }>(
    owned.url,
    `select relname as name from pg_class where relname ~ '^audit_(events|checkpoints)' and relkind in ('r', 'p')`,
  );
  expect(tables.length).toBeGreaterThan(5);
  for (const { name } of tables) {
    for (const statement of [`delete from ${name}`, `truncate ${name}`, `drop table ${name}`]) {
      await expect(as(roles.applicationUrl, statement), statement).rejects.toMatchObject({ code: '42501' });
    }
    const column = name === 'audit_checkpoints' ? 'hash = null' : 'success = false';
    const update = `update ${name} set ${column}`;
    await expect(as(roles.applicationUrl, update), update).rejects.toMatchObject({ code: '42501' });
  }
  for (const statement of [
    'alter table audit_events disable trigger all',
    'drop trigger audit_chain_row on audit_events',
    'create table mine (id int)',
    `update _prisma_migrations set checksum = ''`,
    'delete from audit_chains',
  ]) {
    await expect(as(roles.applicationUrl, statement), statement).rejects.toMatchObject({ code: '42501' });
  }
});

verifies(
  'audit.append-only-role',
  'a table of its own does not take the place of the audit for what runs as the owner',
  async () => {
    const trick = `create temp table audit_events_default (like audit_events); create temp table audit_events (at timestamptz);
    select audit_make_partition(now() + interval '7 months')`;
    await as(roles.applicationUrl, trick);
    const [made] = await as<{ parent: string }>(
      owned.url,
      `select count(*)::int as partitions from pg_inherits where inhparent = 'public.audit_events'::regclass`,
    );
    expect(made).toEqual({ partitions: 6 });
  },
);

verifies('audit.append-only-role', 'it runs all else: the store, and queue and counters in PostgreSQL', async () => {
  expect(await migrate(roles.applicationUrl, { signal: signal() })).toEqual({ applied: [] });
  const backing = await openBacking({ databaseUrl: roles.applicationUrl });
  await backing.close();
  const tables = await as<{ name: string; may: boolean }>(
    roles.applicationUrl,
    `select oid::regclass::text as name, has_table_privilege(oid, 'insert') and has_table_privilege(oid, 'delete') as may
     from pg_class where relkind = 'r' and relnamespace in ('public'::regnamespace, 'bullmq'::regnamespace, 'signalbox_backing'::regnamespace)
       and relname !~ '^(audit_|_prisma)'`,
  );
  expect(tables.length).toBeGreaterThan(25);
  expect(tables.filter(({ may }) => !may)).toEqual([]);
  const sequences = await as<{ name: string }>(
    roles.applicationUrl,
    `select oid::regclass::text as name from pg_class
     where relkind = 'S' and relnamespace::regnamespace::text in ('public', 'bullmq', 'signalbox_backing')`,
  );
  expect(sequences.map(({ name }) => name)).toContain('tool_call_fence');
  for (const { name } of sequences) await as(roles.applicationUrl, `select nextval('${name}')`);
  await as(owned.url, 'create table signalbox_backing.later (id int generated always as identity)');
  await as(roles.applicationUrl, 'insert into signalbox_backing.later default values');
  await as(owned.url, 'drop table signalbox_backing.later');
});

verifies('audit.append-only-role', 'a month that is over is dropped by its owner, who is asked for it', async () => {
  await as(roles.applicationUrl, `select audit_make_partition('2024-01-15')`);
  const months = () =>
    as<{ name: string }>(owned.url, `select relname as name from pg_class where relname = 'audit_events_2024_01'`);
  const said: string[] = [];
  const note = (_fields: unknown, message: string) => void said.push(message);
  for (const url of [roles.applicationUrl, owned.url]) {
    const connection = { url, timeoutMs: 10_000, applicationName: 'test' };
    const database = openDatabase({ ...connection, poolSize: 1 });
    const logger = { ...silentLogger, warn: note, info: note };
    try {
      await new AuditKeeper({ database, connection, logger, retentionDays: 30 }).dropExpired();
    } finally {
      await database.close();
    }
    expect(await months()).toHaveLength(url === owned.url ? 0 : 1);
  }
  expect(said).toEqual([
    'a month of the audit has expired: the owner of the tables drops it with `npx signalbox audit prune`',
    'a month of the audit was dropped',
  ]);
});

verifies('audit.reader-role', 'reads the audit and nothing else', async () => {
  expect(await as(roles.readerUrl, 'select count(*)::int as rows from audit_events')).toHaveLength(1);
  for (const statement of ['select from runs', 'select from api_keys', row, 'select from audit_chains']) {
    await expect(as(roles.readerUrl, statement), statement).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:42501|25006)$/) as string,
    });
  }
  await expect(as(roles.readerUrl, `begin read write; ${row}`)).rejects.toMatchObject({
    code: '42501',
  });
});

verifies('audit.append-only-role', 'what is in the way is said in terms of the settings', async () => {
  const refused = grantRoles(roles.applicationUrl, { applicationUrl: addressAs(`other_${suffix}`) });
  await expect(refused).rejects.toThrow(/DATABASE_OWNER_URL: this user may not create roles/);
  await expect(grantRoles(owned.url, { applicationUrl: owned.url })).rejects.toThrow(
    /DATABASE_OWNER_URL: has the same user/,
  );
  const [host] = [new URL(inject('postgresUrl')).host];
  await expect(grantRoles(owned.url, { applicationUrl: `postgres://${host}/x` })).rejects.toThrow(ConfigError);
  const empty = await createTestDatabase();
  try {
    const early = migrate(addressAs(names.application, empty.url), { signal: signal() });
    await expect(early).rejects.toThrow(/run `npx signalbox migrate` as the owner/);
  } finally {
    await empty.drop();
  }
});
