import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openDatabase } from '#libs/postgres/open-database.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import { type AuditedDatabase, openAuditedDatabase } from '../../../test/support/audited-database.js';
import { verifies } from '../../../test/verifies.js';
import { AuditKeeper } from './audit-keeper.js';

let audited: AuditedDatabase;
beforeEach(async () => {
  audited = await openAuditedDatabase();
});
afterEach(() => audited.close());

const keeper = (key?: KeyObject) =>
  new AuditKeeper({
    database: audited.database,
    connection: { url: audited.url, timeoutMs: 5_000, applicationName: 'test' },
    key,
    logger: { warn: () => undefined, info: () => undefined, error: () => undefined },
  });
const clean = { breaks: [], problems: [] };
const firstBreak = async () => (await audited.verify()).breaks[0];

verifies('audit.chained', 'each row after the one before it', async () => {
  const ids = await audited.write(3);
  const rows = await audited.sql<{ id: string; position: string; previous: string; hash: string }>(
    `select id, position, encode(previous_hash, 'hex') as previous, encode(hash, 'hex') as hash
     from audit_events order by position`,
  );
  expect(rows.map(({ id }) => id)).toEqual(ids);
  expect(rows.map(({ position }) => position)).toEqual(['1', '2', '3']);
  expect(rows.map(({ previous }) => previous)).toEqual(['', rows[0]!.hash, rows[1]!.hash]);
  for (const { hash } of rows) expect(hash).toMatch(/^03[\da-f]{64}$/);
  expect(await audited.verify()).toMatchObject({ ...clean, rows: 3 });
});

/** What is done to ten rows, which of them is named, and why. */
const tampering: Record<string, [statement: string, named: number, problem: RegExp]> = {
  'a changed text': [`update audit_events set arguments = '{}' where id = $1`, 4, /not as it was written/],
  'a changed time': [`update audit_events set at = at - interval '1 ms' where id = $1`, 4, /not as it was written/],
  'a changed hash': [`update audit_events set hash = sha256('x') where id = $1`, 4, /not as it was written/],
  'a removed row': ['delete from audit_events where id = $1', 5, /position 5 of chain 1 missing before/],
  'the first row removed': ['delete from audit_events where position = 1 and $1 <> $2', 1, /position 1 of chain 1/],
  'the end cut off': [
    'delete from audit_events where position >= 8 and $1 <> $2',
    6,
    /positions 8 to 10 .* missing after/,
  ],
  'two rows exchanged': [
    `update audit_events a set name = b.name, result = b.result from audit_events b
     where a.id in ($1, $2) and b.id in ($1, $2) and a.id <> b.id`,
    4,
    /not as it was written/,
  ],
  'their places exchanged': [
    `update audit_events a set position = b.position, hash = b.hash, previous_hash = b.previous_hash from audit_events b
     where a.id in ($1, $2) and b.id in ($1, $2) and a.id <> b.id`,
    4,
    /stands in the place of row/,
  ],
  'a copy of a row': [
    `insert into audit_events select (jsonb_populate_record(e, jsonb_build_object('at', at - interval '1 ms'))).*
     from audit_events e where id = $1 and id <> $2`,
    4,
    /not as it was written/,
  ],
};
for (const [name, [statement, named, problem]] of Object.entries(tampering)) {
  verifies('audit.tampering-named', name, async () => {
    const ids = [];
    for (let row = 0; row < 10; row += 1)
      ids.push(...(await audited.write(1, { name: `row ${row}`, result: String(row) })));
    const parameters = [ids[4], ids[7]].slice(0, statement.includes('$2') ? 2 : 1);
    await audited.sql(statement.replace('$1 <> $2', '$1::uuid <> $2::uuid'), ...parameters);
    const { breaks } = await audited.verify();
    expect(breaks[0]).toMatchObject({ id: ids[named], problem: expect.stringMatching(problem) as unknown });
  });
}

verifies('audit.tampering-named', 'a row that was inserted by SQL', async () => {
  await audited.write(2);
  const id = uuidv7();
  await audited.sql(
    `insert into audit_events (id, kind, request_id, principal, success) values ($1, 'tool_call', 'r', 'local', true)`,
    id,
  );
  expect(await firstBreak()).toMatchObject({
    id,
    problem: expect.stringMatching(/not written by Signalbox/) as unknown,
  });
});

verifies('audit.tampering-named', 'a row that was changed together with its hash', async () => {
  const ids = await audited.write(3);
  await audited.sql(`update audit_events set name = 'x', hash = sha256('x') where id = $1`, ids[1]);
  const { breaks } = await audited.verify();
  expect(breaks.map(({ id }) => id)).toContain(ids[2]);
});

verifies('audit.tampering-named', 'checkpoints', async () => {
  const kept = keeper();
  for (let made = 0; made < 3; made += 1) {
    await audited.write(1);
    expect(await kept.checkpoint()).toBe(true);
  }
  expect(await kept.checkpoint()).toBe(false);
  expect(await audited.verify()).toMatchObject({ ...clean, checkpoints: 3 });
  await audited.sql(`update audit_checkpoints set heads = '{"1":["1","00"]}' where number = 2`);
  expect((await audited.verify()).problems).toEqual(['checkpoint 2 is not as it was written']);
  await audited.sql('delete from audit_checkpoints where number = 2');
  expect((await audited.verify()).problems).toContain('a checkpoint is missing before checkpoint 3');
});

verifies('audit.signed-checkpoints', 'the end cut off and every list of it set back', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const other = generateKeyPairSync('ed25519');
  const ids = await audited.write(5);
  await keeper().checkpoint();
  await keeper(privateKey).checkpoint();
  const publicKeys = [publicKey];
  expect(await audited.verify({ publicKeys })).toMatchObject({ ...clean, checkpoints: 2 });
  expect((await audited.verify({ publicKeys: [other.publicKey] })).problems).toEqual([
    'checkpoint 2 has no valid signature',
  ]);
  await audited.sql('delete from audit_events where position > 3');
  await audited.sql('update audit_chains set position = 3, hash = (select hash from audit_events where position = 3)');
  expect((await audited.verify({ publicKeys })).breaks).toMatchObject([{ id: ids[2] }]);
  await audited.sql('delete from audit_checkpoints where number = 2');
  expect((await audited.verify({ publicKeys })).problems).toEqual(['no checkpoint is signed']);
});

test('a checkpoint that was removed while a gateway runs is reported in its log', async () => {
  const errors: string[] = [];
  const kept = new AuditKeeper({
    database: audited.database,
    connection: { url: audited.url, timeoutMs: 5_000, applicationName: 'test' },
    logger: {
      warn: () => undefined,
      info: () => undefined,
      error: (_: unknown, text: string) => void errors.push(text),
    },
  });
  await audited.write(1);
  await kept.checkpoint();
  await audited.sql('delete from audit_checkpoints');
  await kept.checkpoint();
  expect(errors).toEqual(['checkpoints of the audit were removed']);
});

verifies('audit.many-writers', 'eight connections, failures between them, and a clock that goes back', async () => {
  const many = openDatabase({ url: audited.url, poolSize: 8, timeoutMs: 20_000, applicationName: 'test' });
  try {
    const row = (at: Date) => ({ id: uuidv7(), at, kind: 'test', requestId: 'r', principal: 'local', success: true });
    const moment = new Date();
    const taken = await audited.write(1, { at: moment });
    await Promise.allSettled(
      Array.from({ length: 400 }, (_, n) =>
        many.call((prisma) =>
          prisma.auditEvent.createMany({
            // Every third statement writes a row that is there already, and so nothing.
            data: [
              row(new Date(Date.now() - n * 60_000)),
              ...(n % 3 === 0 ? [{ ...row(new Date()), id: taken[0]!, at: moment }] : []),
            ],
          }),
        ),
      ),
    );
  } finally {
    await many.close();
  }
  await audited.write(3);
  const result = await audited.verify();
  expect(result).toMatchObject(clean);
  expect(result.rows).toBeGreaterThan(250);
  // A connection goes on with the chain of one that is gone.
  const [{ chains }] = (await audited.sql<{ chains: number }>('select count(*)::int as chains from audit_chains')) as [
    { chains: number },
  ];
  expect(chains).toBeLessThanOrEqual(9);
});

test('rows since a time, and rows that come while others are read', async () => {
  const old = new Date(Date.now() - 86_400_000);
  const [changed] = await audited.write(3, { at: old });
  await audited.write(3);
  await audited.sql(`update audit_events set name = 'x' where id = $1`, changed);
  expect((await audited.verify()).breaks).toHaveLength(1);
  const since = new Date(Date.now() - 3_600_000);
  expect(await audited.verify({ since })).toMatchObject({ ...clean, rows: 3 });
  await audited.sql('delete from audit_events where position = 6');
  expect((await audited.verify({ since })).breaks).toHaveLength(1);
  await audited.sql('delete from audit_events where position > 2');
  expect((await audited.verify({ since })).problems).toEqual(['chain 1 has no rows and should have 6']);
});

test('a writer goes on with its chain after its connection was cut', async () => {
  await audited.write(2);
  await audited.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()`,
  );
  const client = new pg.Client({ connectionString: audited.url, options: '-c signalbox.audit_writer=on' });
  await client.connect();
  await client.query(
    `insert into audit_events (id, kind, request_id, principal, success) values (gen_random_uuid(), 'x', 'r', 'local', true)`,
  );
  await client.end();
  expect(await audited.verify()).toMatchObject({ ...clean, rows: 3 });
  expect(await audited.sql('select chain, position from audit_chains')).toEqual([{ chain: 1, position: '3' }]);
});

/** The trigger as a migration has it. */
async function triggerOf(migration: string): Promise<string> {
  const text = await readFile(`prisma/migrations/${migration}/migration.sql`, 'utf8');
  return /CREATE (?:OR REPLACE )?FUNCTION "audit_chain_row"[^]*?\n\$\$;/.exec(text)![0];
}

verifies('audit.chained', 'rows of before have hashes of other forms, and go on with those of now', async () => {
  const members = { durationMs: 0.1, round: 2, result: 'Umlaut ä, 😀', cached: false };
  const before = await triggerOf('20261128000000_audit_chain');
  await audited.sql(before.replace('CREATE FUNCTION', 'CREATE OR REPLACE FUNCTION'));
  const ofText = await audited.write(2, members);
  await audited.sql(await triggerOf('20261130000200_audit_binary_hash'));
  const ofBinary = await audited.write(2, members);
  await audited.sql(await triggerOf('20261205000000_audit_links'));
  await audited.write(2, members);
  const forms = await audited.sql<{ form: string }>(
    `select case length(hash) when 33 then left(encode(hash, 'hex'), 2) end as form from audit_events order by position`,
  );
  expect(forms.map(({ form }) => form)).toEqual([null, null, '02', '02', '03', '03']);
  expect(await audited.verify()).toMatchObject({ ...clean, rows: 6 });
  await audited.sql(`update audit_events set result = 'Umlaut a' where id = any($1)`, [ofText[1], ofBinary[1]]);
  expect((await audited.verify()).breaks).toMatchObject([
    { id: ofText[1], problem: 'is not as it was written' },
    { id: ofBinary[1], damage: 'changed' },
  ]);
});
