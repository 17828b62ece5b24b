// Runs as a person uses it: filters, choosing and cancelling, exports, many rows, and what others may not see.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { eventually } from '../support/eventually.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { type Person, TestBrowser } from '../support/browser/test-browser.js';
import { postJson } from '../support/read-sse.js';
import { messagesOf, post, rounds, workspaceTools } from '../support/scripts.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const suite = `Runs${noChromium === undefined ? '' : ` (${noChromium})`}`;
const chat = '/api/chat/completions';

interface Listed {
  id: string;
  state: string;
  model: string | null;
  error?: { code: string };
}

describe.skipIf(noChromium !== undefined)(suite, () => {
  let box: SignalboxHere;
  let browser: TestBrowser;

  beforeAll(async () => {
    const usual = rounds(
      { toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'a' } }] },
      { text: 'written' },
    );
    box = await startSignalboxHere({
      script: (request, number) => {
        if (messagesOf(request).some(({ content }) => content === 'fails'))
          return { status: 500, json: { error: { message: 'no' } } };
        return typeof usual === 'function' ? usual(request, number) : usual[0]!;
      },
    });
    browser = await TestBrowser.open(box.url);
    await turn('first words', 'alpha');
    await turn('fails', 'beta');
    await waiting('holds one');
    await waiting('holds two');
  });
  afterAll(async () => {
    await browser?.close();
    await box?.close();
  });

  const headersOf = (key: string | undefined): Record<string, string> =>
    key === undefined ? {} : { authorization: `Bearer ${key}` };
  const turn = (content: string, session: string, key?: string) =>
    post(
      box.url,
      chat,
      { messages: [{ role: 'user', content }], tools: [workspaceTools], session_id: session },
      headersOf(key),
    );
  /** A turn that goes on until somebody decides about its call. */
  async function waiting(content: string): Promise<void> {
    const stream = await postJson(`${box.url}${chat}`, {
      stream: true,
      approval: 'hold',
      on_disconnect: 'detach',
      messages: [{ role: 'user', content }],
      tools: [{ ...workspaceTools, require_approval: 'always' }],
    });
    const decoder = new TextDecoder();
    for await (const bytes of stream.body as unknown as AsyncIterable<Uint8Array>) {
      if (decoder.decode(bytes).includes('waiting_approval')) break;
    }
  }
  async function listed(query = '', key?: string): Promise<Listed[]> {
    const answer = await fetch(`${box.url}/api/runs?limit=100${query}`, { headers: headersOf(key) });
    return ((await answer.json()) as { data: Listed[] }).data;
  }
  const table = ({ page }: Person) => page.getByRole('grid', { name: 'Runs' });
  const rowOf = (person: Person, id: string) =>
    table(person)
      .getByRole('row')
      .filter({ has: person.page.getByRole('checkbox', { name: `Choose run ${id}` }) });
  /** Waits until the table has these runs and no others. */
  async function expectRuns(person: Person, runs: readonly Listed[]): Promise<void> {
    expect(runs.length).toBeGreaterThan(0);
    for (const { id } of runs) await rowOf(person, id).waitFor();
    await person.page.getByText(runs.length === 1 ? '1 row' : `${runs.length} rows`, { exact: true }).waitFor();
  }

  verifies('overview.figures', 'a turn that waits for a person is not counted as running', async () => {
    const overview = (await (await fetch(`${box.url}/api/overview`)).json()) as { running_turns: number };
    expect((await listed('&state=waiting')).length).toBe(2);
    expect([overview.running_turns, (await listed('&state=running')).length]).toEqual([0, 0]);
  });

  verifies('console.runs', 'states and failures in words, and every filter in the address', async () => {
    const person = await browser.asPerson();
    const { page } = person;
    await person.open('runs');
    await page.getByText('Plain chats, without a server tool, are not runs').waitFor();
    const all = await listed();
    await expectRuns(person, all);
    const failed = all.find(({ error }) => error !== undefined)!;
    await rowOf(person, failed.id).getByText('The provider answered with an error').waitFor();
    const [held] = await listed('&state=waiting');
    await rowOf(person, held!.id).getByText('a call waits for a person').waitFor();
    await rowOf(person, held!.id)
      .getByRole('img', { name: /person/ })
      .waitFor();

    const typed = (name: string) => page.getByRole('searchbox', { name });
    const model = all.find(({ state }) => state === 'done')!.model!;
    const filters: [name: string, value: string, use: () => Promise<unknown>][] = [
      ['state', 'waiting', () => page.getByLabel('State').selectOption('waiting')],
      ['error', failed.error!.code, () => page.getByLabel('Error').selectOption(failed.error!.code)],
      ['text', 'first', () => typed('Text or id').fill('first')],
      ['model', model, () => typed('Model').fill(model)],
      ['tool', 'write_file', () => typed('Tool').fill('write_file')],
      ['session', 'beta', () => typed('Session').fill('beta')],
      ['principal', 'local', () => typed('Caller').fill('local')],
      ['since', '', () => page.getByLabel('Since').fill('2020-01-02T03:04')],
      ['until', '', () => page.getByLabel('Until').fill('2099-01-02T03:04')],
    ];
    for (const [name, value, use] of filters) {
      await use();
      await page.waitForURL((address) => address.searchParams.has(name));
      const given = new URL(page.url()).searchParams.get(name)!;
      if (value !== '') expect(given).toBe(value);
      await expectRuns(person, await listed(`&${name}=${encodeURIComponent(given)}`));
      await page.getByRole('button', { name: 'Clear filters' }).click();
      await page.waitForURL((address) => address.search === '');
    }
    await person.open('runs?text=nobody-asked-this');
    await page.getByText('No run matches these filters').waitFor();
    await person.leave();
  });

  verifies('console.runs', 'several are cancelled, after a question; a row leads to its run', async () => {
    const person = await browser.asPerson();
    const { page } = person;
    await person.open('runs');
    const held = await listed('&state=waiting');
    expect(held.length).toBe(2);
    const [ended] = await listed('&state=done');
    for (const { id } of [...held, ended!]) await page.getByLabel(`Choose run ${id}`).check();
    await page.getByRole('button', { name: 'Cancel runs' }).click();
    const dialog = page.getByRole('dialog', { name: 'Cancel 3 runs?' });
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect((await listed('&state=waiting')).length).toBe(2);
    await page.getByRole('button', { name: 'Cancel runs' }).click();
    await dialog.getByRole('button', { name: 'Cancel runs' }).click();
    await page.getByText('2 runs cancelled · 1 had ended before').waitFor();
    for (const { id } of held) {
      await rowOf(person, id).getByText('cancelled', { exact: true }).waitFor();
      expect((await listed('&state=cancelled')).map((run) => run.id)).toContain(id);
    }
    await rowOf(person, ended!.id).press('Enter');
    await page.getByRole('heading', { name: 'Run', level: 1 }).waitFor();
    expect(page.url()).toContain(ended!.id);
    await person.leave();
  });

  verifies('console.runs', 'the rows as JSON and as CSV', async () => {
    const person = await browser.asPerson();
    const { page } = person;
    await person.open('runs?session=alpha');
    const saved = async (name: string) => {
      const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name }).click()]);
      return readFile(await download.path(), 'utf8');
    };
    const runs = await listed('&session=alpha');
    expect(JSON.parse(await saved('Export JSON'))).toEqual(runs);
    const lines = (await saved('Export CSV')).trim().split('\r\n');
    expect(lines[0]).toMatch(/^id,state,created_at/);
    expect(lines.slice(1).map((line) => line.split(',')[0])).toEqual(runs.map(({ id }) => id));
    await person.leave();
  });

  verifies('console.accessible', 'Runs in each form', async () => {
    for (const [language, theme, width] of [
      ['en', 'light', 390],
      ['zh', 'dark', 1_280],
    ] as const) {
      const person = await browser.asPerson({ language, theme, width });
      await person.open('runs');
      await person.page.getByRole('checkbox').first().waitFor();
      await person.expectAccessible();
      await person.expectNoOverflow();
      await person.picture(`runs-${language}-${theme}-${width}`);
      await person.leave();
    }
  });

  verifies('console.runs', 'ten thousand rows: pages as they are reached, few rows in the page', async () => {
    await box.rows(
      `insert into runs (id, principal, request_id, request_hash, dialect, detached, state, request, usage, created_at, ended_at, asked)
       select 'run_00' || lpad(to_hex(n), 30, '0'), principal, request_id, request_hash, dialect, detached, 'done', request, usage,
         now() - interval '1 day', now() - interval '1 day', 'row ' || n
       from runs cross join generate_series(1, 10000) as n where state = 'done' limit 10000`,
    );
    const person = await browser.asPerson();
    const { page } = person;
    await person.open('runs?text=row');
    await table(person).getByRole('row').nth(5).waitFor();
    for (const least of [150, 250, 350]) {
      await page.mouse.move(700, 600);
      await page.mouse.wheel(0, 100_000);
      await eventually(async () => Number(await table(person).getAttribute('aria-rowcount')) > least, 30_000);
    }
    expect(await table(person).getByRole('row').count()).toBeLessThan(100);
    await person.leave();
  });

  verifies('console.runs', 'a caller sees their own runs, an administrator those of all', async () => {
    const make = async (owner: string, scopes: string[], key?: string) => {
      const answer = await postJson(`${box.url}/api/keys`, { owner, scopes }, headersOf(key));
      return ((await answer.json()) as { key: string }).key;
    };
    const admin = await make('root', ['admin', 'chat']);
    const alice = await make('alice', ['chat', 'tools'], admin);
    const bob = await make('bob', ['chat', 'tools'], admin);
    await turn('of alice', 'alices', alice);
    await turn('of bob', 'bobs', bob);
    const [ofBob] = await listed('', bob);
    const person = await browser.asPerson({ key: alice, expected: /404/ });
    await person.open('runs');
    await expectRuns(person, await listed('', alice));
    expect(await person.page.getByRole('searchbox', { name: 'Caller' }).count()).toBe(0);
    await person.open(`runs/${ofBob!.id}`);
    await person.page.getByRole('alert').getByText('run_not_found').waitFor();
    await person.leave();
    const root = await browser.asPerson({ key: admin });
    await root.open('runs?principal=bob');
    await expectRuns(root, await listed('&principal=bob', admin));
    await root.leave();
  });
});
