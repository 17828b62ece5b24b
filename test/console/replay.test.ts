// Replay and Compare as people use them: what a replay changes, where it leads, and where two runs part.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { ListedRun } from '../../clients/typescript/src/index.js';
import { gate } from '../support/browser/chat-person.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person, TestBrowser } from '../support/browser/test-browser.js';
import { calling, type Replaying, replayToItsEnd, startReplaying, user } from '../support/replaying.js';
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-upstream.js';
import { messagesOf } from '../support/scripts.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const suite = `Replay and Compare${noChromium === undefined ? '' : ` (${noChromium})`}`;
const hostile = `<img src="http://hostile.invalid/a.png" onerror="document.title='run'"><script>document.title='run'</script>\u202etxt.exe`;

describe.skipIf(noChromium !== undefined)(suite, () => {
  let here: Replaying;
  let browser: TestBrowser;
  let original: string;
  let replay: string;

  /** Other models charge more, and look twice. */
  const script = (request: ReceivedRequest): ScriptedAnswer => {
    const isOther = request.body['model'] === 'other';
    const amount = isOther ? 7 : 5;
    const last = messagesOf(request).at(-1)!;
    if (last['role'] !== 'tool') return calling(['charge', amount], ['lookup', 1])(request);
    const told = ['I charged the customer.', 'Then I looked it up.', `The amount was ${amount}.`];
    return { text: [...told, ...(isOther ? ['This was another model.'] : [])].join('\n') };
  };

  beforeAll(async () => {
    here = await startReplaying(startSignalboxHere);
    browser = await TestBrowser.open(here.box.url);
    here.follow(script);
    const messages = [{ role: 'system', content: 'Be brief' }, user('Charge 5')];
    original = await here.chat('alice', { messages, session_id: 'desk' });
    replay = (await replayToItsEnd(here, 'alice', original, { model: 'scripted/other' })).id;
  });
  afterAll(async () => {
    await browser?.close();
    await here?.close();
  });

  const as = (owner: string, options: Parameters<TestBrowser['asPerson']>[0] = {}) =>
    browser.asPerson({ key: here.keys[owner]!.key, ...options });
  const button = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true });
  const dialog = ({ page }: Person) => page.getByRole('dialog', { name: 'Replay this run' });
  const part = ({ page }: Person, name: string) => page.getByRole('region', { name });
  const newest = async () => ((await here.ask('alice', '/api/runs?limit=1')).body as { data: ListedRun[] }).data[0]!;
  async function openDialog(person: Person, id: string): Promise<void> {
    await person.open(`runs/${id}`);
    await button(person, 'Replay').click();
    await dialog(person).waitFor();
  }

  verifies('console.replay', 'another model and message, followed live, to a run that is marked', async () => {
    const person = await as('alice');
    const { page } = person;
    await openDialog(person, original);
    await dialog(person).getByText('No tool is called').waitFor();
    const models = await dialog(person).getByLabel('Model').locator('option').allTextContents();
    expect(models[0]).toBe('The same: scripted/model');
    await dialog(person).getByLabel('Last message of the user').fill('Charge 6');
    const { opened, open } = gate();
    here.follow(async (request) => {
      if (messagesOf(request).at(-1)!['role'] === 'tool') await opened;
      return script(request);
    });
    const called = here.shop.calls.length;
    await dialog(person).getByRole('button', { name: 'Replay' }).click();
    await page.waitForURL((url) => /runs\/run_\w+$/.test(url.pathname) && !url.pathname.endsWith(original));
    await page.getByText('live', { exact: true }).waitFor();
    await page.getByText('Replay of').waitFor();
    await page.getByRole('link', { name: original }).waitFor();
    await page.getByRole('row').filter({ hasText: 'shop/charge' }).getByText('recorded result').waitFor();
    open();
    await page.getByText('live', { exact: true }).waitFor({ state: 'detached' });
    here.follow(script);
    const id = new URL(page.url()).pathname.split('/').at(-1)!;
    expect(await here.details('alice', id)).toMatchObject({
      replay_of: original,
      state: 'done',
      model: 'scripted/model',
      messages: [{ content: 'Be brief' }, { content: 'Charge 6' }, {}, {}, {}, {}],
    });
    expect(here.shop.calls).toHaveLength(called);
    await page.getByRole('row').filter({ hasText: 'shop/charge' }).click();
    await page.getByText('the tool was not called').waitFor();
    await page.getByRole('complementary').getByRole('tab', { name: 'Audit' }).click();
    await page.getByText('a replay calls no tool').waitFor();
    await person.leave();
  });

  verifies('console.replay', 'messages as JSON, and a draft whose mistakes are named', async () => {
    const person = await as('alice', { expected: /400/ });
    const { page } = person;
    await openDialog(person, original);
    await dialog(person).getByLabel('Last message of the user').fill('Charge 8');
    await button(person, 'Edit all messages as JSON').click();
    const json = dialog(person).getByLabel('All messages as JSON');
    expect(JSON.parse(await json.inputValue())).toEqual([{ role: 'system', content: 'Be brief' }, user('Charge 8')]);
    await json.fill('[]');
    await dialog(person).getByText('A conversation is a list with at least one message.').waitFor();
    await json.fill(JSON.stringify([user('Charge 9')]));
    await button(person, 'Edit the last message only').click();
    expect(await dialog(person).getByLabel('Last message of the user').inputValue()).toBe('Charge 9');
    await dialog(person).getByText('Try a draft of the policy').click();
    const draft = dialog(person).getByLabel('Policy draft');
    await draft.fill('default: never\nrules:\n  - { name: a, effect: maybe }');
    await dialog(person).getByRole('button', { name: 'Replay' }).click();
    const refused = dialog(person).getByRole('alert');
    await refused.getByRole('listitem').filter({ hasText: 'Line 1' }).getByText('default').waitFor();
    await refused.getByRole('listitem').filter({ hasText: 'Line 3' }).getByText('rules.0.effect').waitFor();
    expect(await draft.inputValue()).toContain('maybe');
    await person.expectAccessible();
    await draft.fill('default: allow\nrules:\n  - { name: no-charges, tool: shop/charge, effect: deny }');
    await dialog(person).getByRole('button', { name: 'Replay' }).click();
    await page.waitForURL((url) => !url.pathname.endsWith(original));
    await page.getByRole('row').filter({ hasText: 'no-charges' }).getByText('denied').waitFor();
    const run = await here.details('alice', (await newest()).id);
    expect(run.messages![0]).toEqual(user('Charge 9'));
    expect(run.call_list).toMatchObject([{ state: 'denied', policy: { rule: 'no-charges' } }, { replayed: 'same' }]);
    await person.leave();
  });

  verifies(
    'console.compare',
    'a replay with its original: figures, the same folded, the first difference',
    async () => {
      const person = await as('alice');
      const { page } = person;
      await person.open(`runs/${replay}`);
      await page.getByRole('link', { name: 'Compare' }).click();
      await page.waitForURL(`**/console/runs/compare?left=${original}&right=${replay}`);
      await page.getByRole('columnheader', { name: `Original ${original}` }).waitFor();
      await page.getByRole('columnheader', { name: `Replay ${replay}` }).waitFor();
      await page.getByRole('row', { name: /^Model scripted\/model scripted\/other differs/ }).waitFor();
      await page.getByRole('row', { name: /^Calls 2 2$/ }).waitFor();
      await page.getByText('2 parts differ').waitFor();
      const charged = part(person, 'Round 1 · Call · shop/charge');
      await charged.getByText('first difference').waitFor();
      await charged.locator('del').getByText('"amount": 5').waitFor();
      await charged.locator('ins').getByText('"amount": 7').waitFor();
      await charged.getByText('result recorded with other arguments').waitFor();
      await button(person, 'First difference').click();
      expect(await page.evaluate<string>('document.activeElement.id')).toBe('part-call-1-0');
      const answer = part(person, 'Round 2 · Answer');
      await answer.locator('ins').getByText('This was another model.').waitFor();
      await answer.getByText('Then I looked it up.').first().waitFor();
      expect(await answer.locator('del').allTextContents()).toEqual(['The amount was 5.']);
      const same = page.getByRole('group', { name: 'Round 1 · Call · shop/lookup' });
      await same.getByText('the same').waitFor();
      expect(await same.getByText('lookup 1: call').isVisible()).toBe(false);
      await same.locator('summary').press('Enter');
      await same.getByText('lookup 1: call').waitFor();
      await button(person, 'Swap sides').click();
      await page.waitForURL(`**/console/runs/compare?left=${replay}&right=${original}`);
      await charged.locator('del').getByText('"amount": 7').waitFor();
      await person.leave();
    },
  );

  verifies('console.compare', 'two rows of Runs; another run by its id; a run that is not theirs', async () => {
    const foreign = await here.chat('bob', { messages: [user('Charge 5')] });
    const person = await as('alice', { expected: /404/ });
    const { page } = person;
    await person.open('runs');
    await page.getByRole('row').filter({ hasText: 'replay' }).first().waitFor();
    for (const id of [original, replay]) await page.getByLabel(`Choose run ${id}`).check();
    await page.getByRole('link', { name: 'Compare' }).click();
    await page.waitForURL(`**/console/runs/compare?left=${original}&right=${replay}`);
    await button(person, 'Swap sides').waitFor();
    await button(person, 'Another run').click();
    const chooser = page.getByRole('region', { name: 'Right: Choose a run' });
    await chooser.getByLabel('Id of the run').fill(foreign);
    await button(person, 'Use this run').click();
    await page.getByRole('alert').waitFor();
    await button(person, 'Another run').last().click();
    expect(await chooser.getByRole('button', { name: original }).count()).toBe(0);
    await chooser.getByRole('button', { name: replay }).click();
    await page.getByText('2 parts differ').waitFor();
    await person.open(`runs/${original}`);
    await page.getByRole('link', { name: 'Compare' }).click();
    await chooser.getByLabel('Id of the run').fill(original);
    await button(person, 'Use this run').click();
    await page.getByText('Both runs were asked the same').waitFor();
    expect(await button(person, 'First difference').count()).toBe(0);
    await person.leave();
  });

  verifies('console.compare', 'files, without the gateway', async () => {
    const person = await as('alice');
    const { page } = person;
    const files: Buffer[] = [];
    for (const id of [original, replay]) {
      await person.open(`runs/${id}`);
      const [download] = await Promise.all([page.waitForEvent('download'), button(person, 'Download').click()]);
      files.push(await readFile(await download.path()));
    }
    await person.open('runs/compare');
    const asked: string[] = [];
    for (const [side, buffer] of [
      ['Left', files[0]!],
      ['Right', files[1]!],
    ] as const) {
      const chooser = page.getByRole('region', { name: `${side}: Choose a run` });
      page.on('request', (request) => asked.push(new URL(request.url()).pathname));
      const [picker] = await Promise.all([
        page.waitForEvent('filechooser'),
        chooser.getByRole('button', { name: 'Open a file' }).click(),
      ]);
      await picker.setFiles({ name: 'run.json', mimeType: 'application/json', buffer });
      await chooser.waitFor({ state: 'detached' });
    }
    await page.getByText('2 parts differ').waitFor();
    expect(await page.getByText('from a file').count()).toBe(2);
    expect(asked.filter((path) => path.includes(original) || path.includes(replay))).toEqual([]);
    await page.reload();
    await page.getByText('The file has to be opened again').first().waitFor();
    await person.leave();
  });

  verifies('console.compare', 'hostile and long texts are shown as texts', async () => {
    here.follow((request) => {
      const isOther = request.body['model'] === 'other';
      const last = messagesOf(request).at(-1)!;
      if (last['role'] !== 'tool')
        return { text: hostile, toolCalls: [{ name: 'lookup', arguments: { [hostile]: hostile } }] };
      return {
        text: isOther
          ? `${'y'.repeat(5_000_000)}\n${hostile}`
          : Array.from({ length: 3_000 }, (_, at) => `${at}`).join('\n'),
      };
    });
    const left = await here.chat('alice', { messages: [user(hostile)] });
    const right = await replayToItsEnd(here, 'alice', left, {
      model: 'scripted/other',
      messages: [user(`${hostile}!`)],
    });
    here.follow(script);
    const person = await as('alice');
    const { page } = person;
    await person.open(`runs/compare?left=${left}&right=${right.id}`);
    await part(person, 'What was asked').getByText('<script>').first().waitFor();
    await part(person, 'Round 2 · Answer').getByText('Only the beginning').waitFor();
    expect(await page.locator('main img, main script').count()).toBe(0);
    expect(await page.title()).not.toBe('run');
    await person.expectNoOverflow();
    await person.leave();
  });

  verifies('console.scopes', 'a key that may not chat sees neither', async () => {
    await here.makeKey('filer', { owner: 'alice', scopes: ['files'] });
    const person = await as('filer');
    await person.open(`runs/compare?left=${original}&right=${replay}`);
    await person.page.getByRole('heading', { name: 'You may not see this' }).waitFor();
    await person.leave();
  });

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `replay and compare, ${language}`, async () => {
      const words = { en: { replay: 'Replay', compare: 'Figures' }, zh: { replay: '重放', compare: '数据' } }[language];
      for (const { theme, width } of looks[language]) {
        const person = await as('alice', { language, theme, width });
        const { page } = person;
        const shown = async (name: string) => {
          await person.expectAccessible();
          await person.expectNoOverflow();
          await person.picture(`${name}-${language}-${theme}-${width}`);
        };
        await person.open(`runs/compare?left=${original}&right=${replay}`);
        await page.getByRole('table', { name: words.compare }).waitFor();
        await shown('compare');
        await person.open(`runs/compare?left=${original}`);
        await page.getByRole('button', { name: replay }).waitFor();
        await shown('compare-choose');
        await person.open(`runs/${replay}`);
        await page.getByText('shop/charge').first().waitFor();
        await shown('replay-run');
        await person.open('runs');
        await page.getByText('scripted/other').first().waitFor();
        await shown('replay-runs');
        await person.open(`runs/${original}`);
        await page.getByRole('button', { name: words.replay, exact: true }).click();
        await page.getByRole('dialog').waitFor();
        await shown('replay-dialog');
        await person.leave();
      }
    });
  }
});
