// Budgets and usage through the whole of it: turns that cannot begin, that end in the middle, and what they come to.
import { afterAll, beforeAll, expect } from 'vitest';
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-upstream.js';
import { eventually } from '../support/eventually.js';
import { type Signalbox, startSignalbox, toolsReady } from '../support/services/start-signalbox.js';
import { type Completion, messagesOf, workspaceTools } from '../support/scripts.js';
import { metricOf } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

interface Report {
  data: ({ key?: string | null; model?: string | null; tool?: string | null } & Report['total'])[];
  total: { requests: number; calls: number; prompt_tokens: number; completion_tokens: number; cost_usd: number };
}

let box: Signalbox;
let admin: string;
/** Held by the upstream until they are all there. */
let together: { wanted: number; there: number; all: Promise<void>; open: () => void } | undefined;

const call = { toolCalls: [{ name: 'get_time', arguments: {} }] };

/** Each model call costs a dollar: the words of the user say what the model does. */
function script(request: ReceivedRequest): ScriptedAnswer {
  const messages = messagesOf(request);
  const words = messages[0]!['content'] as string;
  const rounds = messages.filter(({ role }) => role === 'assistant').length;
  const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
  if (words === 'fail') return { status: 400, json: { error: { message: 'no' } } };
  if (words === 'together' && together !== undefined) {
    if (++together.there === together.wanted) together.open();
    return { text: 'ok', usage, before: together.all };
  }
  if (words === 'loop' && request.body['tools'] !== undefined) return { ...call, usage };
  if (words === 'tool' && rounds === 0) return { ...call, usage };
  return { text: `after ${rounds} rounds`, usage };
}

async function send(path: string, key: string | undefined, body?: object, url = box.url) {
  const headers = { 'content-type': 'application/json', ...(key === undefined ? {} : { 'x-api-key': key }) };
  const init = body === undefined ? { headers } : { method: 'POST', headers, body: JSON.stringify(body) };
  const answer = await fetch(url + path, init);
  const text = await answer.text();
  return { status: answer.status, headers: answer.headers, body: JSON.parse(text) as unknown };
}
const makeKey = async (owner: string, budgets: object = {}) => {
  const { body } = await send('/api/keys', admin, { owner, scopes: ['chat', 'tools'], budgets });
  return body as { id: string; key: string };
};
const chat = async (words: string, key: string, more: object = {}, url = box.url) => {
  const answer = await send(
    '/api/chat/completions',
    key,
    { messages: [{ role: 'user', content: words }], ...more },
    url,
  );
  return { ...answer, body: answer.body as Completion };
};
const usage = async (key: string, query = '') => (await send(`/api/usage${query}`, key)).body as Report;

beforeAll(async () => {
  const environment = { MODELS_PRICES: JSON.stringify({ 'scripted/*': { input: 100_000, output: 100_000 } }) };
  box = await startSignalbox({ script, gateways: 2, environment });
  // Dies before the second model call of a turn.
  await box.startGateway({ SIGNALBOX_FAULTS: 'before-round' });
  await Promise.all(box.gateways.map(({ url }) => toolsReady(url)));
  admin = ((await send('/api/keys', undefined, { owner: 'root', scopes: ['admin'] })).body as { key: string }).key;
  for (const { url } of box.gateways) {
    await eventually(async () => (await fetch(`${url}/v1/models`)).status === 401);
  }
});
afterAll(() => box?.close());

verifies('limits.budget-refuses', 'a chat, a tool call, and one of MCP, on each gateway', async () => {
  const { key } = await makeKey('ann', { day_usd: 2 });
  for (const words of ['one', 'two']) expect((await chat(words, key)).status).toBe(200);
  const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'get_time', arguments: {} } };
  await eventually(async () => (await usage(key)).total.cost_usd === 2);
  for (const { url } of box.gateways.slice(0, 2)) {
    const { status, headers, body } = await chat('three', key, {}, url);
    expect([status, body.error?.code, body.error?.type]).toEqual([429, 'budget_exceeded', 'rate_limit_error']);
    expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
    expect(headers.get('x-should-retry')).toBe('false');
    for (const [path, request] of [
      ['/api/tools/call', { name: 'get_time', arguments: {} }],
      ['/mcp', rpc],
    ] as const) {
      expect((await send(path, key, request, url)).status).toBe(429);
    }
  }
  expect(await metricOf(box.url, 'signalbox_budget_largest_used_ratio')).toBe(1);
  expect(await metricOf(box.url, 'signalbox_budgets_exhausted')).toBe(1);
  const metrics = await (await fetch(`${box.url}/metrics`)).text();
  expect(metrics).toMatch(/signalbox_rate_limited_total\{limit="budget_day"\} 3/);
  expect(metrics).toMatch(/signalbox_cost_usd_total\{provider="scripted",model="model"\} 2/);
});

verifies('limits.budget-ends', 'after the round in which it was used up, without more calls', async () => {
  const { key } = await makeKey('bob', { month_usd: 3 });
  const { status, body } = await chat('loop', key, { tools: [workspaceTools] });
  expect(status).toBe(200);
  expect(body.choices[0]!.finish_reason).toBe('stop');
  expect(body.choices[0]!.message.content).toContain('after 3 rounds');
  // The third call was asked for with the budget used up: it is refused, and the model answers.
  expect(body.tool_execution).toMatchObject({ stopped_by: 'budget', rounds: 4 });
  expect(body.tool_execution!.calls.map(({ success }) => success)).toEqual([true, true, false]);
  const reported = messagesOf(box.upstream.requests.at(-1)!).at(-1)!['content'];
  expect(reported).toMatch(/^The call was not run: the budget of \$3 for this month is used up\. /);
  expect(body.warnings).toEqual([
    { message: expect.stringMatching(/^No more tools were used: the budget of \$3 for this month is used up\. Wait/) },
  ]);
  expect((await chat('more', key)).body.error?.code).toBe('budget_exceeded');
  const metrics = await (await fetch(`${box.url}/metrics`)).text();
  expect(metrics).toContain('signalbox_chat_stopped_total{by="budget"} 1');
});

verifies('limits.budget-overshoot', '50 turns at once on two gateways that cross it', async () => {
  const { key } = await makeKey('cid', { day_usd: 10 });
  let open = () => {};
  const all = new Promise<void>((resolve) => (open = resolve));
  together = { wanted: 50, there: 0, all, open };
  const turns = await Promise.all(
    Array.from({ length: 50 }, (_, number) => chat('together', key, {}, box.gateways[number % 2]!.url)),
  );
  expect(turns.map(({ status }) => status)).toEqual(turns.map(() => 200));
  together = undefined;
  const later = await Promise.all(
    Array.from({ length: 20 }, (_, number) => chat('later', key, {}, box.gateways[number % 2]!.url)),
  );
  expect(later.map(({ status }) => status)).toEqual(later.map(() => 429));
  await eventually(async () => (await usage(key)).total.requests === 50);
  expect((await usage(key)).total.cost_usd).toBe(50);
});

verifies('limits.usage-right', 'chats that are stored and that are not, calls, and what failed', async () => {
  const { key, id } = await makeKey('dan');
  await chat('plain', key);
  await chat('tool', key, { tools: [workspaceTools] });
  await chat('fail', key);
  await send('/api/tools/call', key, { name: 'get_time', arguments: {} });
  await eventually(async () => (await usage(key)).total.requests === 4);
  const { data, total } = await usage(key, '?by=model,tool');
  const tokens = (count: number) => ({
    prompt_tokens: count * 5,
    completion_tokens: count * 5,
    cost_usd: count,
    unpriced_tokens: 0,
  });
  expect(total).toEqual({ requests: 4, calls: 2, ...tokens(3) });
  expect(data).toEqual(
    expect.arrayContaining([
      { model: 'scripted/model', tool: null, requests: 2, calls: 0, ...tokens(3) },
      { model: null, tool: 'workspace/get_time', requests: 1, calls: 2, ...tokens(0) },
      { model: null, tool: null, requests: 1, calls: 0, ...tokens(0) },
    ]),
  );
  const keys = (report: Report) => report.data.map((row) => row.key);
  expect(keys(await usage(key, '?by=key'))).toEqual([id]);
  expect(keys(await usage(admin, '?by=key'))).toContain(id);
  expect((await send('/api/usage?by=owner', key)).status).toBe(400);
});

verifies(
  'limits.usage-right',
  'a turn whose gateway is killed and that another continues',
  async () => {
    const { key } = await makeKey('eve');
    const doomed = box.gateways[2]!;
    const body = { messages: [{ role: 'user', content: 'tool' }], tools: [workspaceTools] };
    const ask = (url: string) =>
      fetch(`${url}/api/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-api-key': key, 'idempotency-key': 'eve-1' },
        body: JSON.stringify(body),
      });
    await expect(ask(doomed.url)).rejects.toThrow();
    await doomed.ended;
    let answer: Completion | undefined;
    await eventually(async () => {
      const again = await ask(box.url);
      if (again.status === 200) answer = (await again.json()) as Completion;
      else await again.text();
      return answer !== undefined;
    }, 30_000);
    expect(answer!.choices[0]!.message.content).toContain('after 1 rounds');
    await eventually(async () => (await usage(key)).total.cost_usd >= 2);
    expect((await usage(key)).total).toMatchObject({ requests: 1, cost_usd: 2 });
  },
  60_000,
);
