// Replays of runs through the API: what they call (nothing), what they change, whose they are, what they cost, and how they end.
import { afterAll, beforeAll, expect } from 'vitest';
import type { ListedRun } from '../../clients/typescript/src/index.js';
import { eventually } from '../support/eventually.js';
import {
  answerOf,
  calling,
  type Replaying,
  replayToItsEnd,
  shownCalls as shown,
  startReplaying,
  user,
} from '../support/replaying.js';
import type { ScriptedAnswer } from '../support/scripted-upstream.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

let here: Replaying;

beforeAll(async () => {
  here = await startReplaying(startSignalboxHere);
}, 60_000);
afterAll(() => here?.close());

const replayed = (who: string, id: string, body?: unknown) => replayToItsEnd(here, who, id, body);

verifies(
  'replay.calls-no-tool',
  'two calls, the same model: what a worker, the queue and the audit see of it',
  async () => {
    here.follow(calling(['charge', 5], ['lookup', 1]));
    const id = await here.chat('alice', { messages: [user('Charge 5')], session_id: 'mine' });
    const counts = async () => {
      const [row] = await here.box.rows(`select
      (select count(*)::int from audit_events where kind in ('tool_call', 'client_call')) audit,
      (select count(*)::int from tool_calls where job is not null) jobs,
      (select count(*)::int from approvals) approvals, (select sum(calls)::int from usage_days) used,
      (select max(used_at) from sessions) session`);
      return row;
    };
    await eventually(async () => (await counts())!['used'] === 2);
    const [before, called] = [await counts(), here.shop.calls.length];
    const run = await replayed('alice', id);
    expect(run).toMatchObject({ state: 'done', principal: 'alice', session_id: 'mine', rounds: 2, calls: 2 });
    expect(answerOf(run)).toBe('It said: lookup 1: call 2');
    expect(shown(run)).toEqual([
      ['charge', 'completed', 'same', 'allow'],
      ['lookup', 'completed', 'same', 'allow'],
    ]);
    expect(run.spent_ms).toMatchObject({ queue: 0, tool: 0, person: 0 });
    expect(run.call_list).toMatchObject([
      { attempts: 0, worker: null, audit_id: null, duration_ms: null, cached: false },
      {},
    ]);
    expect(run.event_list!.map(({ type }) => type)).toEqual(
      expect.arrayContaining(['start', 'tool_call', 'tool_result', 'content', 'done']),
    );
    expect(here.shop.calls).toHaveLength(called);
    expect(await counts()).toEqual(before);
    const audited = await here.box.rows(
      `select principal, key_id, run_id, success, arguments::json from audit_events where kind = 'replay'`,
    );
    const about = { replay_of: id, principal: 'alice', changed: [] };
    expect(audited).toEqual([
      { principal: 'alice', key_id: here.keys['alice']!.id, run_id: run.id, success: true, arguments: about },
    ]);
    const list = (await here.ask('alice', '/api/runs')).body as { data: ListedRun[] };
    expect(list.data.map((each) => [each.id, each.replay_of])).toEqual([
      [run.id, id],
      [id, null],
    ]);
    expect(await replayed('alice', run.id)).toMatchObject({ state: 'done', replay_of: run.id });
  },
);

verifies('replay.changed', 'another model and another conversation', async () => {
  here.follow(calling(['charge', 5]));
  const messages = [{ role: 'system', content: 'Be brief' }, user('Charge 5')];
  const id = await here.chat('alice', { messages });
  const asked = here.box.upstream.requests.length;
  here.follow(calling(['charge', 7], ['refund', 1]));
  const other = await replayed('alice', id, { model: 'scripted/other', messages: [user('Charge 7')] });
  expect(here.box.upstream.requests[asked]!.body).toMatchObject({ model: 'other', messages: [user('Charge 7')] });
  expect(other).toMatchObject({ model: 'scripted/other', messages: [user('Charge 7'), {}, {}, {}, {}] });
  expect(shown(other)).toEqual([
    ['charge', 'completed', 'other_arguments', 'allow'],
    ['refund', 'failed', 'none', null],
  ]);
  expect(answerOf(other)).toBe('It said: The recorded run has no result for this call');
  const same = await replayed('alice', id);
  expect(same.messages!.slice(0, 2)).toEqual(messages);
  // What a run shows can be sent again.
  await replayed('alice', id, { messages: same.messages!.slice(0, 4) });
});

verifies('replay.changed', 'what no chat would take', async () => {
  here.follow(calling(['charge', 5]));
  const id = await here.chat('alice', { messages: [user('Charge 5')] });
  await here.makeKey('narrow', { owner: 'alice', models: ['scripted/model'] });
  const refused = async (who: string, body: unknown) => {
    const { status, body: answer } = await here.replay(who, id, body);
    return [status, answer.error?.code, answer.error?.param];
  };
  expect(await refused('narrow', { model: 'scripted/other' })).toEqual([403, 'model_forbidden', 'model']);
  expect(await refused('alice', { model: 'nowhere/' })).toEqual([404, 'model_not_found', 'model']);
  expect(await refused('alice', { messages: [] })).toEqual([400, 'invalid_value', 'messages']);
  expect(await refused('alice', { messages: [{ role: 'robot', content: 'x' }] })).toEqual([
    400,
    'invalid_value',
    'messages[0].role',
  ]);
  expect(await refused('alice', { messages: 'x' })).toEqual([400, 'invalid_value', 'messages']);
  expect(await refused('alice', { session_id: 'x' })).toEqual([400, 'invalid_value', 'body']);
  expect(await refused('alice', [])).toEqual([400, 'invalid_value', 'body']);
  const key = { method: 'POST', headers: { 'idempotency-key': 'again' } };
  const keyed = await here.ask('alice', `/api/runs/${id}/replay`, {}, key);
  expect(keyed).toMatchObject({ status: 400, body: { error: { param: 'Idempotency-Key' } } });
});

verifies('replay.drafted', 'a rule that denies, one that asks, and none', async () => {
  here.follow(calling(['charge', 666], ['charge', 5], ['lookup', 1]));
  const id = await here.chat('alice', { messages: [user('Charge much')] });
  const called = here.shop.calls.length;
  const plain = await replayed('alice', id);
  expect(shown(plain)).toEqual([
    ['charge', 'denied', 'same', 'deny'],
    ['charge', 'completed', 'same', 'allow'],
    ['lookup', 'completed', 'same', 'allow'],
  ]);
  expect(plain.call_list![0]).toMatchObject({ policy: { rule: 'never-666' } });
  const policy = `default: allow
rules:
  - { name: no-looking, tool: shop/lookup, effect: deny, reason: Not any more }
  - { name: alice-asks, user: alice, tool: shop/charge, arguments: [{ path: $.amount, equals: 5 }], effect: require_approval }
`;
  const drafted = await replayed('alice', id, { policy });
  expect(shown(drafted)).toEqual([
    // The policy of then refused it, so nobody knows what it would have given.
    ['charge', 'completed', 'other_arguments', 'allow'],
    ['charge', 'failed', 'none', 'require_approval'],
    ['lookup', 'denied', 'none', 'deny'],
  ]);
  expect(drafted.call_list![2]!.policy).toEqual({ verdict: 'deny', rule: 'no-looking' });
  expect(answerOf(drafted)).toContain("The rule 'no-looking' does not allow this call of 'lookup': Not any more");
  expect(here.shop.calls).toHaveLength(called);
  // The administrator is not alice, but the draft is asked about her.
  const byRoot = await replayed('root', id, {
    policy: JSON.stringify({ rules: [{ name: 'r', user: 'alice', effect: 'deny' }] }),
  });
  expect(shown(byRoot).map(([, state]) => state)).toEqual(['denied', 'denied', 'denied']);
});

verifies('replay.drafted', 'a tool that the policy hides is refused as it was, or as the draft says', async () => {
  here.follow(calling(['hidden', 1]));
  const id = await here.chat('alice', { messages: [user('Find it')] });
  const refusal = "It said: The rule 'nobody' does not allow this call of 'hidden': Not for anybody";
  expect(answerOf(await here.details('alice', id))).toBe(refusal);
  const plain = await replayed('alice', id);
  expect([answerOf(plain), shown(plain)]).toEqual([refusal, [['hidden', 'denied', 'same', 'deny']]]);
  expect(JSON.stringify(here.box.upstream.requests.at(-1)!.body['tools'])).not.toContain('Does hidden');
  const drafted = await replayed('alice', id, { policy: 'default: allow' });
  expect(shown(drafted)).toEqual([['hidden', 'failed', 'none', 'allow']]);
});

verifies('replay.drafted', 'drafts that cannot be used', async () => {
  here.follow(calling(['lookup', 1]));
  const id = await here.chat('alice', { messages: [user('Look')] });
  const mistakes = async (policy: string) => {
    const { status, body } = await here.replay('alice', id, { policy });
    expect([status, body.error?.code, body.error?.param]).toEqual([400, 'invalid_value', 'policy']);
    return JSON.stringify([body.error!.message, body.error!.problems]);
  };
  const two = await mistakes('default: never\nrules:\n  - name: one\n    effect: maybe\n');
  expect(two).toContain('"key":"default","line":1');
  expect(two).toContain('"key":"rules.0.effect","line":4');
  expect(await mistakes('rules: [')).toContain('"line":1');
  expect(await mistakes('- a list')).toContain('must be a map of settings');
  expect(await mistakes('file: /etc/passwd')).toContain('cannot be in a draft');
  await mistakes('a: &a [x]\nb: &b [*a,*a]\nrules: *c');
  const bomb = ['a: &a [x, x, x, x, x, x, x, x, x]'];
  for (let at = 1; at < 12; at++)
    bomb.push(`${'abcdefghijkl'[at]!}: &${'abcdefghijkl'[at]!} [${`*${'abcdefghijkl'[at - 1]!},`.repeat(9)}]`);
  await mistakes(bomb.join('\n'));
  await mistakes('x'.repeat(1_100_000));
  expect(await mistakes('default: ${DATABASE_URL}')).not.toContain('postgres');
  expect((await here.ask('alice', '/api/runs')).body).not.toMatchObject({ data: [{ replay_of: id }] });
});

verifies('replay.of-others', 'bob has no run of alice; root has', async () => {
  here.follow(calling(['charge', 9]));
  const id = await here.chat('alice', { messages: [user('Charge 9')], session_id: 'private' });
  for (const wrong of [id, 'run_unknown']) {
    const { status, body } = await here.replay('bob', wrong, { policy: 'rules: [' });
    expect([status, body.error?.code]).toEqual([404, 'run_not_found']);
  }
  await here.makeKey('reader', { scopes: ['files'] });
  expect((await here.replay('reader', id)).status).toBe(403);
  const byRoot = await replayed('root', id);
  expect(byRoot).toMatchObject({ principal: 'root', replay_of: id, state: 'done' });
  expect(byRoot.session_id).not.toBe('private');
  expect(shown(byRoot)).toEqual([['charge', 'completed', 'same', 'allow']]);
  expect((await here.ask('alice', `/api/runs/${byRoot.id}`)).status).toBe(404);
});

verifies('replay.counted', 'tokens and cost are the caller’s; a budget, a rate and a place hold', async () => {
  await here.makeKey('payer', { budgets: { day_usd: 0.001 }, limits: { turns: 1 } });
  const usage = async () =>
    ((await here.ask('payer', '/api/usage')).body as { total: { requests: number; calls: number; cost_usd: number } })
      .total;
  here.follow(calling(['charge', 2]));
  const id = await here.chat('payer', { messages: [user('Charge 2')] });
  await eventually(async () => (await usage()).calls === 1);
  const before = await usage();
  await replayed('payer', id);
  await eventually(async () => (await usage()).requests === 2);
  const after = await usage();
  expect(after.calls).toBe(before.calls);
  expect(after.cost_usd).toBeCloseTo(before.cost_usd * 2);

  let open = (_answer: ScriptedAnswer) => {};
  here.follow(() => new Promise((resolve) => (open = resolve)));
  const asked = here.box.upstream.requests.length + 1;
  const first = await here.replay('payer', id);
  await here.box.upstream.received(asked);
  const second = await here.replay('payer', id);
  expect([second.status, second.body.error?.code]).toEqual([429, 'concurrency_exceeded']);
  open({
    text: 'over',
    usage: { prompt_tokens: 1_500, completion_tokens: 100, total_tokens: 1_600 },
  });
  expect((await here.ended('payer', first.body.id)).state).toBe('done');
  const broke = await here.replay('payer', id);
  expect([broke.status, broke.body.error?.code]).toEqual([429, 'budget_exceeded']);
});

verifies('replay.stops', 'cancelled while the model speaks', async () => {
  here.follow(calling(['lookup', 1]));
  const id = await here.chat('alice', { messages: [user('Look')] });
  here.follow(() => new Promise(() => {}));
  const asked = here.box.upstream.requests.length + 1;
  const { body } = await here.replay('alice', id);
  expect(body.state).toBe('running');
  const request = await here.box.upstream.received(asked);
  const cancelled = await here.ask('alice', `/api/runs/${body.id}`, undefined, { method: 'DELETE' });
  expect(cancelled.body).toMatchObject({ id: body.id, state: 'cancelled' });
  await request.clientGone;
});
