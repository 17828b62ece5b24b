// The audit verified and proved as those who administer see it: by HTTP, by the client library, and by the commands.
import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import { type AuditProgress, Signalbox as Client } from '../../clients/typescript/src/index.js';
import { eventually } from '../support/eventually.js';
import { runScript } from '../support/run-program.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const many = 100_000;
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const directory = mkdtempSync(join(tmpdir(), 'signalbox-audit-'));
const inDirectory = (name: string) => join(directory, name);
let box: SignalboxHere;
let client: Client;

beforeAll(async () => {
  writeFileSync(inDirectory('public.pem'), publicKey.export({ type: 'spki', format: 'pem' }));
  box = await startSignalboxHere({ environment: { AUDIT_SIGNING_KEY: signingKey }, scripted: false });
  client = new Client({ baseUrl: box.url, maxRetries: 0 });
  for (const path of ['one.txt', 'two.txt', 'three.txt']) {
    await client.tools.call({ name: 'write_file', arguments: { path, content: 'x' }, session_id: 'proved' });
  }
});
afterAll(async () => {
  await box?.close();
  rmSync(directory, { recursive: true });
});

const rowsOfSession = async () => (await client.operations.audit({ session: 'proved' })).data;
const command = (...args: string[]) => {
  const env = { ...process.env, DATABASE_URL: box.databaseUrl, AUDIT_SIGNING_KEY: signingKey };
  return runScript('audit', args, { env });
};
/** Without a database, and without the key. */
const prove = (...args: string[]) => runScript('audit', ['prove', ...args], { env: { PATH: process.env['PATH'] } });
const verify = (body?: object, signal?: AbortSignal) =>
  fetch(`${box.url}/api/audit/verify`, {
    method: 'POST',
    ...(body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    ...(signal !== undefined && { signal }),
  });

verifies('audit.proof', 'by HTTP, checked by the command', async () => {
  const [newest, older] = await rowsOfSession();
  expect(await client.operations.auditRow(older!.id)).toEqual(older);
  const answer = await fetch(`${box.url}/api/audit/${older!.id}/proof`);
  expect(answer.headers.get('content-disposition')).toContain(`filename="audit-${older!.id}.json"`);
  const text = await answer.text();
  expect(text).not.toContain(newest!.id);
  writeFileSync(inDirectory('proof.json'), text);
  const given = await prove(inDirectory('proof.json'), '--public-key', inDirectory('public.pem'));
  expect([given.code, given.stderr]).toEqual([0, '']);
  expect(given.stdout).toContain(`proved: row ${older!.id} of ${older!.at}`);
  const own = await prove(inDirectory('proof.json'));
  expect([own.code, own.stdout]).toEqual([0, expect.stringContaining('anybody could have put there') as unknown]);
  const written = await command('proof', older!.id);
  expect(JSON.parse(written.stdout)).toMatchObject({ row: { id: older!.id }, signed: true });

  writeFileSync(inDirectory('changed.json'), text.replace('"principal": "local"', '"principal": "l0cal"'));
  const changed = await prove(inDirectory('changed.json'));
  expect([changed.code, changed.stdout]).toEqual([1, expect.stringContaining('not proved: the row is not') as unknown]);
  const other = generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' });
  writeFileSync(inDirectory('other.pem'), other);
  expect((await prove(inDirectory('proof.json'), '--public-key', inDirectory('other.pem'))).code).toBe(1);
  for (const args of [
    [],
    [inDirectory('nowhere.json')],
    [inDirectory('proof.json'), '--public-key', inDirectory('proof.json')],
  ]) {
    const wrong = await prove(...args);
    expect([wrong.code, wrong.stderr]).toEqual([2, expect.not.stringContaining('    at ') as unknown]);
  }
  expect((await command('proof', 'nothing')).code).toBe(2);
});

verifies('audit.for-administrators', 'rows, proofs and verifications are not for others', async () => {
  const [row] = await rowsOfSession();
  for (const [method, path] of [
    ['GET', row!.id],
    ['GET', `${row!.id}/proof`],
    ['POST', 'verify'],
  ] as const) {
    const headers = { 'x-forwarded-for': '203.0.113.9' };
    expect((await fetch(`${box.url}/api/audit/${path}`, { method, headers })).status).toBe(403);
  }
});

verifies('audit.pages', 'by kind and by run', async () => {
  const { data } = await client.operations.audit({ kind: 'policy_change' });
  expect(data.map(({ kind }) => kind)).toEqual(['policy_change']);
  const tools = [{ type: 'mcp', server_label: '*' }];
  const messages = [{ role: 'user' as const, content: 'Write "hello" to notes.txt' }];
  await client.chat({ messages, tools } as never);
  const [run] = (await client.runs.list()).data;
  const rows = (await client.operations.audit({ run: run!.id })).data;
  expect(rows).toMatchObject([{ run_id: run!.id, tool: 'write_file' }]);
});

verifies('audit.verified-by-api', 'with what it found', async () => {
  const result = await client.operations.verifyAudit();
  expect(result).toMatchObject({ intact: true, signatures: 'verified', first_broken: null, problems: [] });
  expect(result.last_signed_checkpoint).toEqual(result.last_checkpoint);
  expect(result.rows).toBeGreaterThan(3);
  for (const [body, param] of [
    [{ since: 'yesterday' }, 'since'],
    [{ until: '2026-01-01T00:00:00Z' }, 'body'],
  ] as const) {
    const answer = await verify(body);
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }]);
  }
  const later = await client.operations.verifyAudit({ since: new Date(Date.now() + 60_000).toISOString() });
  expect(later).toMatchObject({ intact: true, rows: 0 });
});

verifies(
  'audit.verified-by-api',
  `${many} rows: progress, chats meanwhile, one at a time, cancelled by closing`,
  async () => {
    const writer = new pg.Client({ connectionString: box.databaseUrl, options: '-c signalbox.audit_writer=on' });
    await writer.connect();
    await writer.query(
      `insert into audit_events (id, at, kind, request_id, principal, success, result)
     select gen_random_uuid(), now(), 'bulk', 'r', 'bulk', true, repeat('x', 200) from generate_series(1, ${many})`,
    );
    await writer.end();
    const told: AuditProgress[] = [];
    let isOver = false;
    let begun: () => void = () => undefined;
    const hasBegun = new Promise<void>((resolve) => (begun = resolve));
    const verified = client.operations
      .verifyAudit({}, (progress) => {
        told.push(progress);
        begun();
      })
      .finally(() => (isOver = true));
    await hasBegun;
    const refused = await verify();
    expect([refused.status, await refused.json()]).toMatchObject([429, { error: { code: 'concurrency_exceeded' } }]);
    const answer = await client.chat({ messages: [{ role: 'user', content: 'Hello' }] });
    expect(answer.choices[0]!.message.content).not.toBe('');
    expect(isOver).toBe(false);
    const result = await verified;
    expect(result).toMatchObject({ intact: true });
    expect(result.rows).toBeGreaterThan(many);
    expect(told.length).toBeGreaterThan(3);
    for (const { rows, total } of told) expect(total).toBeGreaterThanOrEqual(rows);
    expect(told.map(({ rows }) => rows)).toEqual(told.map(({ rows }) => rows).toSorted((one, other) => one - other));

    const gone = new AbortController();
    const cancelled = await verify({}, gone.signal);
    await cancelled.body!.getReader().read();
    gone.abort();
    await eventually(async () => {
      const next = new AbortController();
      const { status, body } = await verify({}, next.signal);
      await body?.cancel();
      return status === 200;
    }, 10_000);
  },
  120_000,
);

verifies('audit.tampering-named', 'by HTTP, with what was done', async () => {
  const [last, row] = await rowsOfSession();
  // The one that was cancelled before may still read its last page.
  const nothing = { since: '2999-01-01T00:00:00Z' };
  await eventually(() => client.operations.verifyAudit(nothing).then(Boolean, () => false), 10_000);
  const since = new Date(Date.parse(row!.at) - 1).toISOString();
  const [kept] = await box.rows<{ arguments: string }>('select arguments from audit_events where id = $1', [row!.id]);
  await box.rows(`update audit_events set arguments = '{}' where id = $1`, [row!.id]);
  const changed = await client.operations.verifyAudit({ since });
  expect(changed).toMatchObject({ intact: false, first_broken: { id: row!.id, damage: 'changed' } });
  const unprovable = await fetch(`${box.url}/api/audit/${row!.id}/proof`);
  expect([unprovable.status, await unprovable.json()]).toMatchObject([409, { error: { code: 'audit_unprovable' } }]);
  await box.rows('update audit_events set arguments = $2 where id = $1', [row!.id, kept!.arguments]);
  const answer = await fetch(`${box.url}/api/audit/${row!.id}/proof`);
  expect(answer.status).toBe(200);
  await box.rows('delete from audit_events where id = $1', [last!.id]);
  expect(await client.operations.verifyAudit()).toMatchObject({ intact: false, first_broken: { damage: 'removed' } });
  expect((await fetch(`${box.url}/api/audit/${last!.id}`)).status).toBe(404);
  expect(readFileSync(inDirectory('proof.json'), 'utf8')).toContain(row!.id);
});
