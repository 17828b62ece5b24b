// Models as an operator uses it: providers, fallbacks and prices, and test prompts that work and that do not.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ConsoleWorld } from '../support/browser/console-world.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person } from '../support/browser/test-browser.js';
import { type ScriptedAnswer, type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.js';
import { verifies } from '../verifies.js';

const suite = `models${noChromium === undefined ? '' : ` (${noChromium})`}`;
const markup = '<script>alert(1)</script>';
const hostile = '<img src=x onerror=alert(1)> [here](javascript:alert(1)) \u202e evil';

describe.skipIf(noChromium !== undefined)(suite, () => {
  let upstream: ScriptedUpstream;
  let world: ConsoleWorld;
  let open: ConsoleWorld;

  beforeAll(async () => {
    upstream = await startScriptedUpstream(
      ({ body, headers }): ScriptedAnswer => {
        if (headers.authorization === undefined) return { status: 401, json: { error: { message: 'no key' } } };
        if (body['model'] === 'gone')
          return { status: 404, json: { error: { message: 'There is no model gone', code: 'model_not_found' } } };
        if (body['model'] === 'hostile') return { text: hostile };
        const usage = { prompt_tokens: 1_000, completion_tokens: 500, total_tokens: 1_500 };
        return { text: ['Good ', 'morning'], usage };
      },
      { models: ['listed', markup] },
    );
    const provider = { kind: 'openai', base_url: upstream.baseUrl, max_retries: 0 };
    const away = { ...provider, base_url: 'http://127.0.0.1:9/v1', models: ['m'], circuit: { failures: 3 } };
    world = await ConsoleWorld.open(
      {
        models: {
          default: 'up/m',
          providers: {
            up: { ...provider, api_key: '${TEST_MODELS_KEY}', models: ['m', 'gone', 'hostile', 'plain'] },
            listing: { ...provider, api_key: '${TEST_MODELS_KEY}' },
            keyless: { ...provider, models: ['m'] },
            away,
          },
          aliases: { best: ['away/m', 'up/m'], lost: 'up/nothing' },
          prices: { 'up/m': { input: 2, output: 10 } },
        },
      },
      { root: { scopes: ['admin', 'chat'] }, operator: { scopes: ['admin'] }, ada: { scopes: ['chat', 'tools'] } },
      { TEST_MODELS_KEY: 'sk-canary-of-the-page' },
    );
    open = await ConsoleWorld.open({}, { root: { scopes: ['admin', 'chat'] } });
  });
  afterAll(async () => {
    await world?.close();
    await open?.close();
    await upstream?.close();
  });

  const card = ({ page }: Person, name: string) => page.getByRole('article', { name, exact: true });
  const answer = ({ page }: Person) => page.getByRole('status', { name: 'Answer' });
  const send = ({ page }: Person) => page.getByRole('button', { name: 'Send', exact: true }).click();
  const report = () => world.api('root').operations.modelsHealth();

  verifies(
    'console.models',
    'a test prompt: first token, tokens, cost, and what the report says afterwards',
    async () => {
      const person = await world.asPerson('root');
      const { page } = person;
      await person.open('models');
      await card(person, 'up').getByRole('button', { name: 'Test up' }).click();
      await page.waitForURL(/model=up(?:%2F|\/)m/);
      await page.getByRole('textbox', { name: 'Message' }).fill('Are you there?');
      await send(person);
      await answer(person).getByText('It answered').waitFor();
      await answer(person).getByText('Good morning').waitFor();
      await answer(person).getByText('First token').waitFor();
      await answer(person).getByText('1,000 in, 500 out').waitFor();
      // 1,000 × 2 + 500 × 10 USD per million.
      await answer(person).getByText('$0.007', { exact: true }).waitFor();
      const { providers, models } = await report();
      expect(providers.find(({ name }) => name === 'up')!.last_hour).toMatchObject({ calls: 1, failed: 0 });
      expect(models.find(({ model }) => model === 'up/m')).toMatchObject({ requests: 1, cost_usd: 0.007 });
      const asked = upstream.requests.at(-1)!.body['messages'];
      expect(asked).toEqual([{ role: 'user', content: 'Are you there?' }]);
      // The row of the model has it at once.
      await page.getByRole('row').filter({ hasText: 'up/m' }).getByText('1,500').waitFor();
      await person.leave();
    },
  );

  verifies(
    'console.models',
    'a wrong key, an address where nothing is, a missing model: in words, with what to do',
    async () => {
      const person = await world.asPerson('root', { expected: /status of (?:404|502|503)/ });
      const { page } = person;
      const cases = [
        ['keyless/m', 'The provider wants a key, and none is set. Set models.providers.keyless.api_key'],
        ['away/m', 'Nothing usable answers at http://127.0.0.1:9. Start the server or check the network'],
        ['up/gone', 'The provider has no such model'],
      ] as const;
      for (const [model, advice] of cases) {
        await person.open(`models?model=${model}`);
        await send(person);
        await answer(person).getByText('It did not answer').waitFor();
        await answer(person).getByText(advice).waitFor();
      }
      await card(person, 'keyless').getByText('requires a key (401)').first().waitFor();
      await card(person, 'up').getByText('model_not_found 404').waitFor();
      await page.getByRole('button', { name: 'Close' }).click();
      await page.waitForURL((url) => !url.search.includes('model='));
      await person.leave();
    },
  );

  verifies('console.models', 'aliases in order, fallbacks that were taken, and a provider that is paused', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('models');
    const alias = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'best', exact: true }) });
    await alias.getByText('Fallbacks taken: none').waitFor();
    await alias.getByRole('button', { name: 'Test best' }).click();
    for (const count of [1, 2, 3]) {
      await send(person);
      await alias.getByText(`${count} × from away/m to up/m`).waitFor();
    }
    await card(person, 'away').getByText('paused', { exact: true }).waitFor();
    expect(
      await alias.getByRole('list', { name: 'Tried in this order' }).getByRole('listitem').allInnerTexts(),
    ).toEqual(['away/m', 'up/m']);
    await page.getByText("models.aliases.lost: 'up/nothing'").waitFor();
    expect((await report()).aliases[0]!.fallbacks).toMatchObject([{ from: 'away/m', to: 'up/m', count: 3 }]);
    await person.leave();
  });

  verifies('console.models', 'prices, also unknown ones, by name; hostile names and answers are text', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('models?text=up/');
    const row = (name: string) => page.getByRole('row').filter({ hasText: name });
    await row('up/m').getByText('$2.00 in, $10.00 out').waitFor();
    await row('up/plain').getByText('unknown').waitFor();
    expect(await row('offline').count()).toBe(0);
    await page.getByLabel('Filter by name').fill('listing');
    await row(markup).waitFor();
    await page.waitForURL(/text=listing/);
    await person.open('models?model=up/hostile');
    await send(person);
    await answer(person).getByText('<img src=x onerror=alert(1)>').waitFor();
    expect(await answer(person).locator('img, a').count()).toBe(0);
    expect(await page.content()).not.toContain('sk-canary-of-the-page');
    await person.leave();
  });

  verifies('console.models', 'by keyboard, and for a key without chat', async () => {
    const person = await world.asPerson('operator');
    const { page } = person;
    await person.open('models?text=up/m');
    await page.getByRole('row').filter({ hasText: 'up/m' }).focus();
    await page.keyboard.press('Enter');
    await page.waitForURL(/model=up(?:%2F|\/)m/);
    await page.getByText('This key lacks the scope chat').waitFor();
    await page.getByRole('button', { name: 'Close' }).focus();
    await page.keyboard.press('Escape');
    await page.waitForURL((url) => !url.search.includes('model='));
    await person.leave();
    const other = await world.asPerson('ada');
    await other.open('models');
    await other.page.getByText('admin').first().waitFor();
    expect(await other.page.getByRole('article').count()).toBe(0);
    await other.leave();
  });

  verifies('console.models', 'a gateway with the offline model alone says how to add a real one', async () => {
    const person = await open.asPerson('root');
    const { page } = person;
    await person.open('models');
    await page.getByRole('heading', { name: 'Only the offline model answers' }).waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByRole('button', { name: 'Copy' }).first().click();
    await page.getByRole('button', { name: 'Copied' }).waitFor();
    expect(await page.evaluate<string>('navigator.clipboard.readText()')).toContain('OPENAI_API_KEY=');
    await card(person, 'offline').getByRole('button', { name: 'Test offline' }).click();
    await send(person);
    await answer(person).getByText('It answered').waitFor();
    await person.leave();
  });

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `models, ${language}`, async () => {
      for (const { theme, width } of looks[language]) {
        const person = await world.asPerson('root', { language, theme, width });
        for (const [name, path] of [
          ['models', 'models'],
          ['test', 'models?model=up/m'],
        ] as const) {
          await person.open(path);
          await person.page.getByRole('article', { name: 'up', exact: true }).waitFor({ state: 'attached' });
          await person.expectAccessible();
          await person.expectNoOverflow();
          await person.picture(`${name}-${language}-${theme}-${width}`);
        }
        await person.leave();
      }
    });
  }
});
