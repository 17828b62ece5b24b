// The frame of the console as a person uses it: sign-in, scopes, language, theme, keys, and a gateway that goes and comes back.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { eventually } from '../support/eventually.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, patienceMs, type Person, TestBrowser } from '../support/browser/test-browser.js';
import { freePort } from '../support/services/free-port.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const suite = `the frame of the console${noChromium === undefined ? '' : ` (${noChromium})`}`;

describe.skipIf(noChromium !== undefined)(suite, () => {
  let box: Signalbox;
  let browser: TestBrowser;
  let admin: string;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    box = await startSignalbox({ workers: 0, environment: { PORT: String(await freePort()) } });
    browser = await TestBrowser.open(box.url);
  });
  afterAll(async () => {
    await browser?.close();
    await box?.close();
  });

  const dialog = ({ page }: Person) => page.getByRole('dialog', { name: 'Sign in' });
  const signIn = async (person: Person, key: string) => {
    await dialog(person).getByLabel('API key').fill(key);
    await dialog(person).getByRole('button', { name: 'Sign in' }).click();
  };
  async function api<Answer>(
    method: string,
    path: string,
    { body, key }: { body?: object; key?: string } = {},
  ): Promise<Answer> {
    const answer = await fetch(box.url + path, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(answer.ok).toBe(true);
    return (await answer.json()) as Answer;
  }
  async function makeKey(owner: string, scopes: string[], key?: string): Promise<string> {
    const made = await api<{ id: string; key: string }>('POST', '/api/keys', {
      body: { owner, name: scopes.join(' '), scopes },
      ...(key === undefined ? {} : { key }),
    });
    ids.set(made.key, made.id);
    return made.key;
  }
  /** Takes effect on every gateway within a second: this one says when. */
  async function revoke(key: string): Promise<void> {
    await api('DELETE', `/api/keys/${ids.get(key)!}`, { key: admin });
    await eventually(async () => {
      const answer = await fetch(`${box.url}/api/me`, { headers: { authorization: `Bearer ${key}` } });
      return answer.status === 401;
    });
  }
  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `Home and Models, ${language}`, async () => {
      for (const { theme, width } of looks[language]) {
        const person = await browser.asPerson({ language, theme, width });
        for (const view of ['', 'models']) {
          await person.open(view);
          await person.expectAccessible();
          await person.expectNoOverflow();
          await person.picture(`${view === '' ? 'home' : view}-${language}-${theme}-${width}`);
        }
        await person.leave();
      }
    });
  }

  verifies('console.accessible', 'the palette, the list of keys, the navigation of a phone', async () => {
    const person = await browser.asPerson({ theme: 'dark', width: 390 });
    const { page } = person;
    await person.open();
    for (const key of ['Control+k', '?']) {
      await page.keyboard.press(key);
      await page.getByRole('dialog').waitFor();
      await person.expectAccessible();
      await page.keyboard.press('Escape');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    }
    await page.getByRole('button', { name: 'Open the navigation' }).click();
    await page.getByRole('dialog', { name: 'Navigation' }).waitFor();
    await person.expectAccessible();
    await person.expectNoOverflow();
    await page.getByRole('link', { name: 'Models' }).click();
    await page.getByRole('heading', { name: 'Models', level: 1 }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await person.leave();
  });

  verifies('console.languages', 'first that of the browser, then the chosen one, also after a reload', async () => {
    const person = await browser.asPerson({ language: 'zh' });
    const { page } = person;
    await person.open();
    await page.getByRole('heading', { name: '首页', level: 1 }).waitFor();
    await page.getByLabel('语言').selectOption('en');
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    expect(await page.evaluate('document.documentElement.lang')).toBe('en-US');
    await person.leave();
  });

  verifies('console.theme', 'as the system, then as chosen, also after a reload', async () => {
    const person = await browser.asPerson({ theme: 'dark' });
    const { page } = person;
    const background = () => page.evaluate<string>('getComputedStyle(document.documentElement).backgroundColor');
    await person.open();
    const dark = await background();
    await page.getByLabel('Theme').selectOption('light');
    const light = await background();
    expect(light).not.toBe(dark);
    await page.reload();
    await page.getByRole('main').waitFor();
    expect(await background()).toBe(light);
    await page.getByLabel('Theme').selectOption('system');
    expect(await background()).toBe(dark);
    await person.leave();
  });

  verifies('console.keys', 'the list of keys, a jump by the palette, the way to the content', async () => {
    const person = await browser.asPerson();
    const { page } = person;
    await person.open('nowhere');
    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keys of this page' });
    await keys.getByText('Ctrl K').waitFor();
    await page.keyboard.press('Escape');
    await keys.waitFor({ state: 'detached' });
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog', { name: 'Jump to' }).waitFor();
    await page.keyboard.type('hom');
    await page.getByRole('option', { name: 'Home' }).waitFor();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Home', level: 1 }).waitFor();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Skip to the content' }).focus();
    await page.keyboard.press('Enter');
    expect(await page.evaluate('document.activeElement.tagName')).toBe('MAIN');
    await person.leave();
  });

  verifies('console.away', 'a gateway that is killed and started again', async () => {
    const person = await browser.asPerson({
      expected: /ERR_CONNECTION_REFUSED|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET/,
    });
    const { page } = person;
    await person.open();
    // Parts of the view are loaded after it.
    await page.waitForLoadState('networkidle');
    const gateway = box.gateways[0]!;
    gateway.kill('SIGKILL');
    await gateway.ended;
    await person.comeBack();
    const status = page.getByRole('status').filter({ hasText: 'The gateway does not answer' });
    await status.waitFor();
    expect(await status.count()).toBe(1);
    const asked = page.waitForResponse((answer) => answer.url().endsWith('/api/me') && answer.ok(), {
      // The gateway starts meanwhile.
      timeout: 3 * patienceMs,
    });
    await box.startGateway();
    await status.waitFor({ state: 'detached' });
    await asked;
    await person.leave();
  });

  verifies(
    'console.policy',
    'neither a script nor a style that somebody writes into the page runs, nor may it be framed',
    async () => {
      const person = await browser.asPerson({ expected: /Content Security Policy|frame|ERR_BLOCKED_BY_RESPONSE/i });
      const { page } = person;
      await person.open();
      const ran = await page.evaluate(`{
      const script = document.createElement('script');
      script.textContent = 'window.ran = true';
      const style = document.createElement('style');
      style.textContent = 'body { display: none }';
      document.head.append(script, style);
      ['ran' in window, getComputedStyle(document.body).display];
    }`);
      expect(ran).toEqual([false, 'block']);
      const framed = await page.evaluate(`{
      const frame = document.createElement('iframe');
      frame.src = location.href;
      document.body.append(frame);
      new Promise((resolve) => frame.addEventListener('load', resolve))
        .then(() => frame.contentDocument?.querySelector('#root') ?? null);
    }`);
      expect(framed).toBeNull();
      await person.leave();
    },
  );

  verifies(
    'console.sign-in',
    'none on an open gateway; the first key made there brings it, until a right one is given',
    async () => {
      const person = await browser.asPerson({ expected: /status of 401/ });
      const { page } = person;
      await person.open();
      await page.getByText('Open gateway').waitFor();
      admin = await makeKey('ann', ['admin', 'chat', 'tools', 'files']);
      await person.comeBack();
      await dialog(person).waitFor();
      await person.expectAccessible();
      await person.picture('sign-in');
      const width = 390;
      await page.setViewportSize({ width, height: 700 });
      const { x, width: taken } = (await dialog(person).boundingBox())!;
      expect([x >= 0, x + taken <= width]).toEqual([true, true]);
      await page.setViewportSize({ width: 1_280, height: 900 });
      await signIn(person, 'sb_wrong');
      await dialog(person).getByText('The gateway did not accept this key.').waitFor();
      await signIn(person, admin);
      await dialog(person).waitFor({ state: 'detached' });
      await page.getByText('Signed in as ann').waitFor();
      await page.reload();
      await page.getByText('Signed in as ann').waitFor();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await dialog(person).waitFor();
      await person.leave();
    },
  );

  verifies('console.keeps-typed', 'with the key revoked, in a filter', async () => {
    const key = await makeKey('ann', ['admin', 'chat'], admin);
    const person = await browser.asPerson({ key, expected: /status of 401/ });
    const { page } = person;
    await person.open('models');
    const filter = page.getByRole('searchbox', { name: 'Filter by name' });
    await filter.fill('no such model');
    await page.getByText('No model has this name').waitFor();
    await revoke(key);
    await person.comeBack();
    await dialog(person).waitFor();
    await signIn(person, admin);
    await dialog(person).waitFor({ state: 'detached' });
    expect(await filter.inputValue()).toBe('no such model');
    await person.leave();
  });

  verifies('console.scopes', 'views of administrators, for a key that is of none', async () => {
    const person = await browser.asPerson({ key: admin });
    await person.open();
    await person.page.getByRole('link', { name: 'Models' }).waitFor();
    await person.leave();
    const other = await browser.asPerson({ key: await makeKey('ben', ['chat'], admin) });
    const { page } = other;
    await other.open('models');
    await page.getByRole('heading', { name: 'You may not see this' }).waitFor();
    await page.getByText('“admin”').waitFor();
    await page.getByText('Signed in as ben').waitFor();
    expect(await page.getByRole('link', { name: 'Models' }).count()).toBe(0);
    await other.expectAccessible();
    await page.getByRole('button', { name: 'Sign in with another key' }).click();
    await signIn(other, admin);
    await page.getByRole('heading', { name: 'Providers' }).waitFor();
    await page.getByText('Signed in as ann').waitFor();
    await other.leave();
  });
});
