// Usage as an administrator and as somebody else use it: figures against SQL, periods, groups, links, CSV, budgets.
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { ConsoleWorld } from '../support/browser/console-world.js';
import { noChromium } from '../support/browser/find-chromium.js';
import { looks, type Person } from '../support/browser/test-browser.js';
import { verifies } from '../verifies.js';

const suite = `Usage${noChromium === undefined ? '' : ` (${noChromium})`}`;
const markup = '<img/src=x/onerror=alert(1)>';
const formula = '=HYPERLINK("http://x")\u202e';
const dayMs = 86_400_000;
const daysAgo = (days: number) => new Date(Date.now() - days * dayMs).toISOString().slice(0, 10);

describe.skipIf(noChromium !== undefined)(suite, () => {
  let world: ConsoleWorld;
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    world = await ConsoleWorld.open(
      { mcpServers: { workspace: { builtin: 'workspace' } } },
      { root: { scopes: ['admin', 'chat'] }, ada: { scopes: ['chat'] } },
    );
    for (const { id, owner } of (await world.api('root').operations.keys()).data) ids[owner] = id;
    for (const [owner, members] of [
      ['eve', { name: formula, budgets: { day_usd: 2, month_usd: 1_000_000 } }],
      ['max', { budgets: { month_usd: 0.5 } }],
    ] as const) {
      ids[owner] = (await world.api('root').operations.createKey({ owner, scopes: ['chat'], ...members })).id;
    }
    await use('eve', 0, { model: 'openai/gpt-4.1', requests: 3, tokens: 1_200, usd: 1.25 });
    await use('eve', 5, { model: 'openai/gpt-4.1', requests: 1, tokens: 800, usd: 0.5 });
    await use('eve', 0, { model: 'ollama/qwen', requests: 2, tokens: 5_000, usd: 0, unpriced: 5_000 });
    await use('max', 0, { model: markup, requests: 1, tokens: 10, usd: 0.75 });
    await use('ada', 1, { model: 'openai/gpt-4.1', requests: 4, tokens: 400, usd: 0.1 });
    await use('ada', 1, { tool: 'workspace/read_file', calls: 6, requests: 2 });
    await use('ada', 60, { model: 'openai/gpt-4.1', requests: 9, tokens: 90, usd: 9 });
  });
  afterAll(() => world?.close());

  interface Used {
    model?: string;
    tool?: string;
    requests: number;
    calls?: number;
    tokens?: number;
    usd?: number;
    unpriced?: number;
  }

  async function use(owner: string, days: number, used: Used): Promise<void> {
    const { model = '', tool = '', requests, calls = 0, tokens = 0, usd = 0, unpriced = 0 } = used;
    await world.box.rows(
      `insert into usage_days (day, key_id, principal, model, tool, shard, requests, calls, prompt_tokens, completion_tokens,
         cost_nano_usd, unpriced_tokens) values ($1, $2, $3, $4, $5, 0, $6, $7, $8, $9, $10, $11)`,
      [daysAgo(days), ids[owner], owner, model, tool, requests, calls, tokens, 0, usd * 1e9, unpriced],
    );
  }
  async function stored(days: number): Promise<{ requests: string; tokens: string; calls: string }> {
    const [row] = await world.box.rows<{ requests: number; tokens: number; calls: number }>(
      `select sum(requests)::float8 as requests, sum(prompt_tokens + completion_tokens)::float8 as tokens,
         sum(calls)::float8 as calls from usage_days where day > (now() at time zone 'UTC')::date - $1::int`,
      [days],
    );
    const shown = (value: number) => value.toLocaleString('en-US');
    return { requests: shown(row!.requests), tokens: shown(row!.tokens), calls: shown(row!.calls) };
  }
  const figure = ({ page }: Person, name: string) =>
    page.getByRole('article').filter({ hasText: name }).getByRole('link').first().textContent();
  const table = ({ page }: Person, group: string) => page.getByRole('table', { name: `Usage by ${group}` });
  const rowOf = (person: Person, group: string, text: string) =>
    table(person, group).getByRole('row').filter({ hasText: text });
  const budgetOf = ({ page }: Person, text: string) =>
    page.getByRole('table', { name: 'Budgets' }).getByRole('row').filter({ hasText: text });

  verifies('console.usage', 'figures as SQL has them, by period, group and filter, each with its rows', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('usage');
    await rowOf(person, 'Model', 'openai/gpt-4.1').waitFor();
    const month = await stored(30);
    expect([
      await figure(person, 'Requests'),
      await figure(person, 'Input tokens'),
      await figure(person, 'Tool calls'),
    ]).toEqual([month.requests, month.tokens, month.calls]);
    const plot = page.getByRole('figure', { name: 'Requests' });
    await plot.getByText('As a table').click();
    expect(await plot.getByRole('row').count()).toBe(1 + 30);
    expect(await plot.getByRole('row').last().getByRole('cell').textContent()).toBe('6');
    await page.getByRole('button', { name: '90 days' }).click();
    await page.waitForURL(new RegExp(`since=${daysAgo(89)}`));
    const { requests } = await stored(90);
    await page.getByRole('article').filter({ hasText: 'Requests' }).getByRole('link', { name: requests }).waitFor();
    await page.getByLabel('From').fill(daysAgo(5));
    await page.getByLabel('To', { exact: true }).fill(daysAgo(1));
    await page.waitForURL(new RegExp(`until=${daysAgo(0)}`));
    await page
      .getByRole('article')
      .filter({ hasText: 'Requests' })
      .getByRole('link', { name: '7', exact: true })
      .waitFor();
    await page.getByLabel('Group by').selectOption('tool');
    const calls = rowOf(person, 'Tool', 'workspace/read_file').getByRole('link', { name: /^6, Runs/ });
    const search = new URL((await calls.getAttribute('href'))!, page.url()).searchParams;
    expect(Object.fromEntries(search)).toEqual({
      tool: 'workspace/read_file',
      since: `${daysAgo(5)}T00:00:00.000Z`,
      until: `${daysAgo(0)}T00:00:00.000Z`,
    });
    await page.getByRole('button', { name: '30 days' }).click();
    await page.getByLabel('Group by').selectOption('key');
    // Characters that would turn the rest of a line around are shown by their numbers.
    await rowOf(person, 'Key', '⟨U+202E⟩').getByRole('link').first().click();
    await page.getByRole('button', { name: /^Only Key/ }).waitFor();
    await page
      .getByRole('article')
      .filter({ hasText: 'Requests' })
      .getByRole('link', { name: '6', exact: true })
      .waitFor();
    expect(await table(person, 'Key').getByRole('row').count()).toBe(2);
    await page.getByRole('button', { name: /^Only Key/ }).click();
    await page.getByLabel('Group by').selectOption('model');
    await rowOf(person, 'Model', markup).waitFor();
    expect(await page.locator('main img').count()).toBe(0);
    await page.getByLabel('Group by').selectOption('day');
    await rowOf(person, 'Day', '1.25')
      .or(rowOf(person, 'Day', '2.00'))
      .first()
      .waitFor();
    await person.leave();
  });

  verifies('console.usage', 'a cost that is not known is not called nothing', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('usage');
    await rowOf(person, 'Model', 'ollama/qwen').getByText('unknown', { exact: true }).waitFor();
    await page
      .getByRole('note')
      .getByText(/^5,000 tokens were used of models that have no price/)
      .waitFor();
    expect(await figure(person, 'Cost')).toMatch(/^\$2\.60 \+ unknown$/);
    await person.open('usage?model=openai%2Fgpt-4.1');
    await page
      .getByRole('article')
      .filter({ hasText: 'Cost' })
      .getByRole('link', { name: '$1.85', exact: true })
      .waitFor();
    expect(await page.getByRole('note').count()).toBe(0);
    await person.leave();
  });

  verifies('console.usage', 'CSV has the days and the group, and no formula', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('usage?by=key');
    await rowOf(person, 'Key', 'max').waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'CSV' }).click();
    const text = await readFile(await (await download).path(), 'utf8');
    const since = daysAgo(29);
    const answer = await world.api('root').operations.usageCsv({ by: ['day', 'key'], since });
    expect(text).toBe(await answer.text());
    expect(text).toContain(`"'=HYPERLINK(""http://x"")`);
    await person.leave();
  });

  verifies('console.usage', 'budgets, the nearest to its end first, with where they end', async () => {
    const person = await world.asPerson('root');
    const { page } = person;
    await person.open('usage');
    await budgetOf(person, 'max').getByText('used up').waitFor();
    await budgetOf(person, 'eve').getByText('$1.25 of $2.00').waitFor();
    const { data } = await world.api('root').operations.budgets();
    const rows = await page.getByRole('table', { name: 'Budgets' }).getByRole('row').allTextContents();
    expect(rows.slice(1).map((row) => /^(?:eve|max)/.exec(row)?.[0])).toEqual(data.map(({ principal }) => principal));
    await budgetOf(person, 'max').getByRole('link').click();
    await page.getByRole('heading', { name: 'Keys', level: 1 }).waitFor();
    expect(new URL(page.url()).searchParams.get('id')).toBe(ids['max']);
    await page.getByRole('complementary').getByText('used up').waitFor();
    await person.leave();
  });

  verifies('console.usage', 'somebody else sees their own, and a wrong period is said', async () => {
    const person = await world.asPerson('ada', { expected: /400/ });
    const { page } = person;
    await person.open('usage?by=key');
    await rowOf(person, 'Key', 'ada').waitFor();
    expect(await table(person, 'Key').getByRole('row').count()).toBe(2);
    expect(await figure(person, 'Requests')).toBe('6');
    await page.getByText('There is no budget').waitFor();
    expect(await page.getByText('eve').count()).toBe(0);
    await person.open(`usage?key=${ids['eve']}`);
    await page.getByText('Nothing was used in this time').waitFor();
    await person.open('usage?since=yesterday');
    await page
      .getByRole('alert')
      .getByText(/must be a date or a time/)
      .waitFor();
    await person.leave();
  });

  verifies('console.usage', 'of many rows the first ones, until all are asked for', async () => {
    for (let number = 0; number < 40; number++)
      await use('root', 100, { model: `p/m${number}`, requests: 1, tokens: number });
    const person = await world.asPerson('root');
    await person.open(`usage?since=${daysAgo(100)}&until=${daysAgo(99)}`);
    await rowOf(person, 'Model', 'p/m39').waitFor();
    // Only rows near the window are in the document.
    const rows = () => table(person, 'Model').getAttribute('aria-rowcount');
    expect(await rows()).toBe('21');
    await person.page.getByRole('button', { name: 'Show all 40' }).click();
    expect(await rows()).toBe('41');
    await person.leave();
  });

  for (const language of ['en', 'zh'] as const) {
    verifies('console.accessible', `Usage, ${language}`, async () => {
      for (const { theme, width } of looks[language]) {
        const person = await world.asPerson('root', { language, theme, width, height: 1_500 });
        await person.open('usage');
        await person.page.getByText('openai/gpt-4.1').first().waitFor();
        await person.page.getByText('eve').first().waitFor();
        await person.page.locator('canvas').nth(3).waitFor();
        await person.picture(`usage-${language}-${theme}-${width}`);
        await person.expectAccessible();
        await person.expectNoOverflow();
        await person.leave();
      }
    });
  }
});
