// Connections as people use them: the whole sign-in in the browser, secrets, more rights, two principals; and the pages of a sign-in.
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest';
import { Signalbox } from '../../clients/typescript/src/index.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person, type PersonOptions, TestBrowser } from '../support/browser/test-browser.js';
import { type ConnectedGateway, openConnectedGateway } from '../support/connected-gateway.js';
import { verifies } from '../verifies.js';

const suite = `connections${noChromium === undefined ? '' : ` (${noChromium})`}`;
const markup = '<img src=x onerror=alert(1)>';
const rightToLeft = 'safe\u202etxt.exe';

describe.skipIf(noChromium !== undefined)(suite, () => {
  let gateway: ConnectedGateway;
  let browser: TestBrowser;
  beforeAll(async () => {
    gateway = await openConnectedGateway({
      root: { scopes: ['admin', 'tools'] },
      ada: { scopes: ['tools'] },
      bob: { scopes: ['tools'] },
      far: { scopes: ['tools'], tools: { allow: ['elsewhere/*'] } },
      quiet: { scopes: ['chat'] },
    });
    gateway.issuer.user = 'ada';
    browser = await TestBrowser.open(gateway.box.url);
  });
  afterEach(() => {
    gateway.issuer.faults = {};
    gateway.issuer.user = 'ada';
  });
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  const asPerson = (owner: string, options: PersonOptions = {}) =>
    browser.asPerson({ key: gateway.keys[owner]!, origins: [gateway.issuer.url], ...options });
  const api = (owner: string) =>
    new Signalbox({ baseUrl: gateway.box.url, apiKey: gateway.keys[owner]!, maxRetries: 0 });
  const card = ({ page }: Person, server: string) => page.getByRole('article', { name: server });
  const press = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true }).click();
  const begin = async (owner: string) => (await api(owner).connections.begin('hub')).authorization_url;

  verifies('console.connections', 'signed in in another tab, shown by itself, and ended', async () => {
    const person = await asPerson('ada');
    await person.open('connections');
    await card(person, 'hub').getByText('not connected').waitFor();
    const opened = person.context.waitForEvent('page');
    await press(person, 'Connect to hub');
    // The browser that began it is asked nothing.
    const tab = person.in(await opened);
    await tab.page.getByRole('heading', { name: 'Connected to hub' }).waitFor();
    await tab.page.getByText('ada@example.com').waitFor();
    await tab.expectAccessible();
    expect(await tab.page.evaluate<boolean>('window.opener === null')).toBe(true);
    await card(person, 'hub').getByText('connected', { exact: true }).waitFor();
    await person.page.getByText('Connected to hub.').waitFor();
    await card(person, 'hub').getByText('ada@example.com').waitFor();
    expect(
      await card(person, 'hub')
        .getByText(/^Waiting for/)
        .count(),
    ).toBe(0);
    // The page that leads back has the key of its tab.
    await tab.page.getByRole('link', { name: 'Connections in the console' }).click();
    await card(tab, 'hub').getByText('ada@example.com').waitFor();
    await tab.page.close();

    const bob = await asPerson('bob');
    await bob.open('connections');
    await card(bob, 'hub').getByText('not connected').waitFor();
    await bob.leave();

    await press(person, 'Disconnect from hub');
    await person.page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    expect((await api('ada').connections.list()).find(({ server }) => server === 'hub')!.state).toBe('connected');
    await press(person, 'Disconnect from hub');
    await person.page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await person.page.getByText('Disconnected from hub.').waitFor();
    await card(person, 'hub').getByText('not connected').waitFor();
    expect(gateway.issuer.countOf('/revoke')).toBe(1);
    await person.leave();
  });

  verifies(
    'console.connections',
    'a refusal is said in the tab, and the page goes on waiting until it is told not to',
    async () => {
      gateway.issuer.faults = { refusal: 'access_denied' };
      const person = await asPerson('ada', { expected: /400/ });
      await person.open('connections');
      const opened = person.context.waitForEvent('page');
      await press(person, 'Connect to hub');
      const tab = await opened;
      await tab.getByRole('heading', { name: 'Not connected' }).waitFor();
      await tab.close();
      await card(person, 'hub').getByText('Waiting for the sign-in in the other tab.').waitFor();
      await press(person, 'Stop waiting');
      await card(person, 'hub')
        .getByText(/^Waiting for/)
        .waitFor({ state: 'detached' });
      await person.leave();
    },
  );

  verifies('console.connections', 'secrets are typed unseen, sent once, and shown nowhere', async () => {
    const secret = 'canary-of-a-person';
    const person = await asPerson('bob');
    const { page, context } = person;
    await person.open('connections');
    await press(person, 'Enter secrets for desk');
    await press(person, 'Save');
    await page.getByText('This needs a value').waitFor();
    const field = page.getByLabel(/^X-Key/);
    expect(await field.getAttribute('type')).toBe('password');
    await field.fill(secret);
    await press(person, 'Save');
    await card(person, 'desk').getByText('connected', { exact: true }).waitFor();
    const kept = await page.evaluate<string>(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href, history.state, document.body.innerHTML])',
    );
    expect(kept + JSON.stringify(await context.storageState({ indexedDB: true }))).not.toContain(secret);
    await press(person, 'Replace secrets for desk');
    expect(await field.inputValue()).toBe('');
    await field.fill('käse');
    await press(person, 'Save');
    await page.getByText(/needs a value of printable characters/).waitFor();
    await press(person, 'Cancel');
    person.errors.length = 0;
    await person.leave();
  });

  verifies('console.connections', 'more rights, an ended sign-in, and hostile names of an issuer', async () => {
    const person = await asPerson('root');
    await person.open('connections');
    gateway.issuer.user = `${markup}${rightToLeft}`;
    const opened = person.context.waitForEvent('page');
    await press(person, 'Connect to hub');
    const tab = await opened;
    await tab.getByText('safe⟨U+202E⟩txt.exe').waitFor();
    expect(await tab.locator('img').count()).toBe(0);
    await tab.close();
    await card(person, 'hub').getByText('safe⟨U+202E⟩txt.exe').waitFor();
    expect(await person.page.locator('main img').count()).toBe(0);
    const change = (what: string) => gateway.box.rows(`update connections set ${what} where principal = 'root'`);
    await change(`wanted_scopes = '{write}'`);
    await person.comeBack();
    await card(person, 'hub').getByText('The server asks for more rights: write.').waitFor();
    await change(`state = 'expired', sealed = null`);
    await person.comeBack();
    await card(person, 'hub').getByText('The issuer no longer accepts this sign-in.').waitFor();
    await change(`state = 'connected', sealed = 'broken.row'`);
    await person.comeBack();
    await card(person, 'hub').getByText('cannot be read').waitFor();
    await card(person, 'hub').getByRole('button', { name: 'Sign in again at hub' }).waitFor();
    await person.leave();
  });

  verifies(
    'console.scopes',
    'Connections is not shown to a key without the scope tools; no server is said',
    async () => {
      const quiet = await asPerson('quiet');
      await quiet.open('connections');
      await quiet.page.getByText('You may not see this').waitFor();
      expect(await quiet.page.getByRole('link', { name: 'Connections' }).count()).toBe(0);
      await quiet.leave();
      const far = await asPerson('far');
      await far.open('connections');
      await far.page.getByText('No tool server needs a sign-in of yours').waitFor();
      await far.expectAccessible();
      await far.picture('connections-empty');
      await far.leave();
    },
  );

  verifies(
    'connections.browser-bound',
    'in a browser: a link that somebody sent shows whom it connects, and takes a click',
    async () => {
      gateway.issuer.user = 'bob';
      const person = await asPerson('ada');
      const { page } = person;
      await page.goto(await begin('bob'));
      await page.getByRole('heading', { name: 'Connect to hub?' }).waitFor();
      await page.getByText('bob', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Continue to the sign-in' }).click();
      await page.getByRole('heading', { name: 'Connected to hub' }).waitFor();
      // Opened in one browser, completed in another.
      const opened = await fetch(await begin('bob'), {
        method: 'POST',
        headers: { 'sec-fetch-site': 'same-origin' },
        redirect: 'manual',
      });
      await page.goto((await gateway.issuer.signIn(opened.headers.get('location')!)).href);
      await page.getByText('This sign-in was opened in another browser.').waitFor();
      await page.getByRole('button', { name: 'Connect', exact: true }).click();
      await page.getByRole('heading', { name: 'Connected to hub' }).waitFor();
      expect(new URL(page.url()).search).toBe('');
      await person.leave();
    },
  );

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `connections and the pages of a sign-in, ${language}`, async () => {
      await api('bob').connections.giveHeaders('desk', { 'X-Key': 'secret' });
      for (const { theme, width } of looks[language]) {
        const person = await asPerson('bob', { language, theme, width, expected: /40[04]/ });
        const { page } = person;
        const check = async (name: string) => {
          await person.expectAccessible();
          await person.expectNoOverflow();
          await person.picture(`connections-${name}-${language}-${theme}-${width}`);
        };
        await person.open('connections');
        await page.getByRole('article').first().waitFor();
        await check('view');
        await page.getByRole('button', { name: language === 'en' ? /^Replace/ : /^替换/ }).click();
        await page.getByRole('dialog').waitFor();
        await check('secrets');
        await page.goto(await begin('bob'));
        await page.getByRole('button').waitFor();
        await check('open');
        await page.getByRole('button').click();
        await page.getByText('ada@example.com').waitFor();
        await check('done');
        await page.reload();
        await page.getByText('not_found').waitFor();
        await check('over');
        await person.leave();
      }
    });
  }
});
