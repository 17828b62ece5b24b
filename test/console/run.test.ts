// One run as a person looks at it: its parts, a turn that runs, hostile content, and the file of a run.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { noChromium } from '../support/browser/find-chromium.js';
import { type Person, TestBrowser } from '../support/browser/test-browser.js';
import { postJson, readSse } from '../support/read-sse.js';
import type { Script } from '../support/scripted-upstream.js';
import { post, rounds, workspaceTools } from '../support/scripts.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const suite = `Run${noChromium === undefined ? '' : ` (${noChromium})`}`;
const chat = '/api/chat/completions';
const hostile = `<img src="http://hostile.invalid/a.png" onerror="document.title='run'"><script>document.title='run'</script>\u202etxt.exe`;

interface Details {
  id: string;
  state: string;
  call_list: { id: string; state: string; audit_id: string | null }[];
  event_list: { n: number; type: string }[];
}

describe.skipIf(noChromium !== undefined)(suite, () => {
  let box: SignalboxHere;
  let browser: TestBrowser;
  let script: Script;

  beforeAll(async () => {
    box = await startSignalboxHere({
      script: (request, number) => {
        if (typeof script !== 'function') throw new Error('scripts of this file are functions');
        return script(request, number);
      },
    });
    browser = await TestBrowser.open(box.url);
  });
  afterAll(async () => {
    await browser?.close();
    await box?.close();
  });

  const body = (content: string, more: object = {}) => ({
    messages: [{ role: 'user', content }],
    tools: [workspaceTools],
    ...more,
  });
  async function runOf(content: string): Promise<string> {
    const answer = await post(box.url, chat, body(content));
    expect(answer.status).toBe(200);
    return answer.headers.get('x-run-id')!;
  }
  const details = async (id: string) =>
    (await (await fetch(`${box.url}/api/runs/${id}?include=rounds,calls,events`)).json()) as Details;
  const row = ({ page }: Person, text: string | RegExp) => page.getByRole('row').filter({ hasText: text });
  const panel = ({ page }: Person) => page.getByRole('complementary');

  verifies('console.run', 'rounds with their parts, what is known of each beside, all in the address', async () => {
    script = rounds(
      {
        toolCalls: [
          { name: 'write_file', arguments: { path: 'a.txt', content: 'the words' } },
          { name: 'fetch', arguments: { url: 'http://127.0.0.1:1/', headers: { authorization: 'sk-123456' } } },
        ],
      },
      { text: 'written **well**' },
    );
    const id = await runOf('write it');
    const { call_list: calls } = await details(id);
    const person = await browser.asPerson();
    await person.context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const { page } = person;
    await person.open(`runs/${id}`);
    for (const name of [/^Round 1/, /^Model call/, /workspace\/write_file/, /^Policy/, /^Queue/, /^Tool/, /^Round 2/]) {
      await row(person, name).first().waitFor();
    }
    expect(
      await row(person, /^Policy/)
        .getByText('allowed')
        .count(),
    ).toBe(2);
    const tools = row(person, /^Tool/);
    await tools
      .first()
      .getByText(/1 attempt · Worker \S+ · Isolation \S+/)
      .waitFor();
    await tools.last().click();
    await panel(person).getByText('http://127.0.0.1:1/').waitFor();
    expect(await panel(person).getByText('sk-123456').count()).toBe(0);
    await tools.first().click();
    await panel(person).getByText('the words').waitFor();
    await panel(person).getByRole('tab', { name: 'Policy' }).click();
    await panel(person).getByText('default', { exact: false }).first().waitFor();
    await panel(person).getByRole('tab', { name: 'Audit' }).click();
    await panel(person).getByText(calls[0]!.audit_id!).waitFor();
    expect(await panel(person).getByRole('link', { name: 'Open the row' }).getAttribute('href')).toContain(
      `/console/audit?id=${calls[0]!.audit_id!}`,
    );
    await page.reload();
    await panel(person).getByText(calls[0]!.audit_id!).waitFor();
    await person.picture('run-en-light-1280');
    await person.expectAccessible();
    await panel(person).getByRole('button', { name: 'Close' }).click();
    await row(person, /^Model call/)
      .last()
      .press('Enter');
    await panel(person).getByRole('tab', { name: 'Messages' }).click();
    await panel(person).getByText('well', { exact: true }).waitFor();
    await panel(person).getByRole('button', { name: 'Show 2 earlier messages' }).click();
    await panel(person).getByText('write it').waitFor();

    await page.getByRole('tab', { name: 'Events' }).click();
    const { event_list: events } = await details(id);
    for (const { n, type } of events) await row(person, new RegExp(`^${n}${type}`)).waitFor();
    await page.getByLabel('Filter events').fill('tool_result');
    await page.waitForURL(/tab=events.*text=tool_result/);
    await row(person, /^1start/).waitFor({ state: 'detached' });
    await page.getByRole('tab', { name: 'JSON' }).click();
    await page.getByText(`"${id}"`).waitFor();
    expect(await page.getByText('sk-123456').count()).toBe(0);

    await page.getByRole('button', { name: 'Copy as curl' }).click();
    const command = await page.evaluate<string>('navigator.clipboard.readText()');
    const [, address] = /^curl '(.+)'$/.exec(command)!;
    expect(((await (await fetch(address!)).json()) as Details).call_list).toEqual(calls);
    await person.leave();
  });

  verifies('console.run', 'what an unknown outcome means, in both languages', async () => {
    script = rounds({ toolCalls: [{ name: 'get_time', arguments: {} }] }, { text: 'now' });
    const id = await runOf('lost');
    await box.rows(`update tool_calls set state = 'indeterminate' where run_id = $1`, [id]);
    const [call] = (await details(id)).call_list;
    for (const [language, words] of [
      ['en', /Outcome unknown: .+ so it was not repeated; the model was told/],
      ['zh', /结果未知：.+没有重复执行；已告知模型结果未知/],
    ] as const) {
      const person = await browser.asPerson({ language, theme: 'dark', width: 390 });
      await person.open(`runs/${id}?part=call-${call!.id}`);
      await panel(person).getByText(words).waitFor();
      await person.expectAccessible();
      await person.expectNoOverflow();
      await person.picture(`run-${language}-dark-390`);
      await person.leave();
    }
  });

  verifies(
    'console.run-live',
    'a turn that runs is joined, waits for a person, goes on, and is cancelled',
    async () => {
      let release = () => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      script = rounds(
        { text: 'I write', toolCalls: [{ name: 'write_file', arguments: { path: 'b.txt', content: 'b' } }] },
        { text: 'late words', before: held },
      );
      const tools = [{ ...workspaceTools, require_approval: 'always' }];
      const streamed = await postJson(`${box.url}${chat}`, body('hold', { stream: true, approval: 'hold', tools }));
      const id = streamed.headers.get('x-run-id')!;
      const over = readSse(streamed);
      const person = await browser.asPerson();
      const { page } = person;
      await person.open(`runs/${id}`);
      await page.getByText('live', { exact: true }).waitFor();
      await row(person, /^Wait for a person/)
        .getByText('waiting')
        .waitFor();
      const waits = `${box.url}/api/approvals?state=waiting`;
      const { data } = (await (await fetch(waits)).json()) as { data: { id: string; run_id: string }[] };
      const approval = data.find(({ run_id: run }) => run === id)!;
      await postJson(`${box.url}/api/approvals/${approval.id}`, { decision: 'approve' });
      await row(person, /^Wait for a person/)
        .getByText('approved')
        .waitFor();
      await row(person, /^Tool/).waitFor();
      await page.getByRole('tab', { name: 'Events' }).click();
      await row(person, /approval_required/).waitFor();
      await row(person, /tool_result/).waitFor();
      release();
      await row(person, /late words/).waitFor();
      await over;
      await page.getByText('done', { exact: true }).first().waitFor();
      expect(await page.getByRole('button', { name: 'Cancel' }).count()).toBe(0);

      script = rounds({ text: 'never', before: new Promise(() => {}) });
      const endless = await postJson(`${box.url}${chat}`, body('endless', { stream: true, on_disconnect: 'detach' }));
      const other = endless.headers.get('x-run-id')!;
      await person.open(`runs/${other}`);
      await page.getByRole('button', { name: 'Cancel' }).click();
      const dialog = page.getByRole('dialog', { name: 'Cancel this run?' });
      await dialog.getByRole('button', { name: 'Cancel run' }).click();
      await page.getByText('cancelled', { exact: true }).waitFor();
      expect((await details(other)).state).toBe('cancelled');
      await endless.body?.cancel();
      await person.leave();
    },
  );

  verifies('console.run', 'what models and tools say is shown as text', async () => {
    script = rounds(
      { toolCalls: [{ name: 'write_file', arguments: { path: 'h.html', content: hostile } }] },
      { toolCalls: [{ name: 'read_file', arguments: { path: 'h.html' } }] },
      { text: `${hostile} ![far](http://hostile.invalid/b.png) [go](javascript:document.title='run')` },
    );
    const id = await runOf(hostile);
    const person = await browser.asPerson();
    const { page } = person;
    await person.open(`runs/${id}`);
    await row(person, /^Tool/).last().click();
    await panel(person).getByText('⟨U+202E⟩txt.exe').waitFor();
    await row(person, /^Model call/)
      .last()
      .click();
    await panel(person).getByRole('tab', { name: 'Messages' }).click();
    await panel(person).getByText('onerror').first().waitFor();
    expect(await page.locator('main img, main script, a[href^="javascript:"]').count()).toBe(0);
    await page.getByRole('tab', { name: 'Events' }).click();
    await row(person, /^\d+content/)
      .getByText('<script>')
      .waitFor();
    await page.getByRole('tab', { name: 'JSON' }).click();
    expect(await page.title()).toBe('Run · Signalbox');
    await person.leave();
  });

  verifies(
    'console.run-file',
    'downloaded, and opened again without the gateway; other files are refused',
    async () => {
      script = rounds({ toolCalls: [{ name: 'get_time', arguments: {} }] }, { text: 'now' });
      const id = await runOf('to a file');
      const person = await browser.asPerson();
      const { page } = person;
      await person.open(`runs/${id}`);
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('button', { name: 'Download' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(`${id}.json`);
      const file = JSON.parse(await readFile(await download.path(), 'utf8')) as { run: Details };
      expect(file.run).toEqual(await details(id));

      await person.open('runs');
      const open = async (name: string, content: string) => {
        const [chooser] = await Promise.all([
          page.waitForEvent('filechooser'),
          page.getByRole('button', { name: 'Open a file' }).click(),
        ]);
        await chooser.setFiles({ name, mimeType: 'application/json', buffer: Buffer.from(content) });
      };
      const [call] = file.run.call_list;
      const damaged = { ...file, run: { ...file.run, call_list: [{ ...call, planned_at: 'soon' }] } };
      for (const [content, words] of [
        ['no', 'This file is not JSON.'],
        ['{}', 'This is not the file of a run'],
        [JSON.stringify({ ...file, signalbox_run: 99 }), 'A newer version of Signalbox wrote this file.'],
        [JSON.stringify(damaged), 'damaged at run.call_list[0].planned_at'],
      ] as const) {
        await open('other.json', content);
        await page.getByRole('alert').getByText(words).waitFor();
      }
      const asked: string[] = [];
      page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      const events = Array.from({ length: 5_000 }, (_none, index) => ({
        n: index + 1,
        type: index % 2 === 0 ? 'content' : 'reasoning',
        text: `piece ${index + 1}`,
      }));
      await open('run.json', JSON.stringify({ ...file, run: { ...file.run, event_list: events } }));
      await page.getByText('The gateway was not asked.').waitFor();
      await row(person, /^Tool/).click();
      await page.getByRole('tab', { name: 'Events' }).click();
      await row(person, /^1content/).waitFor();
      expect(await page.getByRole('row').count()).toBeLessThan(100);
      await page.mouse.move(500, 700);
      await page.mouse.wheel(0, 1_000_000);
      await row(person, /^5,000reasoning/).waitFor();
      expect(asked.filter((path) => path.includes('/api/runs'))).toEqual([]);
      await page.reload();
      await page.getByText('The file has to be opened again').waitFor();
      await person.leave();
    },
  );
});
