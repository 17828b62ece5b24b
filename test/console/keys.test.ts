// Keys as an administrator uses them: the first one on an open gateway, and making, using, rotating and revoking others.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ConsoleWorld } from '../support/browser/console-world.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person, TestBrowser } from '../support/browser/test-browser.js';
import { eventually } from '../support/eventually.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const suite = `Keys${noChromium === undefined ? '' : ` (${noChromium})`}`;
const markup = '<img src=x onerror=alert(1)>';
const rightToLeft = 'safe\u202etxt.exe';
const madeForm = /^sb_[\w-]{43}$/;

const form = ({ page }: Person) => page.getByRole('dialog', { name: 'Create a key' });
const shownKey = ({ page }: Person) => page.getByRole('group', { name: 'Key' }).locator('code');
const press = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true }).click();
const openForm = (person: Person) => press(person, 'Create a key');

/** The key is in no storage, no address and nothing else that outlives its dialog. */
async function expectForgotten({ page, context }: Person, key: string): Promise<void> {
  const kept = await page.evaluate<string>(
    'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, history.state, document.body.innerHTML])',
  );
  expect(kept).not.toContain(key.slice(12));
  expect(JSON.stringify(await context.storageState({ indexedDB: true }))).not.toContain(key.slice(12));
}

describe.skipIf(noChromium !== undefined)(suite, () => {
  let world: ConsoleWorld;
  beforeAll(async () => {
    world = await ConsoleWorld.open(
      { mcpServers: { workspace: { builtin: 'workspace' } }, budgets: { month_usd: 100 } },
      { root: { scopes: ['admin', 'chat', 'tools'] }, ada: { scopes: ['chat'] } },
    );
    await eventually(async () => (await world.api('root').tools.list()).length > 5, 30_000);
    const make = (members: object) =>
      world.api('root').operations.createKey({ owner: 'eve', scopes: ['chat'], ...members });
    await make({ owner: markup.replaceAll(' ', '_'), name: rightToLeft });
    await make({ name: 'laptop', budgets: { day_usd: 5 }, expires_at: new Date(Date.now() + 3_600_000).toISOString() });
  });
  afterAll(() => world?.close());

  const status = async (key: string) =>
    (await fetch(`${world.box.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
  const rowOf = ({ page }: Person, text: string) =>
    page.getByRole('grid', { name: 'Keys' }).getByRole('row').filter({ hasText: text });
  const panel = ({ page }: Person) => page.getByRole('complementary');

  verifies('console.api-keys', 'made by the form, used, rotated with grace, revoked', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('keys');
    await openForm(person);
    await form(person).getByLabel('Owner').fill('bob');
    await form(person).getByLabel('Name').fill('build server');
    await form(person).getByLabel('Roles').fill('dev, ops');
    await form(person).getByRole('checkbox', { name: 'files' }).uncheck();
    await form(person).getByLabel('Allowed models').fill('offline*');
    await form(person)
      .getByText(/Matches 1 of 1: offline/)
      .waitFor();
    await form(person).getByLabel('Allowed tools').fill('workspace/*');
    await form(person).getByLabel('Denied tools').fill('*/delete_*\n*/write_*');
    await form(person)
      .getByText(/workspace\/read_file/)
      .waitFor();
    expect(
      await form(person)
        .getByText(/workspace\/delete_file/)
        .count(),
    ).toBe(0);
    await form(person).getByLabel('Requests a minute').fill('90');
    await form(person).getByLabel('Budget a day, USD').fill('2.5');
    await form(person).getByLabel('Expiry').selectOption('30');
    await press(person, 'Create');
    const key = (await shownKey(person).textContent())!;
    expect(key).toMatch(madeForm);
    await page.getByRole('tab', { name: '.mcp.json' }).click();
    await page.getByText('"mcpServers"').waitFor();
    await page.getByRole('tab', { name: 'OpenAI SDK' }).click();
    await page.getByText('from openai import OpenAI').waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await press(person, 'Copy the key');
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toBe(key);
    await person.expectAccessible();
    await person.picture('keys-made');
    // Neither Escape nor a click beside it loses a key that is shown once.
    await page.keyboard.press('Escape');
    await page.mouse.click(5, 5);
    await shownKey(person).waitFor();
    expect(await page.getByRole('button', { name: 'Sign in with this key' }).count()).toBe(0);
    await press(person, 'Done');
    await rowOf(person, 'build server').waitFor();
    await expectForgotten(person, key);
    expect(await status(key)).toBe(200);
    const [made] = (await world.api('root').operations.keys({ owner: 'bob' })).data;
    expect(made).toMatchObject({
      name: 'build server',
      roles: ['dev', 'ops'],
      scopes: ['chat', 'tools'],
      models: ['offline*'],
      tools: { allow: ['workspace/*'], deny: ['*/delete_*', '*/write_*'] },
      limits: { requests_per_minute: 90 },
      budgets: { day_usd: 2.5 },
    });
    expect(Date.parse(made!.expires_at!) - Date.now()).toBeGreaterThan(29 * 86_400_000);

    await rowOf(person, 'build server').click();
    await page.waitForURL(new RegExp(`id=${made!.id}`));
    await panel(person).getByText('90 requests a minute').waitFor();
    await panel(person).getByText('$0.00 of $100.00').waitFor();
    await panel(person).getByRole('button', { name: 'Rotate' }).click();
    await page.getByLabel('The old key works for').selectOption('3600');
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
    await page.getByText(/The old key works until/).waitFor();
    const next = (await shownKey(person).textContent())!;
    await press(person, 'Done');
    await panel(person).getByText('rotating').waitFor();
    expect([await status(key), await status(next)]).toEqual([200, 200]);
    await expectForgotten(person, next);

    await panel(person).getByRole('button', { name: 'Revoke' }).click();
    const question = page.getByRole('dialog', { name: 'Revoke the key of bob?' });
    await question.getByText('No turn of bob runs.').waitFor();
    await question.getByRole('button', { name: 'Cancel' }).click();
    expect(await status(key)).toBe(200);
    await panel(person).getByRole('button', { name: 'Revoke' }).click();
    await question.getByRole('button', { name: 'Revoke' }).click();
    await eventually(async () => (await status(key)) === 401, 1_000);
    await panel(person).getByText('revoked', { exact: true }).first().waitFor();
    expect(await status(next)).toBe(200);
    await person.leave();
  });

  verifies('console.api-keys', 'what is refused is said at its field, and nothing that was typed is lost', async () => {
    const person = await world.asPerson('root', { expected: /400/ });
    const { page } = person;
    await person.open('keys');
    await openForm(person);
    await press(person, 'Create');
    const owner = form(person).getByLabel('Owner');
    expect(await owner.getAttribute('aria-invalid')).toBe('true');
    await owner.fill('bob smith');
    await form(person).getByLabel('Name').fill('n'.repeat(5_000));
    await form(person).getByLabel('Turns at once').fill('many');
    await press(person, 'Create');
    await form(person).getByText('This must be a number').waitFor();
    await form(person).getByLabel('Turns at once').fill('0');
    await press(person, 'Create');
    await form(person)
      .getByText(/owner must be 1 to 128/)
      .waitFor();
    await owner.fill('bob');
    await press(person, 'Create');
    await form(person)
      .getByText(/name must be shorter/)
      .waitFor();
    expect(await form(person).getByLabel('Name').inputValue()).toHaveLength(5_000);
    await form(person).getByLabel('Name').fill('desk');
    await press(person, 'Create');
    await form(person)
      .getByText(/turns must be a positive/)
      .waitFor();
    await form(person).getByLabel('Turns at once').fill('');
    for (const scope of ['chat', 'tools', 'files']) {
      await form(person).getByRole('checkbox', { name: scope }).uncheck();
    }
    await press(person, 'Create');
    await form(person).getByText('Choose at least one').waitFor();
    await person.expectAccessible();
    await press(person, 'Cancel');
    await page.getByRole('grid', { name: 'Keys' }).waitFor();
    expect((await world.api('root').operations.keys({ text: 'desk' })).data).toEqual([]);
    await person.leave();
  });

  verifies(
    'console.api-keys',
    'found by filters that are in the address; hostile names are shown, and do nothing',
    async () => {
      const person = await world.asPerson('root');
      const { page } = person;
      await person.open('keys?state=expiring');
      await rowOf(person, 'laptop').getByText('expires soon').waitFor();
      await rowOf(person, 'laptop').getByText('$0.00 of $5.00').waitFor();
      expect(await rowOf(person, 'root').count()).toBe(0);
      await page.getByLabel('State').selectOption('Any state');
      await page.getByLabel('Scope', { exact: true }).selectOption('admin');
      await rowOf(person, 'laptop').waitFor({ state: 'detached' });
      await rowOf(person, 'root').waitFor();
      expect(new URL(page.url()).searchParams.get('scope')).toBe('admin');
      await page.getByLabel('Scope', { exact: true }).selectOption('Any scope');
      await page.getByLabel(/^Search by name/).fill('onerror');
      await rowOf(person, 'safe⟨U+202E⟩txt.exe').waitFor();
      await rowOf(person, markup.replaceAll(' ', '_')).waitFor();
      expect(await page.locator('main img').count()).toBe(0);
      await page.getByLabel(/^Search by name/).fill('no such key');
      await page.getByText('No key matches').waitFor();
      await person.open('keys?id=key_none');
      await page.getByText('There is no such key').waitFor();
      person.errors.length = 0;
      await person.leave();
    },
  );

  verifies(
    'console.api-keys',
    'before the own key is revoked, or the last one of an administrator, it is said',
    async () => {
      const person = await world.asPerson('root');
      const { page } = person;
      const [own] = (await world.api('root').operations.keys({ owner: 'root' })).data;
      await person.open(`keys?id=${own!.id}`);
      await panel(person).getByRole('button', { name: 'Revoke' }).click();
      await page.getByText('You are signed in with this key').waitFor();
      await page.getByText('No other key has the scope admin').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
      await person.leave();
    },
  );

  verifies('console.keys', 'the palette finds a key by its owner and its name', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').or(page.getByRole('searchbox')).first().fill('laptop');
    await page.getByRole('option', { name: /^eve · laptop/ }).click();
    await page.getByRole('complementary', { name: 'eve · laptop' }).waitFor();
    await person.leave();
  });

  verifies('console.scopes', 'Keys is not shown to a key without the scope admin', async () => {
    const person = await world.asPerson('ada');
    await person.open('keys');
    await person.page.getByText('You may not see this').waitFor();
    expect(await person.page.getByRole('link', { name: 'Keys' }).count()).toBe(0);
    await person.leave();
  });

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `Keys, ${language}`, async () => {
      const [row] = (await world.api('root').operations.keys({ text: 'laptop' })).data;
      for (const { theme, width } of looks[language]) {
        const person = await world.asPerson('root', { language, theme, width });
        const check = async (name: string) => {
          await person.expectAccessible();
          await person.expectNoOverflow();
          await person.picture(`${name}-${language}-${theme}-${width}`);
        };
        await person.open('keys');
        await person.page.getByText('laptop').first().waitFor();
        await check('keys');
        await person.page.getByRole('button', { name: language === 'en' ? 'Create a key' : '创建密钥' }).click();
        await person.page.getByRole('dialog').waitFor();
        await check('keys-form');
        await person.open(`keys?id=${row!.id}`);
        await person.page.getByText(row!.id).last().waitFor();
        await check('keys-one');
        await person.leave();
      }
    });
  }
});

describe.skipIf(noChromium !== undefined)(`first key${noChromium === undefined ? '' : ` (${noChromium})`}`, () => {
  verifies('console.api-keys', 'on an open gateway it is shown before the sign-in comes, and signs in', async () => {
    const box = await startSignalboxHere({ workers: 0, scripted: false });
    const browser = await TestBrowser.open(box.url);
    try {
      const person = await browser.asPerson({ expected: /401/ });
      const { page } = person;
      await person.open('keys');
      await page.getByText('There is no key yet').waitFor();
      await openForm(person);
      await form(person).getByText('This is the first key of an open gateway').waitFor();
      await form(person).getByRole('checkbox', { name: 'admin' }).uncheck();
      await form(person).getByText('It lacks the scope admin').waitFor();
      await form(person).getByRole('checkbox', { name: 'admin' }).check();
      await form(person).getByLabel('Owner').fill('root');
      await press(person, 'Create');
      const key = (await shownKey(person).textContent())!;
      // Whoever pastes the key elsewhere and comes back still finds it.
      await person.comeBack();
      await eventually(async () => (await fetch(`${box.url}/v1/models`)).status === 401, 2_000);
      await page.getByText('From now on this page needs a key too.').waitFor();
      expect(await page.getByRole('dialog', { name: 'Sign in' }).count()).toBe(0);
      await press(person, 'Done');
      await page.getByRole('dialog', { name: 'Sign in' }).waitFor();
      await page.getByLabel('API key').fill(key);
      await press(person, 'Sign in');
      await page.getByText('Signed in as root').waitFor();
      await page.getByRole('grid', { name: 'Keys' }).getByText('root').waitFor();
      await openForm(person);
      await form(person).getByLabel('Owner').fill('bob');
      await form(person).getByRole('checkbox', { name: 'admin' }).check();
      await press(person, 'Create');
      await press(person, 'Done');
      // One's own key is rotated: the new one signs in.
      await page.getByRole('grid', { name: 'Keys' }).getByRole('row').filter({ hasText: 'root' }).click();
      await page.getByRole('complementary').getByRole('button', { name: 'Rotate' }).click();
      await page.getByLabel('The old key works for').selectOption('0');
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
      const next = (await shownKey(person).textContent())!;
      await press(person, 'Sign in with this key');
      await page.getByText('Signed in as root').waitFor();
      await eventually(async () => (await page.evaluate<string>("sessionStorage.getItem('signalbox.key')")) === next);
      await page.getByRole('grid', { name: 'Keys' }).getByText('expired').waitFor();
      await person.leave();
    } finally {
      await browser.close();
      await box.close();
    }
  });
});
