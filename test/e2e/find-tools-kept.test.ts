// What a session found is in its journal: for the next turn on any gateway, for a run that another gateway goes on with, for its
// approvals and its replays; for nobody else.
import { afterAll, beforeAll, expect, vi } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { replayToItsEnd, type Replaying, shopTools, shownCalls, startReplaying, user } from '../support/replaying.js';
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-upstream.js';
import { type Completion, messagesOf, rounds } from '../support/scripts.js';
import type { StartedProcess } from '../support/services/start-process.js';
import { startSignalbox } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

let here: Replaying;

beforeAll(async () => {
  here = await startReplaying(startSignalbox, { gateways: 2, environment: { TOOLS_SEARCH: 'always' } });
}, 60_000);
afterAll(() => here?.close());

/** One answer a round. */
const follow = (...answers: ScriptedAnswer[]) =>
  here.follow(rounds(...answers) as (request: ReceivedRequest) => ScriptedAnswer);

const find = (query: string, limit = 1): ScriptedAnswer => ({
  toolCalls: [{ name: 'find_tools', arguments: { query, limit } }],
});
const call = (name: string, amount: number): ScriptedAnswer => ({ toolCalls: [{ name, arguments: { amount } }] });
const done: ScriptedAnswer = { text: 'Done' };

const offeredIn = ({ body }: ReceivedRequest) =>
  ((body['tools'] ?? []) as { function: { name: string } }[]).map(({ function: { name } }) => name);
const received = () => here.box.upstream.requests;
const lastOffered = () => offeredIn(received().at(-1)!);

interface Asked {
  who?: string;
  gateway?: number;
  headers?: Record<string, string>;
  body: object;
}

async function chat({ who = 'alice', gateway = 0, headers = {}, body }: Asked) {
  const { key } = here.keys[who]!;
  const answer = await fetch(`${here.box.gateways[gateway]!.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify({ messages: [user('Go')], tools: [shopTools], ...body }),
  });
  return { status: answer.status, body: (await answer.json()) as Completion };
}

verifies(
  'tools.search-kept',
  'in the next turn, on another gateway, not in another session, nor for another principal',
  async () => {
    follow(find('lookup'), call('lookup', 1), done);
    const first = await chat({ body: { session_id: 'kept' } });
    expect(first.body.tool_execution!.calls.map(({ name, success }) => [name, success])).toEqual([
      ['find_tools', true],
      ['lookup', true],
    ]);
    here.follow(() => done);
    await chat({ gateway: 1, body: { session_id: 'kept' } });
    expect(lastOffered()).toEqual(['find_tools', 'lookup']);
    await chat({ body: { session_id: 'another' } });
    expect(lastOffered()).toEqual(['find_tools']);
    await chat({ who: 'bob', body: { session_id: 'kept' } });
    expect(lastOffered()).toEqual(['find_tools']);
  },
);

verifies('tools.search-found', 'nothing that the policy denies; and a call of it is refused', async () => {
  follow(find('hidden', 20), call('hidden', 1), done);
  const { body } = await chat({ body: { session_id: 'denied' } });
  const result = messagesOf(received().at(-1)!).find(({ role }) => role === 'tool')!['content'] as string;
  expect(JSON.parse(result)).toMatchObject({ tools: [], message: expect.stringContaining('No tool fits') as string });
  expect(body.tool_execution!.calls.map(({ success }) => success)).toEqual([true, false]);
  expect(here.shop.calls.filter(({ name }) => name === 'hidden')).toEqual([]);
  const audited = await here.box.rows('select state, policy_rule from audit_events where name = $1', ['hidden']);
  expect(audited).toEqual([{ state: 'denied', policy_rule: 'nobody' }]);
});

verifies('tools.search-found', 'journaled and audited with its query; wrong arguments are said', async () => {
  follow({ toolCalls: [{ name: 'find_tools', arguments: { text: 'x' } }] }, find('charge 收费'), done);
  const { body } = await chat({ body: { session_id: 'audited' } });
  expect(body.tool_execution!.calls.map(({ success }) => success)).toEqual([false, true]);
  const [said] = messagesOf(received().at(-1)!).filter(({ role }) => role === 'tool');
  expect(said!['content']).toContain('query is required');
  const rows = await here.box.rows<JsonObject>(
    `select state, server, principal, arguments from audit_events
     where name = 'find_tools' and session_id = 'audited' order by at`,
  );
  expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(['completed', 'failed']));
  const found = rows.find(({ state }) => state === 'completed')!;
  expect(found).toMatchObject({ server: '', principal: 'alice' });
  expect(JSON.parse(found['arguments'] as string)).toEqual({ query: 'charge 收费', limit: 1 });
});

verifies(
  'tools.search-governed',
  'in a chat: shown with a server, counted by tool, the same when it is read again',
  async () => {
    const gateway = here.box.gateways[0]!.url;
    const counted = async () => {
      const text = await (await fetch(`${gateway}/metrics`)).text();
      const line = /^signalbox_tool_calls_total\{server="signalbox",tool="find_tools",outcome="ok"\} (\d+)$/m.exec(
        text,
      );
      return Number(line?.[1] ?? 0);
    };
    const before = await counted();
    follow(find('lookup'), done);
    const headers = { 'idempotency-key': 'governed' };
    const asked = { headers, body: { session_id: 'governed' } };
    const first = await chat(asked);
    const servers = ({ body }: typeof first) => body.tool_execution!.calls.map(({ server }) => server);
    expect(servers(first)).toEqual(['signalbox']);
    expect(servers(await chat({ ...asked, gateway: 1 }))).toEqual(['signalbox']);
    expect(await counted()).toBe(before + 1);
  },
);

verifies('tools.search-found', 'one that needs an approval, in the turn that answers it', async () => {
  follow(find('refund'), call('refund', 5), done);
  const body = { session_id: 'asks' };
  const first = await chat({ body });
  const { message } = first.body.choices[0]!;
  const [asked] = message.tool_calls!;
  expect(asked!.function.name).toBe('approval_request');
  const answer = { role: 'tool', tool_call_id: asked!.id, content: JSON.stringify({ decision: 'approve' }) };
  here.follow(() => done);
  const second = await chat({ gateway: 1, body: { ...body, messages: [user('Go'), message, answer] } });
  expect(second.body.choices[0]!.message.content).toBe('Done');
  expect(here.shop.calls).toContainEqual({ name: 'refund', amount: 5 });
  expect(lastOffered()).toEqual(['find_tools', 'refund']);
});

verifies('tools.search-offered', 'by an exact name, found or not; of no other server', async () => {
  follow(call('charge', 3), call('write_file', 1), done);
  const { body } = await chat({ body: { session_id: 'exact' } });
  expect(body.tool_execution!.calls.map(({ name, success }) => [name, success])).toEqual([
    ['charge', true],
    ['write_file', false],
  ]);
  expect(here.shop.calls).toContainEqual({ name: 'charge', amount: 3 });
});

verifies('tools.search-offered', 'a function of the caller must not have its name', async () => {
  const own = { type: 'function', function: { name: 'find_tools', parameters: { type: 'object' } } };
  const refused = await chat({ body: { tools: [own, shopTools] } });
  expect([refused.status, refused.body.error!.code]).toEqual([400, 'reserved_name']);
  here.follow(() => done);
  expect((await chat({ body: { tools: [own] } })).status).toBe(200);
});

verifies('tools.search-kept', 'a replay finds what was found', async () => {
  follow(find('lookup'), call('lookup', 9), done);
  const id = await here.chat('alice', { messages: [user('Go')], session_id: 'replayed' }, '/v1/chat/completions');
  const ran = here.shop.calls.length;
  const replayed = await replayToItsEnd(here, 'alice', id, {});
  expect(shownCalls(replayed).map(([name, state, from]) => [name, state, from])).toEqual([
    ['find_tools', 'completed', 'same'],
    ['lookup', 'completed', 'same'],
  ]);
  expect(lastOffered()).toEqual(['find_tools', 'lookup']);
  expect(here.shop.calls).toHaveLength(ran);
});

verifies('tools.search-kept', 'a run whose gateway was killed goes on with what it had found', async () => {
  let killed = false;
  const plan = rounds(find('lookup'), call('lookup', 21), done) as (request: ReceivedRequest) => ScriptedAnswer;
  here.follow((request) => {
    const searched = messagesOf(request).some(({ role }) => role === 'tool');
    if (killed || !searched) return plan(request);
    killed = true;
    (here.box.gateways[0] as StartedProcess).kill('SIGKILL');
    return plan(request);
  });
  const asked: Asked = { headers: { 'idempotency-key': 'killed' }, body: { session_id: 'killed' } };
  await expect(chat(asked)).rejects.toThrow();
  const before = received().length;
  const answer = await vi.waitFor(
    async () => {
      const again = await chat({ ...asked, gateway: 1 });
      expect(again.status).toBe(200);
      return again.body;
    },
    { timeout: 40_000, interval: 200 },
  );
  expect(answer.choices[0]!.message.content).toBe('Done');
  expect(answer.tool_execution!.calls.map(({ name }) => name)).toEqual(['find_tools', 'lookup']);
  // It does not look again: its first model call offers what was found.
  expect(offeredIn(received()[before]!)).toEqual(['find_tools', 'lookup']);
  expect(here.shop.calls.filter(({ amount }) => amount === 21)).toHaveLength(1);
});
