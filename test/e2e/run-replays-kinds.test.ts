// Replays of every kind of run, and runs that cannot be replayed.
import { afterAll, beforeAll, expect } from 'vitest';
import type { ListedRun } from '../../clients/typescript/src/index.js';
import {
  answerOf,
  calling,
  type Replaying,
  replayToItsEnd,
  shownCalls as shown,
  shopTools,
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
  'replay.every-run',
  'a turn that gave its caller a request for an approval, and the turn that decided',
  async () => {
    here.follow(calling(['refund', 3]));
    const messages: object[] = [user('Refund 3')];
    const first = await here.ask('alice', '/v1/chat/completions', { messages, tools: [shopTools] });
    const id = first.headers.get('x-run-id')!;
    const [choice] = (first.body as { choices: { message: { tool_calls: { id: string }[] } }[] }).choices;
    const open = await replayed('alice', id);
    expect(shown(open)).toEqual([['refund', 'failed', 'none', null]]);
    const approve = {
      role: 'tool',
      tool_call_id: choice!.message.tool_calls[0]!.id,
      content: '{"decision":"approve"}',
    };
    messages.push(choice!.message, approve);
    const decided = await here.chat('alice', { messages }, '/v1/chat/completions');
    const called = here.shop.calls.length;
    const [whole, end] = [await replayed('alice', id), await replayed('alice', decided)];
    expect(shown(whole)).toEqual([['refund', 'completed', 'same', 'require_approval']]);
    expect(answerOf(whole)).toBe(`It said: refund 3: call ${called}`);
    expect(answerOf(end)).toBe(`It said: refund 3: call ${called}`);
    expect(shown(end)).toEqual([]);
    expect(here.shop.calls).toHaveLength(called);
  },
);

verifies(
  'replay.every-run',
  'calls of the caller end a replay as they ended the run; nobody answers them',
  async () => {
    const own = { type: 'function', function: { name: 'ask_user', parameters: { type: 'object' } } };
    here.follow(() => ({
      toolCalls: [
        { name: 'ask_user', arguments: '{}' },
        { name: 'lookup', arguments: { amount: 1 } },
      ],
    }));
    const messages = [user('Ask me')];
    const id = await here.chat('alice', { messages, tools: [own, shopTools] }, '/v1/chat/completions');
    const run = await replayed('alice', id);
    expect(run).toMatchObject({ state: 'done', rounds: 1 });
    expect(shown(run)).toEqual([
      ['ask_user', 'planned', 'none', null],
      ['lookup', 'completed', 'same', 'allow'],
    ]);
    const [call] = run.call_list!;
    const answer = { role: 'tool', tool_call_id: call!.id, content: 'yes' };
    const later = await here.ask('alice', '/v1/chat/completions', {
      messages: [...messages, run.round_list![0]!.message, answer],
      tools: [own, shopTools],
    });
    expect(later).toMatchObject({ status: 400, body: { error: { code: 'turn_expired' } } });
  },
);

verifies('replay.every-run', 'chats of other APIs, and a stored response', async () => {
  here.follow(calling(['lookup', 4]));
  const lookup = { tools: [{ type: 'mcp_toolset', mcp_server_name: 'shop' }], model: 'scripted/model' };
  const message = { ...lookup, system: 'Be brief', max_tokens: 50, messages: [user('Look')] };
  const ofMessages = await replayed('alice', await here.chat('alice', message, '/v1/messages'));
  expect([answerOf(ofMessages), shown(ofMessages)]).toEqual([
    expect.stringMatching(/^It said: lookup 4/),
    [['lookup', 'completed', 'same', 'allow']],
  ]);
  expect(ofMessages.messages!.slice(0, 2)).toEqual([{ role: 'system', content: 'Be brief' }, user('Look')]);
  const response = { model: 'scripted/model', instructions: 'Be kind', input: 'Look', store: true };
  const first = await here.ask('alice', '/v1/responses', {
    ...response,
    tools: [{ ...shopTools, require_approval: 'never' }],
  });
  const previous = (first.body as { id: string }).id;
  const second = { ...response, tools: [{ ...shopTools, require_approval: 'never' }], previous_response_id: previous };
  const ofResponse = await replayed('alice', await here.chat('alice', second, '/v1/responses'));
  expect(ofResponse.messages![0]).toMatchObject({ role: 'system', content: 'Be kind' });
  expect(ofResponse.messages!.length).toBeGreaterThan(6);
  expect(shown(ofResponse)).toEqual([['lookup', 'completed', 'same', 'allow']]);
  const responseId = `resp_${ofResponse.id.slice('run_'.length)}`;
  expect((await here.ask('alice', `/v1/responses/${responseId}`)).status).toBe(404);
});

verifies(
  'replay.every-run',
  'a call without a model, a run that goes on, a failed one, and what is not stored any more',
  async () => {
    const refused = async (id: string) => {
      const { status, body } = await here.replay('alice', id);
      return [status, body.error?.code];
    };
    const headers = { 'idempotency-key': 'one-call' };
    await here.ask('alice', '/api/tools/call', { name: 'lookup', arguments: { amount: 1 } }, { headers });
    const [keyed] = await here.box.rows<{ id: string }>(`select id from runs where idempotency_key = 'one-call'`);
    expect(await refused(keyed!.id)).toEqual([400, 'invalid_value']);

    let open = (_answer: ScriptedAnswer) => {};
    const asked = here.box.upstream.requests.length + 1;
    here.follow(() => new Promise((resolve) => (open = resolve)));
    const running = here.chat('alice', { messages: [user('Wait')] }, undefined, { 'idempotency-key': 'goes-on' });
    await here.box.upstream.received(asked);
    const [goesOn] = await here.box.rows<{ id: string }>(`select id from runs where idempotency_key = 'goes-on'`);
    expect(await refused(goesOn!.id)).toEqual([409, 'run_in_progress']);
    open({ text: 'done' });
    const id = await running;
    here.follow(() => ({ text: 'done again' }));
    expect(answerOf(await replayed('alice', id))).toBe('done again');
    await here.box.rows('delete from run_rounds where run_id = $1', [id]);
    expect(await refused(id)).toEqual([410, 'turn_expired']);

    here.follow(() => ({ status: 400, json: { error: { message: 'broken' } } }));
    await here.ask('alice', '/api/chat/completions', { messages: [user('Break')], tools: [shopTools] });
    const list = (await here.ask('alice', '/api/runs?state=failed')).body as { data: ListedRun[] };
    const broken = await replayed('alice', list.data[0]!.id);
    expect(broken).toMatchObject({ state: 'failed', error: { message: expect.stringContaining('broken') } });
    here.follow(() => ({ text: 'mended' }));
    expect(answerOf(await replayed('alice', list.data[0]!.id))).toBe('mended');
  },
);
