// Lists of keys, usage and budgets, against what the database has, as an administrator and two others see them.
import { afterAll, beforeAll, expect } from 'vitest';
import { Signalbox, SignalboxError } from '../../clients/typescript/src/index.js';
import { eventually } from '../support/eventually.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { messagesOf } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
/** What the model waits for before it answers to "held". */
let release = () => {};
const released = new Promise<void>((resolve) => (release = resolve));
const ids: Record<string, string> = {};
const keys: Record<string, string> = {};

const as = (who: string) => new Signalbox({ baseUrl: box.url, apiKey: keys[who]!, maxRetries: 0 }).operations;
const get = (path: string, who: string) =>
  fetch(box.url + path, { headers: { authorization: `Bearer ${keys[who]}`, 'x-forwarded-for': '203.0.113.9' } });
const errorOf = async (call: Promise<unknown>) => {
  const error = await call.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  return error instanceof SignalboxError ? [error.code, error.param] : error;
};

async function make(who: string, members: object = {}): Promise<void> {
  const made = await as('root').createKey({ owner: who, scopes: ['chat'], ...members });
  ids[who] = made.id;
  keys[who] = made.key;
}

beforeAll(async () => {
  const environment = {
    MODELS_PRICES: JSON.stringify({ 'scripted/priced*': { input: 100_000, output: 100_000 } }),
    BUDGETS_DAY_USD: '50',
  };
  box = await startSignalboxHere({
    environment,
    script: (request) => {
      const usage = { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 };
      const isHeld = messagesOf(request).some(({ content }) => content === 'held');
      return { text: 'ok', usage, ...(isHeld ? { before: released } : {}) };
    },
  });
  const first = await fetch(`${box.url}/api/keys`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ owner: 'root', name: 'first', scopes: ['admin'] }),
  });
  const made = (await first.json()) as { id: string; key: string };
  [ids['root'], keys['root']] = [made.id, made.key];
  await make('ann', { name: '=HYPERLINK("http://x")', budgets: { day_usd: 4, month_usd: 1_000_000 } });
  await make('bob', { expires_at: new Date(Date.now() + 86_400_000).toISOString() });
});
afterAll(() => box?.close());

const chat = async (who: string, model: string) => {
  const client = new Signalbox({ baseUrl: box.url, apiKey: keys[who]!, maxRetries: 0 });
  await client.chat({ model, messages: [{ role: 'user', content: 'Hello' }] }, { resume: false });
};
const requests = async (who: string) => (await as(who).usage()).total.requests;

verifies('access.list-keys', 'by state, owner, scope and text, page by page', async () => {
  const found = async (query: Parameters<ReturnType<typeof as>['keys']>[0]) =>
    (await as('root').keys(query)).data.map(({ owner }) => owner);
  expect(await found({})).toEqual(['bob', 'ann', 'root']);
  expect(await found({ state: 'expiring' })).toEqual(['bob']);
  expect(await found({ state: 'active,expired' })).toEqual(['ann', 'root']);
  expect(await found({ owner: 'ann', scope: 'chat' })).toEqual(['ann']);
  expect(await found({ scope: 'admin' })).toEqual(['root']);
  expect(await found({ text: 'hyperlink(' })).toEqual(['ann']);
  expect(await found({ text: '%' })).toEqual([]);
  const pages = [];
  for (let after: string | undefined, more = true; more;) {
    const page = await as('root').keys({ limit: 1, ...(after === undefined ? {} : { after }) });
    pages.push(...page.data.map(({ id }) => id));
    [after, more] = [page.data.at(-1)!.id, page.has_more];
  }
  expect(pages).toEqual([ids['bob'], ids['ann'], ids['root']]);
  expect(await as('root').key(ids['ann']!)).toMatchObject({ owner: 'ann', state: 'active' });
  expect(await errorOf(as('root').key('key_none'))).toEqual(['not_found', undefined]);
  expect(await errorOf(as('root').keys({ state: 'gone' }))).toEqual(['invalid_value', 'state']);
  expect(await errorOf(as('ann').keys())).toEqual(['insufficient_scope', undefined]);
  expect(await errorOf(as('ann').key(ids['ann']!))).toEqual(['insufficient_scope', undefined]);
});

verifies('access.list-keys', 'what is refused names its field', async () => {
  const refused = (members: object) =>
    errorOf(as('root').createKey({ owner: 'eve', scopes: ['chat'], ...members } as never));
  expect(await refused({ owner: 'a b' })).toEqual(['invalid_value', 'owner']);
  expect(await refused({ scopes: ['all'] })).toEqual(['invalid_value', 'scopes']);
  expect(await refused({ roles: [''] })).toEqual(['invalid_value', 'roles']);
  expect(await refused({ tools: { allow: [''] } })).toEqual(['invalid_value', 'tools.allow']);
  expect(await refused({ limits: { turns: 0 } })).toEqual(['invalid_value', 'limits.turns']);
  expect(await refused({ budgets: { day_usd: -1 } })).toEqual(['invalid_value', 'budgets.day_usd']);
  expect(await refused({ expires_at: '2020-01-01' })).toEqual(['invalid_value', 'expires_at']);
});

verifies('limits.usage-unpriced', 'beside a model that has a price', async () => {
  await chat('ann', 'scripted/priced');
  await chat('ann', 'scripted/free-of-price');
  await chat('bob', 'scripted/priced');
  await eventually(async () => (await requests('root')) === 3);
  const { data, total } = await as('ann').usage({ by: ['model'] });
  expect(data).toMatchObject([
    { model: 'scripted/free-of-price', cost_usd: 0, unpriced_tokens: 10, prompt_tokens: 4 },
    { model: 'scripted/priced', cost_usd: 1, unpriced_tokens: 0 },
  ]);
  expect(total).toMatchObject({ cost_usd: 1, unpriced_tokens: 10, requests: 2 });
});

verifies('limits.usage-report', 'filtered by key, owner, model and tool, as the database has it', async () => {
  const [row] = await box.rows<{ tokens: string; usd: string }>(
    `select sum(prompt_tokens + completion_tokens) as tokens, sum(cost_nano_usd) / 1e9 as usd from usage_days where key_id = $1`,
    [ids['ann']],
  );
  const { data, total } = await as('root').usage({ by: ['key', 'principal'], key: ids['ann'] });
  expect(data).toMatchObject([
    { key: ids['ann'], key_owner: 'ann', key_name: '=HYPERLINK("http://x")', principal: 'ann' },
  ]);
  expect([total.prompt_tokens + total.completion_tokens, total.cost_usd]).toEqual([
    Number(row!.tokens),
    Number(row!.usd),
  ]);
  expect((await as('root').usage({ model: 'scripted/priced' })).total.requests).toBe(2);
  expect((await as('root').usage({ principal: 'bob' })).total.requests).toBe(1);
  expect((await as('root').usage({ tool: 'none/none' })).data).toEqual([]);
  expect((await as('ann').usage({ by: ['key'], principal: 'bob' })).data).toEqual([]);
  expect((await as('ann').usage({ by: ['key'], key: ids['bob'] })).data).toEqual([]);
  expect((await as('ann').usage({ by: ['key'] })).data.map(({ key }) => key)).toEqual([ids['ann']]);
});

verifies('limits.usage-csv', 'the same rows, and a name that begins like a formula', async () => {
  const answer = await as('root').usageCsv({ by: ['key', 'day'] });
  expect(answer.headers.get('content-type')).toContain('text/csv');
  expect(answer.headers.get('content-disposition')).toContain('usage.csv');
  const lines = (await answer.text()).trimEnd().split('\r\n');
  const sums = 'requests,calls,prompt_tokens,completion_tokens,cost_usd,unpriced_tokens';
  expect(lines[0]).toBe(`key,day,key_owner,key_name,${sums}`);
  const today = new Date().toISOString().slice(0, 10);
  const rows = [
    `${ids['ann']},${today},ann,"'=HYPERLINK(""http://x"")",2,0,8,12,1,10`,
    `${ids['bob']},${today},bob,,1,0,4,6,1,0`,
  ];
  expect(lines.slice(1).sort()).toEqual(rows.sort());
  const own = await (await as('bob').usageCsv({ by: ['key'] })).text();
  expect(own).not.toContain(ids['ann']);
  expect((await get('/api/usage?format=xml', 'bob')).status).toBe(400);
});

verifies(
  'limits.budget-forecast',
  'own ones and the configured one, the nearest to its end first, by pages',
  async () => {
    const { data } = await as('root').budgets();
    expect(data.map(({ principal }) => principal)).toEqual(['ann', 'bob', 'root']);
    expect(data[0]).toMatchObject({
      key: ids['ann'],
      day: { limit_usd: 4, spent_usd: 1 },
      month: { limit_usd: 1_000_000, spent_usd: 1, state: 'within' },
    });
    expect(data[1]).toMatchObject({ day: { limit_usd: 50 }, month: { limit_usd: null, state: 'none', spent_usd: 1 } });
    const passed = (Date.now() % 86_400_000) / 86_400_000;
    expect(data[0]!.day.forecast_usd * passed).toBeCloseTo(1, 1);
    const pages: (string | null)[] = [];
    for (let cursor: string | null | undefined; cursor !== null;) {
      const page = await as('root').budgets({ limit: 1, cursor });
      pages.push(...page.data.map(({ key }) => key));
      cursor = page.next_cursor;
    }
    expect(pages).toEqual(data.map(({ key }) => key));
    expect((await as('bob').budgets()).data.map(({ key }) => key)).toEqual([ids['bob']]);
    expect(await errorOf(as('bob').budgets({ cursor: 'x' }))).toEqual(['invalid_value', 'cursor']);
    const [listed] = (await as('root').keys({ owner: 'ann' })).data;
    expect(listed!.spending.day).toMatchObject({ limit_usd: 4, spent_usd: 1 });
  },
);

verifies('limits.budget-forecast', 'a key that replaces another has what that has spent', async () => {
  const rotated = await as('root').rotateKey(ids['ann']!, { graceSeconds: 60 });
  const spentBy = async (id: string) => (await as('root').key(id)).spending.month.spent_usd;
  expect([await spentBy(rotated.id), await spentBy(ids['ann']!)]).toEqual([1, 1]);
  expect((await as('root').key(ids['ann']!)).state).toBe('rotating');
  const { data } = await as('root').budgets();
  expect(data.filter(({ principal }) => principal === 'ann').map(({ day }) => day.spent_usd)).toEqual([1, 1]);
  await as('root').revokeKey(ids['ann']!);
  expect((await as('root').key(ids['ann']!)).state).toBe('revoked');
  expect((await as('root').budgets()).data.map(({ key }) => key)).not.toContain(ids['ann']);
});

verifies('access.revocation', 'a turn that runs goes on to its end, the next one is refused', async () => {
  await make('zoe');
  const zoe = new Signalbox({ baseUrl: box.url, apiKey: keys['zoe']!, maxRetries: 0 });
  const ask = (content: string) => zoe.chat({ messages: [{ role: 'user', content }] }, { resume: false });
  const before = box.upstream.requests.length;
  const turn = ask('held');
  await eventually(() => Promise.resolve(box.upstream.requests.length > before));
  await as('root').revokeKey(ids['zoe']!);
  expect(await errorOf(ask('next'))).toEqual(['invalid_api_key', undefined]);
  release();
  expect((await turn).choices[0]!.message.content).toBe('ok');
});
