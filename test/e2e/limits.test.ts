// Limits that two gateways share, and those of a single request: each is reached, answered with its code, and counted.
import { afterAll, beforeAll, expect } from 'vitest';
import { type ErrorCode, errorTable } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ScriptedAnswer } from '../support/scripted-upstream.js';
import { eventually } from '../support/eventually.js';
import { type SignalboxHere, startSignalboxHere, toolsReady } from '../support/services/start-signalbox.js';
import { type HeldWeb, openHeldWeb } from '../support/held-web.js';
import { functionTool, messagesOf, post, workspaceTools } from '../support/scripts.js';
import { metricOf } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

const waitingApprovals = 2;
const waitingPerPlace = 32;
const environment = {
  BUDGETS_MONTH_USD: '1000',
  LIMITS_FAILED_SIGN_INS_PER_MINUTE: '3',
  LIMITS_MESSAGES: '5',
  LIMITS_PRINCIPAL_CALLS: '3',
  LIMITS_PRINCIPAL_TURNS: '1000',
  LIMITS_SESSION_CALLS: '2',
  LIMITS_TOOL_SCHEMA_BYTES: '2000',
  LIMITS_WAITING_APPROVALS: String(waitingApprovals),
  MODELS_PRICES: JSON.stringify({ 'scripted/*': { input: 100_000, output: 100_000 } }),
  POLICY_RULES: JSON.stringify([{ name: 'writes', tool: 'workspace/write_file', effect: 'require_approval' }]),
  TOOLS_MAX_ARGUMENT_BYTES: '1000',
};
const write = { name: 'write_file', arguments: { path: 'a.txt', content: 'x' } };

let box: SignalboxHere;
let web: HeldWeb;
let one: string;
let two: string;
let admin: string;

const usage = { prompt_tokens: 5, completion_tokens: 5, total_tokens: 10 };
const limited = (limit: string, url = one) => metricOf(url, `signalbox_rate_limited_total{limit="${limit}"}`);
const refused = (code: ErrorCode) =>
  metricOf(one, `signalbox_errors_total{type="${errorTable[code].type}",code="${code}"}`);
const makeKey = async (owner: string, more: object = {}) => {
  const { body } = await post(one, '/api/keys', { owner, scopes: ['chat', 'tools'], ...more }, { 'x-api-key': admin });
  return { 'x-api-key': (body as unknown as { key: string }).key };
};
const call = (url: string, key: Record<string, string>, body: object) => post(url, '/api/tools/call', body, key);
const chat = (key: Record<string, string>, body: object) =>
  post(one, '/v1/chat/completions', { messages: [{ role: 'user', content: 'hi' }], ...body }, key);

beforeAll(async () => {
  web = await openHeldWeb();
  box = await startSignalboxHere({
    gateways: 0,
    environment: { TOOLS_FETCH_ALLOW: '127.0.0.1' },
    script: (request): ScriptedAnswer => {
      const answered = messagesOf(request).some(({ role }) => role === 'tool');
      const asks = request.body['tools'] !== undefined && !answered;
      return asks ? { toolCalls: [write], usage } : { text: 'Done', usage };
    },
  });
  const [first, second] = await Promise.all([box.startGateway(environment), box.startGateway(environment)]);
  [one, two] = [first.url, second.url];
  await Promise.all([one, two].map(toolsReady));
  const { body } = await post(one, '/api/keys', { owner: 'root', scopes: ['admin'] });
  admin = (body as unknown as { key: string }).key;
  for (const url of [one, two]) await eventually(async () => (await fetch(`${url}/v1/models`)).status === 401);
  // Each knows of the other since a heartbeat after both had begun.
  await eventually(async () => {
    const beaten = await box.rows(`select from processes where kind = 'gateway'
      and heartbeat_at > (select max(started_at) from processes where kind = 'gateway')`);
    return beaten.length === 2;
  }, 10_000);
}, 60_000);
afterAll(async () => {
  await box?.close();
  web?.close();
});

/** Calls that are under way until the web answers. */
async function hold(count: number, key: Record<string, string>, sessionOf: (at: number) => string) {
  const paths = Array.from({ length: count }, (_, at) => `/${sessionOf(at)}/${at}`);
  const ends = paths.map((path, at) =>
    call(one, key, { name: 'fetch', arguments: { url: web.url + path }, session_id: sessionOf(at) }),
  );
  await Promise.all(paths.map((path) => web.reached(path)));
  return async () => {
    for (const path of paths) web.answer(path);
    expect((await Promise.all(ends)).map(({ status }) => status)).toEqual(ends.map(() => 200));
  };
}

for (const [limit, places, sessionOf] of [
  ['session_calls', 2, () => 'same'],
  ['principal_calls', 3, (at: number) => `own-${at}`],
] as const) {
  verifies('limits.calls-shared', `${limit}, on two gateways; the line of those who wait has an end`, async () => {
    const key = await makeKey(limit);
    const release = await hold(places, key, sessionOf);
    const clock = (url: string, session: string) => call(url, key, { name: 'get_time', session_id: session });
    let came = false;
    const waits = clock(two, sessionOf(99)).then((answer) => ((came = true), answer));
    // The other gateway serves others meanwhile.
    expect((await call(two, await makeKey('other'), { name: 'get_time', session_id: 'same' })).status).toBe(200);
    expect(came).toBe(false);
    const line = Array.from({ length: places * waitingPerPlace + 1 }, (_, at) => clock(one, sessionOf(100 + at)));
    const { status, body, headers } = await Promise.race(line);
    expect([status, body.error?.code, headers.get('retry-after')]).toEqual([429, 'concurrency_exceeded', '1']);
    expect(await limited(limit)).toBe(1);
    expect(came).toBe(false);
    await release();
    expect((await waits).status).toBe(200);
    const statuses = (await Promise.all(line)).map((answer) => answer.status);
    expect(statuses.filter((each) => each === 200)).toHaveLength(places * waitingPerPlace);
  });
}

verifies('limits.waiting-approvals', 'on both gateways, of a model too, until one is decided', async () => {
  const key = await makeKey('waits');
  const asked = await Promise.all([one, two].map((url) => call(url, key, { ...write, session_id: url.slice(-4) })));
  expect(asked.map(({ status }) => status)).toEqual([202, 202]);
  for (const url of [one, two]) {
    const { status, body } = await call(url, key, { ...write, session_id: 'more' });
    expect([status, body.error?.code]).toEqual([429, 'too_many_approvals']);
    expect(await limited('waiting_approvals', url)).toBe(1);
  }
  const { body } = await chat(key, { tools: [workspaceTools] });
  expect(body.choices[0]!.message.content).toBe('Done');
  expect(JSON.stringify(messagesOf(box.upstream.requests.at(-1)!))).toContain('already waiting for an approval');
  // Those who ask for the same again are told of the same approval.
  expect((await call(one, key, { ...write, session_id: one.slice(-4) })).status).toBe(202);
  const { approval } = asked[0]!.body as unknown as { approval: { id: string } };
  expect((await post(two, `/api/approvals/${approval.id}`, { decision: 'deny' }, key)).status).toBe(200);
  expect((await call(two, key, { ...write, session_id: 'more' })).status).toBe(202);
});

verifies('limits.reached', 'budget_month', async () => {
  const key = await makeKey('spends', { budgets: { month_usd: 2 } });
  for (let count = 0; count < 2; count += 1) expect((await chat(key, {})).status).toBe(200);
  const { status, body, headers } = await chat(key, {});
  expect([status, body.error?.code]).toEqual([429, 'budget_exceeded']);
  expect(Number(headers.get('retry-after'))).toBeLessThanOrEqual(60);
  expect(await limited('budget_month')).toBe(1);
});

const deep = (depth: number): JsonObject =>
  depth === 0 ? { type: 'string' } : { type: 'object', properties: { a: deep(depth - 1) } };
for (const [setting, body, message] of [
  ['messages', { messages: Array.from({ length: 6 }, () => ({ role: 'user', content: 'x' })) }, 'At most 5'],
  [
    'tool_schema_bytes',
    { tools: [functionTool('f', { type: 'object', description: 'x'.repeat(2_000) })] },
    '2000 bytes',
  ],
  ['tool_schema_depth', { tools: [functionTool('f', deep(40))] }, 'deep'],
] as const) {
  verifies('limits.reached', setting, async () => {
    const before = await refused('invalid_value');
    const answer = await chat(await makeKey(setting), body);
    expect([answer.status, answer.body.error?.code]).toEqual([400, 'invalid_value']);
    expect(answer.body.error?.message).toContain(message);
    expect(await refused('invalid_value')).toBe(before + 1);
  });
}

verifies('limits.reached', 'max_argument_bytes', async () => {
  const { status, body } = await call(one, await makeKey('long'), {
    name: 'read_file',
    arguments: { path: 'x'.repeat(1_001) },
  });
  expect([status, body.error?.code]).toEqual([422, 'invalid_tool_arguments']);
  expect(body.error?.message).toContain('the limit is 1000');
  expect(await refused('invalid_tool_arguments')).toBe(1);
});

// Last: keys that nobody has seen yet are refused after it.
verifies('limits.reached', 'failed_sign_ins', async () => {
  const wrong = async () => (await fetch(`${one}/v1/models`, { headers: { 'x-api-key': 'sb_wrong' } })).status;
  const statuses = [];
  for (let count = 0; count < 5; count += 1) statuses.push(await wrong());
  expect(statuses).toEqual([401, 401, 401, 429, 429]);
  expect(await limited('failed_sign_ins')).toBe(2);
});
