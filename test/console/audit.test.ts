// The audit as an administrator uses it: found by every filter, one row whole, verified, and proved without believing the gateway.
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { AuditRow } from '../../clients/typescript/src/index.js';
import { ConsoleWorld } from '../support/browser/console-world.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person } from '../support/browser/test-browser.js';
import { verifies } from '../verifies.js';

const suite = `audit${noChromium === undefined ? '' : ` (${noChromium})`}`;
const markup = '<img src=x onerror=alert(1)>';
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const publicPem = publicKey.export({ type: 'spki', format: 'pem' }) as string;

describe.skipIf(noChromium !== undefined)(suite, () => {
  let world: ConsoleWorld;
  let runId: string;

  beforeAll(async () => {
    world = await ConsoleWorld.open(
      {},
      {
        root: { scopes: ['admin', 'tools', 'files', 'chat'] },
        ada: { scopes: ['tools', 'chat'] },
      },
      { AUDIT_SIGNING_KEY: signingKey },
    );
    const { tools } = world.api('root');
    const call = (name: string, args: object, session = 'desk') =>
      tools.call({ name, arguments: args as never, session_id: session }).catch(() => undefined);
    await call('write_file', { path: 'a.txt', content: markup });
    await call('write_file', { path: '\u202egpj.exe', content: 'x'.repeat(20_000) }, 'other');
    await call('read_file', { path: `${markup}.txt` });
    await world.api('ada').tools.call({ name: 'write_file', arguments: { path: 'b.txt', content: 'b' } });
    await world.api('ada').chat({
      messages: [{ role: 'user', content: 'Write "hello" to notes.txt' }],
      tools: [{ type: 'mcp', server_label: '*' }],
    } as never);
    runId = (await world.api('root').runs.list()).data[0]!.id;
  });
  afterAll(() => world?.close());

  const rowOf = ({ page }: Person, text: string) => page.getByRole('row').filter({ hasText: text });
  const panel = ({ page }: Person) => page.getByRole('complementary');
  const rows = (filters: object = {}) =>
    world
      .api('root')
      .operations.audit(filters)
      .then(({ data }) => data);
  const keyboardCount = ({ page }: Person) => page.getByRole('grid').getAttribute('aria-rowcount');

  /** What each filter finds is what the API finds. */
  const filters: readonly [name: string, label: string, value: string, isChoice?: boolean][] = [
    ['text', 'Text or id', 'a.txt'],
    ['kind', 'Kind', 'key_change', true],
    ['outcome', 'Outcome', 'failure', true],
    ['tool', 'Tool', 'workspace/write_file'],
    ['session', 'Session', 'other'],
    ['principal', 'Caller', 'ada'],
    ['run', 'Run', ''],
    ['rule', 'Policy rule', ''],
  ];
  verifies('console.audit', 'each filter, in the address and by the API', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('audit');
    await rowOf(person, 'workspace/write_file').first().waitFor();
    const [call] = await rows({ run: runId, kind: 'tool_call' });
    const known: Record<string, string> = { run: runId, rule: call!.policy_rule! };
    for (const [name, label, given, isChoice] of filters) {
      const value = known[name] ?? given;
      const field = page.getByLabel(label, { exact: true });
      await (isChoice === true ? field.selectOption(value) : field.fill(value));
      await page.waitForURL((url) => url.searchParams.get(name) === value);
      const found = await rows({ [name]: value });
      expect(found.length, name).toBeGreaterThan(0);
      await page.getByText(found.length === 1 ? '1 row' : `${found.length} rows`, { exact: true }).waitFor();
      expect(await keyboardCount(person), name).toBe(String(found.length + 1));
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await page.waitForURL((url) => !url.searchParams.has(name));
    }
    await page.getByLabel('Until').fill('2020-01-01T00:00');
    await page.getByText('No row matches').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await rowOf(person, 'workspace/write_file').first().waitFor();
    await page.getByLabel('Since', { exact: true }).fill('2999-01-01T00:00');
    await page.getByText('No row matches').waitFor();
    await person.leave();
  });

  verifies('console.audit', 'one row whole, with what is hostile in it shown harmlessly', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    const [row] = await rows({ session: 'other' });
    await person.open('audit?session=other');
    await rowOf(person, 'write_file').click();
    await page.waitForURL((url) => url.searchParams.get('id') === row!.id);
    await panel(person).getByText(row!.call_id!).waitFor();
    await panel(person).getByRole('link', { name: 'other', exact: true }).waitFor();
    await panel(person).getByRole('tab', { name: 'Arguments and result' }).click();
    await panel(person).getByText('⟨U+202E⟩gpj.exe').first().waitFor();
    await panel(person).getByRole('tab', { name: 'Chain' }).click();
    await panel(person).getByText(row!.hash!).waitFor();
    await panel(person).getByText(row!.previous_hash!).waitFor();
    const [marked] = await rows({ text: markup, tool: 'read_file' });
    await person.open(`audit?id=${marked!.id}`);
    await panel(person).getByRole('tab', { name: 'Arguments and result' }).click();
    await panel(person).getByText(markup).first().waitFor();
    expect(await page.locator('img').count()).toBe(0);
    await page.keyboard.press('Escape');
    await panel(person).waitFor({ state: 'detached' });
    await person.leave();
  });

  verifies('console.audit', 'from a call of a run to its row, and back', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    const [row] = await rows({ run: runId });
    await person.open(`audit?id=${row!.id}`);
    await panel(person).getByRole('link', { name: runId }).click();
    await page.waitForURL(new RegExp(runId));
    await page.getByRole('row').filter({ hasText: 'write_file' }).last().click();
    await page.getByRole('tab', { name: 'Audit' }).click();
    await page.getByRole('complementary').getByRole('link').click();
    await page.waitForURL((url) => url.searchParams.get('id') === row!.id);
    await panel(person).getByText(row!.call_id!).waitFor();
    await person.leave();
  });

  verifies('console.audit', 'verified, cancelled, and exported with the filters', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('audit?tool=write_file');
    const box = page.getByRole('region', { name: 'Verification' });
    await page.getByRole('button', { name: 'Verify', exact: true }).click();
    await box.getByText('The audit is as it was written').waitFor();
    await box.getByText('Last signed checkpoint').waitFor();
    const exported = async (name: string) => {
      const downloading = page.waitForEvent('download');
      await page.getByRole('button', { name }).click();
      return readFileSync(await (await downloading).path(), 'utf8')
        .trimEnd()
        .split('\n');
    };
    const found = await rows({ tool: 'write_file' });
    const lines = await exported('Export NDJSON');
    expect(lines.map((line) => (JSON.parse(line) as AuditRow).id)).toEqual(found.map(({ id }) => id));
    expect((await exported('Export CSV'))[0]).toContain('id,at,kind');

    // So many that it can be cancelled.
    const writer = new pg.Client({
      connectionString: world.box.databaseUrl,
      options: '-c signalbox.audit_writer=on',
    });
    await writer.connect();
    await writer.query(
      `insert into audit_events (id, at, kind, request_id, principal, success, result)
       select gen_random_uuid(), now() - interval '2 days', 'bulk', 'r', 'bulk', true, repeat('x', 200)
       from generate_series(1, 50000)`,
    );
    await writer.end();
    await page.getByRole('button', { name: 'Verify', exact: true }).click();
    await box.getByText(/of 50,0\d\d rows/).waitFor();
    expect(await box.getByRole('progressbar').getAttribute('aria-label')).toBe('Verifying…');
    await box.getByRole('button', { name: 'Cancel' }).click();
    await box.waitFor({ state: 'detached' });
    await person.leave();
  });

  verifies('console.audit', '10,000 rows are scrolled through, page by page', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('audit?kind=bulk');
    await rowOf(person, 'bulk').first().waitFor();
    for (let at = 0; at < 5; at += 1) {
      const before = Number(await keyboardCount(person));
      await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight), undefined');
      await page.locator(`[role="grid"]:not([aria-rowcount="${before}"])`).waitFor();
      expect(Number(await keyboardCount(person))).toBe(before + 100);
    }
    expect(await page.getByRole('row').count()).toBeLessThan(80);
    await person.leave();
  });

  verifies(
    'console.audit',
    'a row is proved by the page itself, and a proof is checked without the gateway',
    async () => {
      const person = await world.asPerson('root', { expected: /ERR_INTERNET_DISCONNECTED|ERR_FAILED/ });
      const { page } = person;
      const [row] = await rows({ session: 'desk', outcome: 'success' });
      await person.open(`audit?id=${row!.id}`);
      await panel(person).getByRole('tab', { name: 'Chain' }).click();
      const downloading = page.waitForEvent('download');
      await panel(person).getByRole('button', { name: 'Prove this row' }).click();
      const download = await downloading;
      expect(download.suggestedFilename()).toBe(`audit-${row!.id}.json`);
      const text = readFileSync(await download.path(), 'utf8');
      const result = panel(person).getByRole('status', { name: 'Proof' });
      await result.getByText('Proved by the key in the file').waitFor();
      await panel(person).getByLabel('Public key').fill(publicPem);
      await result.getByText('valid by the key that you gave').waitFor();
      await panel(person).getByLabel('Public key').fill('nothing');
      await panel(person).getByText('This is not a public Ed25519 key').waitFor();
      await page.getByRole('button', { name: 'Close' }).click();

      await page.context().setOffline(true);
      const open = async (name: string, content: string) => {
        const choosing = page.waitForEvent('filechooser');
        await page.getByRole('button', { name: 'Open a proof' }).click();
        const file = { name, mimeType: 'application/json', buffer: Buffer.from(content) };
        await (await choosing).setFiles(file);
        return page.getByRole('region', { name, exact: true });
      };
      const opened = await open('kept.json', text);
      await opened.getByText('Proved by the key in the file').waitFor();
      await opened.getByText(row!.id).first().waitFor();
      const changed = await open('changed.json', text.replace('"principal": "root"', '"principal": "r00t"'));
      await changed.getByText('The row is not the one whose hash is in the file').waitFor();
      await changed.getByText('Not proved').waitFor();
      const signature = /"signature": "(.)/.exec(text)![1]!;
      const forged = text.replace(/"signature": "./, `"signature": "${signature === '0' ? '1' : '0'}`);
      await (await open('forged.json', forged)).getByText('The signature of the checkpoint is not valid').waitFor();
      await (await open(`${markup}.json`, markup)).getByText('This is no proof of a row').waitFor();
      expect(await page.locator('img').count()).toBe(0);
      await page.context().setOffline(false);
      await person.leave();
    },
  );

  verifies('console.audit', 'not with a key that lacks the scope', async () => {
    const person = await world.asPerson('ada');
    await person.open('');
    expect(await person.page.getByRole('link', { name: 'Audit' }).count()).toBe(0);
    await person.open('audit');
    await person.page.getByText('admin').first().waitFor();
    expect(await person.page.getByRole('button', { name: 'Verify' }).count()).toBe(0);
    await person.leave();
  });

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `audit, ${language}`, async () => {
      const [row] = await rows({ session: 'other' });
      const since = new Date(Date.now() - 86_400_000).toISOString();
      for (const { theme, width } of looks[language]) {
        const person = await world.asPerson('root', { language, theme, width });
        const { page } = person;
        await person.open(`audit?session=other&since=${since}`);
        await page.getByText('write_file').first().waitFor();
        await page.getByRole('button', { name: language === 'en' ? 'Verify' : '验证', exact: true }).click();
        await page
          .getByRole('button', { name: language === 'en' ? 'Close' : '关闭', exact: true })
          .first()
          .waitFor();
        await person.expectAccessible();
        await person.expectNoOverflow();
        await person.picture(`audit-${language}-${theme}-${width}`);
        await person.open(`audit?id=${row!.id}`);
        await page.getByRole('tab', { name: language === 'en' ? 'Chain' : '链', exact: true }).click();
        await page.getByRole('button', { name: language === 'en' ? 'Prove this row' : '证明此行' }).click();
        await page.getByLabel(language === 'en' ? 'Public key' : '公钥').waitFor();
        await person.expectAccessible();
        await person.expectNoOverflow();
        await person.picture(`audit-row-${language}-${theme}-${width}`);
        await person.leave();
      }
    });
  }

  // At last, since rows before a changed one have no proof either.
  verifies('console.audit', 'a row that was changed is named, and has no proof', async () => {
    const person = await world.asPerson('root', { expected: /409/ });
    const { page } = person;
    const [row] = await rows({ session: 'desk', outcome: 'failure' });
    await world.box.rows(`update audit_events set principal = 'eve' where id = $1`, [row!.id]);
    const since = new Date(Date.parse(row!.at) - 1).toISOString();
    await person.open(`audit?since=${since}`);
    await page.getByRole('button', { name: 'Verify', exact: true }).click();
    const box = page.getByRole('region', { name: 'Verification' });
    await box.getByText('The audit is not as it was written').waitFor();
    await box.getByText('Only rows since').waitFor();
    await person.expectAccessible();
    await person.picture('audit-broken');
    await box.getByRole('link', { name: 'Open the row' }).click();
    await page.waitForURL((url) => url.searchParams.get('id') === row!.id);
    await panel(person).getByRole('tab', { name: 'Chain' }).click();
    await panel(person).getByRole('button', { name: 'Prove this row' }).click();
    await panel(person).getByText('This row is not as it was written').waitFor();
    await person.leave();
  });
});
