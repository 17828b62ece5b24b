// Apps of tool servers in the console: one that works with its host, and one that tries to get out of its frame.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, vi } from 'vitest';
import { type AppServer, startAppServer } from '../support/app-server.js';
import { goodPage, hostilePage } from '../support/browser/app-pages.js';
import { apiJson, ChatPerson, makeOwnerKey, plan } from '../support/browser/chat-person.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { patienceMs, type PersonOptions, TestBrowser } from '../support/browser/test-browser.js';
import { freePort } from '../support/services/free-port.js';
import { type Signalbox, startSignalbox } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

const suite = `apps in the console${noChromium === undefined ? '' : ` (${noChromium})`}`;

describe.skipIf(noChromium !== undefined)(suite, () => {
  let box: Signalbox;
  let browser: TestBrowser;
  let sales: AppServer;
  let evil: AppServer;
  let elsewhere: Server;
  let key: string;
  let away: string;
  const heard: string[] = [];

  beforeAll(async () => {
    elsewhere = createServer((request, response) => {
      heard.push(request.url!);
      response.end();
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    sales = await startAppServer('sales', goodPage);
    away = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    evil = await startAppServer('evil', hostilePage(away));
    const call = (name: string, given: object) => ({ toolCalls: [{ name, arguments: given as never }] });
    box = await startSignalbox({
      script: plan({
        'Show sales': (_request, round) => (round === 0 ? call('sales', { month: 'June' }) : { text: 'There.' }),
        'Show evil': (_request, round) => (round === 0 ? call('evil__sales', {}) : { text: 'There.' }),
      }),
      environment: {
        PORT: String(await freePort()),
        POLICY_DEFAULT: 'allow',
        MCP_SERVERS: JSON.stringify({
          workspace: { builtin: 'workspace' },
          shop: { url: sales.url },
          evil: { url: evil.url },
        }),
      },
    });
    key = await makeOwnerKey(box.url, 'ada');
    browser = await TestBrowser.open(box.url);
    await vi.waitFor(
      async () => expect(JSON.stringify(await apiJson(box.url, '/api/tools', key))).toContain('"evil__sales"'),
      { timeout: patienceMs, interval: 100 },
    );
  });
  afterAll(async () => {
    await browser?.close();
    await box?.close();
    await sales?.close();
    await evil?.close();
    elsewhere?.close();
  });

  /** The frame of the app, after the model has called the tool in a chat. */
  async function showApp(tool: string, message: string, options: PersonOptions = {}) {
    const me = new ChatPerson(await browser.asPerson({ key, ...options }));
    await me.open();
    await me.choose(tool);
    await me.say(message);
    await me.answer('There.').waitFor();
    const card = me.card(tool);
    await card.getByRole('button').first().click();
    await card.getByRole('button', { name: 'Show app' }).click();
    return { me, card, app: card.locator('iframe').contentFrame() };
  }

  verifies('console.apps', 'the call, a tool of its server, a link, the theme; also in the run', async () => {
    const { me, card, app } = await showApp('sales', 'Show sales');
    await app.getByText('Sales of June, 12, 1,2').waitFor();
    await app.getByText('Asked for June').waitFor();
    await app.getByText('It is light').waitFor();
    await vi.waitFor(async () => expect((await card.locator('iframe').boundingBox())!.height).toBe(321));
    await app.getByRole('button', { name: 'Refresh' }).click();
    await app.getByText('Refreshed 1, 1').waitFor();
    expect(JSON.stringify(await apiJson(box.url, '/api/audit?tool=shop/refresh', key))).toContain('"completed"');
    await app.getByRole('button', { name: 'Visit' }).click();
    await card.getByText('/health/live').waitFor();
    await me.person.expectAccessible();
    await me.person.picture('app-in-chat');
    await card.getByRole('button', { name: 'Do not open' }).click();
    await app.getByText('The person did not want this link').waitFor();
    await me.page.emulateMedia({ colorScheme: 'dark' });
    await app.getByText('It is dark').waitFor();
    await card.getByRole('button', { name: 'Hide app' }).click();
    await card.locator('iframe').waitFor({ state: 'detached' });
    const { data } = (await apiJson(box.url, '/api/runs', key)) as unknown as { data: { id: string }[] };
    await me.person.open(`runs/${data[0]!.id}`);
    await me.page.getByRole('row').filter({ hasText: /^Tool/ }).first().click();
    await me.page.getByRole('button', { name: 'Show app' }).click();
    await me.page.locator('iframe').contentFrame().getByText('Sales of June, 12, 1,2').waitFor();
    await me.person.picture('app-in-run');
    await me.person.leave();
  });

  verifies('console.apps-confined', 'parent, key, cookies, other servers, and every way out', async () => {
    // The browser says of each attempt that it was refused, and tells of requests that it does not send.
    const { me, card, app } = await showApp('evil__sales', 'Show evil', { expected: /./, origins: [away] });
    const told = app.locator('#told');
    await vi.waitFor(async () => expect(await told.textContent()).toContain('prototype'), { timeout: patienceMs });
    const results = JSON.parse((await told.textContent())!) as Record<string, string>;
    expect(Object.entries(results).filter(([, result]) => result !== 'refused')).toEqual([]);
    expect(Object.keys(results)).toHaveLength(15);
    await app.getByRole('button', { name: 'Leave' }).click();
    await card.getByRole('button', { name: 'Hide app' }).click();
    await card.locator('iframe').waitFor({ state: 'detached' });
    expect(heard).toEqual([]);
    expect(new URL(me.page.url()).pathname).toMatch(/^\/console\/chat/);
    await me.person.leave();
  });
});
