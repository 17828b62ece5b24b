import { afterEach, beforeEach, expect, test } from 'vitest';
import { AuditLog } from '#libs/audit/audit-log.js';
import { type AuditedDatabase, openAuditedDatabase } from '../../../test/support/audited-database.js';
import { verifies } from '../../../test/verifies.js';
import { openDatabase } from '#libs/postgres/open-database.js';
import { AuditKeeper } from './audit-keeper.js';
import { verifyLatest } from './verify-audit.js';

let audited: AuditedDatabase;
const warnings: unknown[] = [];
const errors: string[] = [];
beforeEach(async () => {
  warnings.length = 0;
  audited = await openAuditedDatabase();
});
afterEach(() => audited.close());

const keeper = (retentionDays?: number) =>
  new AuditKeeper({
    verifyMs: 0,
    database: audited.database,
    connection: { url: audited.url, timeoutMs: 5_000, applicationName: 'test' },
    retentionDays,
    logger: {
      warn: (fields: unknown) => void warnings.push(fields),
      info: () => undefined,
      error: (_fields: unknown, message: string) => void errors.push(message),
    },
  });
const monthsAgo = (months: number) => {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 15, 12));
};
const nameOf = (at: Date) => `audit_events_${at.toISOString().slice(0, 7).replace('-', '_')}`;
const partitions = async () =>
  (
    await audited.sql<{ name: string }>(
      `select relname as name from pg_inherits join pg_class on pg_class.oid = inhrelid
       where inhparent = 'audit_events'::regclass order by relname`,
    )
  ).map(({ name }) => name);
const makeOld = (months: number) => audited.sql('select audit_make_partition($1::timestamptz)', monthsAgo(months));

test('partitions for this month and the next two; rows that came before theirs move into it', async () => {
  const now = new Date();
  const ahead = [0, 1, 2].map((months) =>
    nameOf(new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1))),
  );
  expect(await partitions()).toEqual([...ahead, 'audit_events_default'].sort());
  await audited.write(2, { at: monthsAgo(5) });
  await audited.write(2);
  const where = () =>
    audited.sql<{ partition: string }>(
      'select tableoid::regclass::text as partition from audit_events order by at, id',
    );
  expect((await where())[0]).toEqual({ partition: 'audit_events_default' });
  await makeOld(5);
  expect((await where())[0]).toEqual({ partition: nameOf(monthsAgo(5)) });
  await keeper().makePartitions();
  expect(await audited.verify()).toMatchObject({ breaks: [], problems: [], rows: 4 });
});

verifies('audit.retention', 'two old months, with chains that go on after them', async () => {
  await makeOld(3);
  await makeOld(2);
  await audited.write(3, { at: monthsAgo(3) });
  await audited.write(3, { at: monthsAgo(2) });
  const left = await audited.write(3);
  await keeper(30).round();
  expect(warnings).toEqual([]);
  const names = await partitions();
  expect(names).not.toContain(nameOf(monthsAgo(3)));
  expect(names).not.toContain(nameOf(monthsAgo(2)));
  const dropped = await audited.sql('select dropped from audit_checkpoints where dropped is not null order by number');
  expect(dropped).toEqual([{ dropped: nameOf(monthsAgo(3)) }, { dropped: nameOf(monthsAgo(2)) }]);
  expect(await audited.verify()).toMatchObject({ breaks: [], problems: [], rows: 3 });
  // What is left is still guarded at its beginning.
  await audited.sql('delete from audit_events where id = $1', left[0]);
  expect((await audited.verify()).breaks).toMatchObject([{ id: left[1] }]);
});

verifies('audit.retention', 'nothing without a number of days, or before its time', async () => {
  await makeOld(2);
  await audited.write(1, { at: monthsAgo(2) });
  await keeper().round();
  await keeper(90).round();
  expect(await partitions()).toContain(nameOf(monthsAgo(2)));
});

verifies('audit.retention', 'a partition that somebody dropped is missed', async () => {
  await makeOld(2);
  await audited.write(2, { at: monthsAgo(2) });
  await audited.write(1);
  await audited.sql(`drop table ${nameOf(monthsAgo(2))}`);
  expect((await audited.verify()).breaks[0]?.problem).toMatch(/positions 1 to 2 of chain 1 missing/);
});

verifies('audit.retention', 'in the middle of an export and of a verification', async () => {
  await makeOld(2);
  await audited.write(5, { at: monthsAgo(2) });
  await audited.write(5);
  const rows = new AuditLog(audited.database).all({}, new AbortController().signal, 2);
  const ids: string[] = [];
  for await (const { id } of rows) {
    ids.push(id);
    if (ids.length === 6) await keeper(30).dropExpired();
  }
  // The page that was read already is still told, then the export ends.
  expect(ids).toHaveLength(6);
  expect(await audited.verify()).toMatchObject({ breaks: [], problems: [] });
});

for (const [what, statement] of [
  ['changed', `update audit_events set name = 'x' where position = 2`],
  ['removed', 'delete from audit_events where position = 2'],
  ['cut off', 'delete from audit_events where position > 1'],
] as const) {
  verifies('audit.tampering-noticed', `a row that was ${what}, and it is not forgotten`, async () => {
    const looking = keeper();
    expect(looking.isBroken).toBeUndefined();
    await audited.write(3);
    await looking.round();
    expect(looking.isBroken).toBe(false);
    await audited.sql(statement);
    await looking.verify();
    expect(looking.isBroken).toBe(true);
    expect(errors.at(-1)).toMatch(/^the audit is not as it was written/);
    await audited.sql('truncate audit_events, audit_chains, audit_checkpoints');
    await looking.verify();
    expect(looking.isBroken).toBe(true);
  });
}

verifies('audit.tampering-noticed', 'checkpoints that were removed', async () => {
  const looking = keeper();
  await audited.write(1);
  await looking.round();
  await audited.write(1);
  await looking.round();
  expect(looking.isBroken).toBe(false);
  await audited.sql('delete from audit_checkpoints where number = (select max(number) from audit_checkpoints)');
  await looking.checkpoint();
  expect(looking.isBroken).toBe(true);
});

test('what is older than the latest rows is left alone, and so are chains that are quiet', async () => {
  const [changed] = await audited.write(1, { at: new Date(Date.now() - 60_000) });
  await audited.write(20, { at: new Date() });
  const other = openDatabase({ url: audited.url, poolSize: 1, timeoutMs: 5_000, applicationName: 'another' });
  try {
    await audited.sql(`update audit_events set name = 'x' where id = $1`, changed);
    // Those of the same moment come along.
    expect(await verifyLatest(other, { rows: 10, checkpoints: 1 })).toMatchObject({
      rows: 20,
      breaks: [],
      problems: [],
    });
    expect((await verifyLatest(other, { rows: 100, checkpoints: 1 })).breaks).toHaveLength(1);
  } finally {
    await other.close();
  }
});
