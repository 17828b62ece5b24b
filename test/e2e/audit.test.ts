// The audit as those who administer see it: by HTTP, as a download, and by the command that verifies it.
import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, vi } from 'vitest';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { runScript } from '../support/run-program.js';
import { metricOf } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

interface Page {
  data: Record<string, string | number | boolean | null>[];
  next_cursor: string | null;
  error?: { param?: string };
}

const signingKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
let box: SignalboxHere;
beforeAll(async () => {
  box = await startSignalboxHere({ environment: { AUDIT_SIGNING_KEY: signingKey } });
  for (const name of ['one.txt', 'two.txt', 'three.txt']) await call('write_file', { path: name, content: 'x' });
  await call('read_file', { path: 'missing.txt' });
});
afterAll(() => box?.close());

const call = (name: string, args: object) =>
  fetch(`${box.url}/api/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name, arguments: args, session_id: 'audited' }),
  }).then((answer) => answer.text());
const page = async (query: string) => {
  const answer = await fetch(`${box.url}/api/audit${query}`);
  return { status: answer.status, body: (await answer.json()) as Page };
};
const command = (...args: string[]) => {
  const env = { ...process.env, DATABASE_URL: box.databaseUrl, AUDIT_SIGNING_KEY: signingKey };
  return runScript('audit', args, { env });
};

verifies('audit.pages', 'by HTTP', async () => {
  const { body } = await page('?session=audited&tool=workspace/write_file&limit=2');
  expect(body.data.map(({ arguments: args }) => args)).toEqual([
    expect.stringContaining('three.txt'),
    expect.stringContaining('two.txt'),
  ]);
  const next = await page(`?session=audited&tool=workspace/write_file&limit=2&cursor=${body.next_cursor}`);
  expect(next.body).toMatchObject({ data: [{ principal: 'local', success: true }], next_cursor: null });
  expect((await page('?outcome=failure&text=MISSING.txt')).body.data).toMatchObject([{ tool: 'read_file' }]);
  expect((await page(`?until=2020-01-01`)).body).toEqual({ data: [], next_cursor: null });
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['since=yesterday', 'since'],
    ['cursor=x', 'cursor'],
    ['session=', 'session'],
    ['session=a&session=b', 'session'],
    ['nonsense=1', 'nonsense'],
  ]) {
    expect(await page(`?${query}`), query).toMatchObject({ status: 400, body: { error: { param } } });
  }
});

verifies('audit.for-administrators', 'nobody from elsewhere while there are no keys', async () => {
  for (const path of ['/api/audit', '/api/audit/export']) {
    const answer = await fetch(box.url + path, { headers: { 'x-forwarded-for': '203.0.113.9' } });
    expect([answer.status, await answer.text()]).toEqual([403, expect.not.stringContaining('workspace') as unknown]);
  }
});

verifies('audit.export', 'by HTTP and by the command', async () => {
  const answer = await fetch(`${box.url}/api/audit/export?format=csv&session=audited`);
  expect(answer.headers.get('content-disposition')).toContain('audit.csv');
  expect((await answer.text()).trimEnd().split('\r\n')).toHaveLength(5);
  const { code, stdout } = await command('export', '--session', 'audited', '--outcome', 'success');
  expect(code).toBe(0);
  expect(stdout.trimEnd().split('\n')).toHaveLength(3);
});

verifies('audit.export', 'a failure on the way breaks the connection', async () => {
  // More than waits in any buffer on the way.
  await box.rows(
    `insert into audit_events (id, kind, request_id, principal, success, result)
     select gen_random_uuid(), 'bulk', 'r', 'bulk', true, repeat('x', 16000) from generate_series(1, 4000)`,
  );
  try {
    const answer = await fetch(`${box.url}/api/audit/export?principal=bulk`);
    const reader = answer.body!.getReader();
    expect((await reader.read()).done).toBe(false);
    await box.rows('alter table audit_events rename to audit_gone');
    const toTheEnd = async () => {
      while (!(await reader.read()).done);
    };
    await expect(toTheEnd()).rejects.toThrow();
  } finally {
    await box.rows('alter table audit_gone rename to audit_events');
    await box.rows(`delete from audit_events where principal = 'bulk'`);
  }
});

verifies('audit.retention', 'by the command, as the owner', async () => {
  await box.rows(`select audit_make_partition('2024-01-15')`);
  const unset = await command('prune');
  expect([unset.code, unset.stderr]).toEqual([
    2,
    expect.stringContaining('audit.retention_days is not set') as unknown,
  ]);
  const another = 'postgres://application:x@127.0.0.1:9/none';
  const owner = { DATABASE_URL: another, DATABASE_OWNER_URL: box.databaseUrl, AUDIT_RETENTION_DAYS: '30' };
  const env = { ...process.env, ...owner, AUDIT_SIGNING_KEY: signingKey };
  const pruned = await runScript('audit', ['prune'], { env });
  expect([pruned.code, pruned.stderr, pruned.stdout]).toEqual([
    0,
    '',
    expect.stringContaining('audit_events_2024_01') as unknown,
  ]);
  expect(await box.rows(`select from pg_class where relname = 'audit_events_2024_01'`)).toEqual([]);
});

verifies('audit.tampering-named', 'by the command', async () => {
  const sound = await command('verify');
  expect([sound.code, sound.stdout]).toEqual([0, expect.stringContaining('signatures verified') as unknown]);
  const [row] = await box.rows<{ id: string }>(
    `update audit_events set arguments = '{}' where arguments like '%two.txt%' returning id`,
  );
  const changed = await command('verify');
  expect([changed.code, changed.stdout]).toEqual([
    1,
    expect.stringContaining(`first broken row: ${row!.id} of`) as unknown,
  ]);
  expect((await command('verify', '--since', 'nonsense')).code).toBe(2);
  expect((await command('erase')).code).toBe(2);
});

verifies('audit.tampering-noticed', 'by a gateway that starts after it', async () => {
  const [before] = box.gateways;
  expect(await metricOf(before!.url, 'signalbox_audit_broken')).toBe(0);
  const gateway = await box.startGateway();
  const line = await gateway.logged(({ message }) => String(message).startsWith('the audit is not as it was written'));
  expect(JSON.stringify(line)).toContain('is not as it was written');
  expect(await metricOf(gateway.url, 'signalbox_audit_broken')).toBe(1);
  await gateway.stop();
});

verifies('audit.signed-checkpoints', 'a gateway makes a last one when it stops', async () => {
  const [gateway] = box.gateways;
  await gateway!.stop();
  await vi.waitFor(async () => {
    const rows = await box.rows('select from audit_checkpoints where signature is not null');
    expect(rows.length).toBeGreaterThan(0);
  });
});
