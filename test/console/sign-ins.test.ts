// Calls that wait for a sign-in, as people meet them in the console: the whole sign-in in the browser, with a real worker.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type Approval, Signalbox } from '../../clients/typescript/src/index.js';
import { ChatPerson } from '../support/browser/chat-person.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person, type PersonOptions, TestBrowser } from '../support/browser/test-browser.js';
import { type ConnectedGateway, openConnectedGateway } from '../support/connected-gateway.js';
import { eventually } from '../support/eventually.js';
import { messagesOf, rounds } from '../support/scripts.js';
import { verifies } from '../verifies.js';

const suite = `sign-ins of calls${noChromium === undefined ? '' : ` (${noChromium})`}`;
const hostileOwner = '<img src=x onerror=alert(1)>\u202etxt';
const shownOwner = '<img src=x onerror=alert(1)>⟨U+202E⟩txt';

describe.skipIf(noChromium !== undefined)(suite, () => {
  let gateway: ConnectedGateway;
  let browser: TestBrowser;
  beforeAll(async () => {
    const user = { scopes: ['chat', 'tools', 'files'] };
    gateway = await openConnectedGateway(
      {
        root: { scopes: ['admin', 'chat', 'tools', 'files'] },
        ada: user,
        bob: user,
        boss: { scopes: ['chat'], roles: ['approver'] },
      },
      {},
      {
        issuer: { listsOpenly: true },
        servers: ['hub'],
        box: {
          workers: 1,
          scripted: true,
          script: rounds({ toolCalls: [{ name: 'whoami', arguments: {} }] }, (request) => ({
            text: `The hub says: ${messagesOf(request).at(-1)!['content'] as string}`,
          })),
        },
      },
    );
    browser = await TestBrowser.open(gateway.box.url);
    await eventually(async () => JSON.stringify(await api('ada').tools.list()).includes('whoami'), 30_000);
  }, 90_000);
  afterAll(async () => {
    await browser?.close();
    await gateway?.close();
  });

  const asPerson = (owner: string, options: PersonOptions = {}) =>
    browser.asPerson({ key: gateway.keys[owner]!, origins: [gateway.issuer.url, gateway.box.url], ...options });
  const api = (owner: string) =>
    new Signalbox({ baseUrl: gateway.box.url, apiKey: gateway.keys[owner]!, maxRetries: 0 });
  /** A call that waits. */
  const park = async (owner: string): Promise<string> => {
    const answer = await api(owner).tools.call({ name: 'whoami', arguments: {}, session_id: 'desk' });
    if (!('sign_in' in answer)) throw new Error('the call did not wait');
    return answer.sign_in.id;
  };
  const waitOf = (id: string): Promise<Approval> => api('root').approvals.get(id);
  /** What somebody does in the other tab. */
  const signIn = async (person: Person, user: string, open: () => Promise<unknown>): Promise<void> => {
    gateway.issuer.user = user;
    const opened = person.context.waitForEvent('page');
    await open();
    const tab = await opened;
    await tab.getByRole('button', { name: 'Continue to the sign-in' }).click();
    await tab.getByRole('heading', { name: 'Connected to hub' }).waitFor();
    expect(await tab.evaluate<boolean>('window.opener === null')).toBe(true);
    await tab.close();
  };
  const disconnect = (owner: string) => api(owner).connections.end('hub');
  const cards = ({ page }: Person) => page.getByRole('main').getByRole('article');
  const link = 'Sign in at hub, in a new tab';
  const askInChat = async (me: ChatPerson) => {
    await me.open();
    await me.choose('whoami');
    await me.say('Who am I?');
    await me.card('whoami').getByRole('link', { name: link }).waitFor();
  };

  verifies('console.sign-ins', 'Chat, after a reload, and the run of it', async () => {
    const me = new ChatPerson(await asPerson('ada'));
    const { page, person } = me;
    await askInChat(me);
    const card = me.card('whoami');
    await card.getByRole('heading', { name: 'hub needs your sign-in' }).waitFor();
    expect(await card.getByRole('timer').textContent()).toMatch(/\d+m \d+s left/);
    const [wait] = (await api('ada').approvals.list({ state: 'waiting' })).data;
    expect(await card.getByRole('link').getAttribute('href')).toBe(wait!.authorization_url);
    await page.reload();
    const signInLink = card.getByRole('link', { name: link });
    await signInLink.waitFor();

    const other = await person.context.newPage();
    const inRun = person.in(other);
    await inRun.open(`runs/${wait!.run_id}`);
    const row = other.getByRole('row').filter({ hasText: 'Sign-in at hub' });
    await row.getByText('waiting', { exact: true }).waitFor();
    await row.click();
    const panel = other.getByRole('region', { name: 'Sign-in at hub' });
    await panel.getByText('ada', { exact: true }).waitFor();
    await other.getByText('waits until its caller has signed in').waitFor();

    await signIn(person, 'ada', () => signInLink.press('Enter'));
    await me.answer('The hub says: ada').waitFor();
    expect(await waitOf(wait!.id)).toMatchObject({ state: 'approved', decided_by: 'ada' });
    await row.getByText('signed in', { exact: true }).waitFor();
    await panel.getByText('Waited for a person').waitFor();
    await inRun.expectAccessible();
    await other.close();
    await person.leave();
    await disconnect('ada');
  });

  verifies(
    'console.sign-ins',
    'Chat at localhost, where the public address is 127.0.0.1; denied in its card',
    async () => {
      const elsewhere = await TestBrowser.open(gateway.box.url.replace('127.0.0.1', 'localhost'));
      try {
        const options = { key: gateway.keys['bob']!, origins: [gateway.issuer.url, gateway.box.url] };
        const me = new ChatPerson(await elsewhere.asPerson(options));
        await askInChat(me);
        await signIn(me.person, 'bob', () => me.card('whoami').getByRole('link', { name: link }).click());
        await me.answer('The hub says: bob').waitFor();
        await disconnect('bob');
        await askInChat(me);
        const deny = me.card('whoami').getByRole('button', { name: 'Deny', exact: true });
        await deny.click();
        await me.page.getByRole('textbox', { name: 'Reason' }).fill('Not with my account');
        await deny.click();
        await me.answer('Not with my account').waitFor();
        await me.card('whoami').getByText('failed', { exact: true }).waitFor();
      } finally {
        await elsewhere.close();
      }
    },
  );

  verifies('console.sign-ins', 'a read of a resource, in Tools and in a chat, leads to Connections', async () => {
    for (const language of ['en', 'zh'] as const) {
      const person = await asPerson('ada', { language, width: 390, expected: /422/ });
      const { page } = person;
      const wayOut = page.getByRole('link', {
        name: language === 'en' ? 'Sign in under Connections' : '到“连接”中登录',
      });
      await person.open('tools?tab=resources&resource=doc%3A%2F%2Fcard');
      const reader = page.getByRole('region', { name: language === 'en' ? 'Read it' : '读取此资源' });
      await reader.getByRole('button').first().click();
      await wayOut.waitFor();
      await person.expectAccessible();
      await person.expectNoOverflow();
      await page.getByRole('link', { name: language === 'en' ? 'Use in chat' : '在对话中使用' }).click();
      await page.locator('textarea').last().fill('?');
      await page.getByRole('button', { name: language === 'en' ? 'Send' : '发送', exact: true }).click();
      await page.getByText('connection_needed').waitFor();
      await wayOut.click();
      await page.waitForURL(/connections/);
      gateway.issuer.user = 'ada';
      const opened = person.context.waitForEvent('page');
      await page.getByRole('article', { name: 'hub' }).getByRole('button').click();
      await (await opened).getByText('ada@example.com').waitFor();
      await page.goBack();
      await page.getByRole('button', { name: language === 'en' ? 'Try again' : '重试' }).click();
      await page.getByText('connection_needed').waitFor({ state: 'detached' });
      await eventually(async () => gateway.issuer.calls.some(({ tool }) => tool === 'card'), 30_000);
      gateway.issuer.calls.length = 0;
      await person.leave();
      await disconnect('ada');
    }
  });

  verifies('console.sign-ins', 'Approvals: one’s own by a key; of somebody else, only who and Deny', async () => {
    const own = await park('ada');
    const ada = await asPerson('ada');
    await ada.open('approvals');
    const card = cards(ada).filter({ hasText: 'Sign-in at hub' });
    await card.getByText('goes on by itself after the sign-in').waitFor();
    expect(await card.getByRole('button', { name: /Approve|Edit/ }).count()).toBe(0);
    await card.getByRole('link', { name: link }).waitFor();
    await ada.page.keyboard.press('j');
    await signIn(ada, 'ada', () => ada.page.keyboard.press('a'));
    await cards(ada).getByText('Signed in by you').waitFor();
    expect(await cards(ada).getByText('was faster').count()).toBe(0);
    await ada.page.getByRole('tab', { name: 'Decided' }).click();
    await ada.page.getByRole('row').filter({ hasText: 'whoami' }).getByText('signed in').first().waitFor();
    expect(await waitOf(own)).toMatchObject({ state: 'approved' });
    await ada.leave();
    await disconnect('ada');

    const foreign = await park('bob');
    await gateway.box.rows(`update approvals set principal = '${hostileOwner}' where id = '${foreign}'`);
    const boss = await asPerson('boss');
    const answer = boss.page.waitForResponse((response) => response.url().includes('/api/approvals'));
    await boss.open(`approvals/${foreign}`);
    const told = await (await answer).text();
    expect(told).toContain(foreign);
    expect(told).not.toContain('/connections/open/');
    const shown = cards(boss);
    await shown.getByText(`Only ${shownOwner} can sign in`).waitFor();
    expect(await shown.getByRole('link', { name: link }).count()).toBe(0);
    expect(await shown.locator('img').count()).toBe(0);
    expect(await boss.page.content()).not.toContain('/connections/open/');
    await boss.expectAccessible();
    await boss.picture('sign-ins-others');
    await shown.getByRole('button', { name: 'Deny', exact: true }).click();
    await shown.getByRole('button', { name: 'Deny', exact: true }).click();
    await shown.getByText('Denied by you').waitFor();
    expect(await waitOf(foreign)).toMatchObject({ state: 'denied', decided_by: 'boss' });
    await boss.leave();
  });

  verifies('console.sign-ins', 'Home counts them and leads there; a call by hand goes on', async () => {
    const person = await asPerson('bob');
    const { page } = person;
    await person.open('tools?tool=whoami');
    await page.getByRole('button', { name: 'Call', exact: true }).click();
    const status = page.getByRole('status').filter({ hasText: 'hub needs your sign-in' });
    await status.waitFor();
    const home = person.in(await person.context.newPage());
    await home.open();
    await home.page.getByRole('link', { name: '1 sign-in at a tool server' }).click();
    await cards(home).getByRole('link', { name: link }).waitFor();
    await cards(home).getByText('goes on by itself after the sign-in').waitFor();
    await gateway.ask('bob', 'POST', '/api/resources/read', { uri: 'doc://card' });
    await cards(home).getByText('goes on if its sender still waits for it').waitFor();
    await home.page.close();
    await signIn(person, 'bob', () => status.getByRole('link', { name: link }).click());
    await page.getByRole('status', { name: 'Result' }).getByText('bob').waitFor();
    await person.leave();
    await disconnect('bob');
  });

  for (const language of ['en', 'zh'] as const) {
    verifies(
      'console.accessible',
      `waiting sign-ins, ${language}`,
      async () => {
        const name = language === 'en' ? link : '在新标签页中登录 hub';
        await park('ada');
        const { run_id: run } = await runOfAda();
        for (const { theme, width } of looks[language]) {
          const person = await asPerson('ada', { language, theme, width });
          const check = async (who: Person, what: string) => {
            await who.expectAccessible();
            await who.expectNoOverflow();
            await who.picture(`sign-ins-${what}-${language}-${theme}-${width}`);
          };
          await person.open('approvals');
          const first = cards(person).first().getByRole('link', { name });
          await first.waitFor();
          expect((await first.boundingBox())!.height).toBeGreaterThanOrEqual(width === 390 ? 36 : 30);
          await check(person, 'approvals');
          await person.open(`runs/${run}`);
          await person.page
            .getByRole('row')
            .filter({ hasText: /Sign-in at hub|登录 hub/ })
            .click();
          await person.page.getByRole('region', { name: /Sign-in at hub|登录 hub/ }).waitFor();
          await check(person, 'run');
          await chatOf(person, language);
          await person.page.getByRole('link', { name }).waitFor();
          await check(person, 'chat');
          await person.leave();
        }
        for (const { id: each } of (await api('ada').approvals.list({ state: 'waiting' })).data) {
          await api('ada').approvals.decide(each, { decision: 'deny' });
        }
      },
      180_000,
    );
  }

  /** A run that waits for a sign-in. */
  async function runOfAda(): Promise<Approval> {
    const messages = [{ role: 'user' as const, content: 'Who am I?' }];
    const tools = [{ type: 'mcp' as const, server_label: 'hub' }];
    const stream = api('ada').stream({ messages, tools, on_disconnect: 'detach' });
    for await (const event of stream) if (event.type === 'sign_in_required') return waitOf(event.sign_in.id);
    throw new Error('the turn did not wait');
  }

  async function chatOf(person: Person, language: 'en' | 'zh'): Promise<void> {
    const words = language === 'en' ? ['Tools', 'Done', 'Message'] : ['工具', '完成', '消息'];
    await person.open('chat');
    await person.page.getByRole('button', { name: words[0]!, exact: true }).click();
    await person.page.getByRole('checkbox', { name: 'whoami', exact: true }).check();
    await person.page.getByRole('button', { name: words[1]!, exact: true }).click();
    const message = person.page.getByRole('textbox', { name: words[2]! });
    await message.fill('Who am I?');
    await message.press('Enter');
  }
});
