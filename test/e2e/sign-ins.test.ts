// Calls whose caller has to sign in at the tool server: on held streams, with the OpenAI SDK, and what ends them without a sign-in.
import OpenAI from 'openai';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { decideAt } from '../support/approvals-client.js';
import { eventsOf } from '../support/events-client.js';
import { messagesOf, post } from '../support/scripts.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import type { StartedHere } from '../support/services/start-here.js';
import { hubTools as tools, type SigningIn, startSigningIn, user } from '../support/signing-in.js';
import { metricOf } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

let here: SigningIn<StartedHere>;
beforeAll(async () => {
  const rules = [
    { name: 'asked', tool: 'hub/push', arguments: [{ path: '$.word', equals: 'push1' }], effect: 'require_approval' },
  ];
  here = await startSigningIn(startSignalboxHere, { gateways: 2, rules });
}, 60_000);
afterAll(() => here?.close());

const client = (gateway = 0) =>
  new OpenAI({ baseURL: `${here.box.gateways[gateway]!.url}/v1`, apiKey: 'none', maxRetries: 0 });

interface Asked {
  id: string;
  name: string;
  arguments: JsonObject & { id: string };
}

/** Runs one turn of the unmodified SDK. */
async function turn(messages: OpenAI.ChatCompletionMessageParam[], session_id: string, gateway = 0) {
  const request = { model: 'scripted/model', messages, tools: tools as never, session_id };
  const { message, finish_reason: finish } = (await client(gateway).chat.completions.create(request)).choices[0]!;
  const calls = (message.tool_calls ?? []) as OpenAI.ChatCompletionMessageFunctionToolCall[];
  const asked = calls.map(({ id, function: { name, arguments: args } }): Asked => {
    return { id, name, arguments: JSON.parse(args) as Asked['arguments'] };
  });
  return { finish, message, asked };
}
const answer = (id: string, content = 'done') => ({ role: 'tool' as const, tool_call_id: id, content });

/** Runs a held turn; `asked` gets each event that asks somebody. */
async function held(session_id: string, asked: (type: string, shown: JsonObject) => Promise<unknown>) {
  const types: unknown[] = [];
  let text = '';
  const body = { stream: true, messages: [user('Go')], tools, session_id };
  for await (const event of eventsOf(here.box.url, '/api/chat/completions', body)) {
    types.push(event['type']);
    if (event['type'] === 'content') text += (event['delta'] as { content: string }).content;
    const shown = event['sign_in'] ?? event['approval'];
    if (shown !== undefined) await asked(event['type'] as string, shown as JsonObject);
  }
  return { types, text };
}

for (const tool of ['push', 'pull']) {
  verifies('sign-ins.held', tool, async () => {
    here.called.tools = [tool];
    const session = `held_${tool}`;
    let shown: JsonObject = {};
    const { types, text } = await held(session, async (_type, signIn) => {
      shown = signIn;
      expect(await here.wait(signIn['id'] as string)).toMatchObject({ kind: 'sign_in', state: 'waiting', scopes: [] });
      expect(await here.ranIn(session)).toEqual([]);
      await here.signIn(session);
    });
    expect(shown).toEqual({
      id: expect.stringMatching(/^appr_/),
      server: 'hub',
      tool,
      tool_call_id: expect.stringMatching(/^call_/),
      expires_at: expect.any(String),
      authorization_url: expect.stringMatching(`^http://.*/connections/open/${shown['id'] as string}$`),
    });
    expect(types.filter((type) => type === 'sign_in_required')).toHaveLength(1);
    expect(text).toContain(`said ${tool}0`);
    expect(await here.ranIn(session)).toEqual([`${tool}0`]);
  });

  verifies('sign-ins.returned', `the openai SDK, two turns on two gateways: ${tool}`, async () => {
    here.called.tools = [tool];
    const session = `returned_${tool}`;
    const first = await turn([user('Go')], session);
    expect(first.finish).toBe('tool_calls');
    const [asked] = first.asked;
    expect(first.asked).toEqual([
      {
        id: asked!.id,
        name: 'sign_in_request',
        arguments: {
          id: expect.stringMatching(/^appr_/),
          server: 'hub',
          authorization_url: expect.stringContaining(asked!.arguments.id),
          expires_at: expect.any(String),
        },
      },
    ]);
    await here.signIn(session);
    const second = await turn([user('Go'), first.message, answer(asked!.id)], session, 1);
    expect(second).toMatchObject({ finish: 'stop', asked: [], message: { content: expect.stringContaining(tool) } });
    expect(await here.ranIn(session)).toEqual([`${tool}0`]);
    const seen = here.box.upstream.requests.at(-1)!;
    expect(JSON.stringify(seen.body)).not.toContain('sign_in_request');
    expect(messagesOf(seen).filter(({ role }) => role === 'tool')).toHaveLength(1);
  });
}

verifies('sign-ins.unmade', 'asked three times again', async () => {
  here.called.tools = ['push'];
  const messages: OpenAI.ChatCompletionMessageParam[] = [user('Go')];
  let last = await turn(messages, 'unmade');
  const [asked] = last.asked;
  for (const words of ['Invalid tool_call: sign_in_request', '{"decision":"done"}', '{"decision":"approve"}']) {
    messages.push(last.message, answer(asked!.id, words));
    last = await turn(messages, 'unmade');
    expect(last).toMatchObject({ finish: 'tool_calls', asked: [asked] });
  }
  messages.push(last.message, answer(asked!.id));
  last = await turn(messages, 'unmade');
  expect(last.finish).toBe('stop');
  expect(last.message.content).toContain('was refused: the caller came back 4 times without having signed in');
  expect(await here.wait(asked!.arguments.id)).toMatchObject({ state: 'denied', decided_by: 'local' });
  // The sign-in comes too late.
  await here.signIn('unmade');
  expect(await here.ranIn('unmade')).toEqual([]);
});

verifies('sign-ins.unmade', 'refused; too late', async () => {
  here.called.tools = ['push'];
  const refused = await held('refused', (_type, { id }) =>
    decideAt(here.box.gateways[1]!.url, id as string, { decision: 'deny', reason: 'Not there' }),
  );
  expect(refused.text).toContain('was refused: Not there');
  const before = await turn([user('Go')], 'refused_by_message');
  const [asked] = before.asked;
  const after = await turn(
    [user('Go'), before.message, answer(asked!.id, '{"decision":"deny"}')],
    'refused_by_message',
  );
  expect(after.message.content).toContain('was refused');
  const late = await held('late', (_type, { id }) =>
    here.box.rows('update approvals set expires_at = clock_timestamp() where id = $1', [id]),
  );
  expect(late.text).toContain("Nobody signed in for the call of 'push' in time");
  const rows = await here.box.rows(
    `select kind, state, error_code from audit_events where session_id in ('refused', 'late') order by session_id, at, kind desc`,
  );
  expect(rows).toEqual([
    { kind: 'tool_call', state: 'denied', error_code: 'connection_needed' },
    { kind: 'tool_call', state: 'denied', error_code: 'connection_needed' },
    { kind: 'sign_in', state: 'denied', error_code: null },
  ]);
  for (const session of ['refused', 'refused_by_message', 'late']) expect(await here.ranIn(session)).toEqual([]);
});

verifies('sign-ins.owner', 'another principal’s sign-in, and an approval, change nothing', async () => {
  here.called.tools = ['pull'];
  const { types, text } = await held('owner', async (_type, { id }) => {
    await here.signIn('owner', 'somebody-else');
    const approved = await decideAt(here.box.url, id as string, { decision: 'approve' });
    expect(approved).toMatchObject({ status: 400, body: { error: { code: 'invalid_value' } } });
    expect(approved.body.error!.message).toContain('/connections/open/');
    expect(await here.wait(id as string)).toMatchObject({ state: 'waiting' });
    expect(await metricOf(here.box.url, 'signalbox_approvals_pending')).toBeGreaterThan(0);
    await here.signIn('owner');
    expect(await here.wait(id as string)).toMatchObject({ state: 'approved', decided_by: 'local' });
  });
  expect(types.filter((type) => type === 'sign_in_required')).toHaveLength(1);
  expect(text).toContain('said pull0');
});

verifies('sign-ins.once', 'ten sign-ins and refusals at once, and two calls of one server', async () => {
  here.called.tools = ['push', 'pull'];
  const asked: string[] = [];
  const { text } = await held('once', async (_type, { id }) => {
    if (asked.push(id as string) < 2) return;
    await here.giveToken('once');
    const ends = Array.from({ length: 10 }, (_, at) =>
      at % 2
        ? here.waits.connected('local', 'hub')
        : decideAt(here.box.gateways[at % 4 ? 1 : 0]!.url, asked[0]!, { decision: 'deny' }),
    );
    await Promise.all(ends);
  });
  expect(text).toContain('Result');
  const [{ state }] = [await here.wait(asked[0]!)];
  const words = state === 'approved' ? 2 : 1;
  expect((await here.ranIn('once')).length).toBe(words);
  const rows = await here.box.rows(`select kind from audit_events where session_id = 'once' order by kind`);
  expect(rows.map(({ kind }) => kind as string)).toEqual(['sign_in', 'sign_in', 'tool_call', 'tool_call']);
});

verifies('sign-ins.approved-first', 'held and returned', async () => {
  // The second call of a message asks for both.
  here.called.tools = ['pull', 'push'];
  const order: string[] = [];
  const stayed = await held('both_held', async (type, shown) => {
    order.push(`${type} ${shown['tool'] as string}`);
    if (type === 'approval_required') await decideAt(here.box.url, shown['id'] as string, { decision: 'approve' });
    else if (order.filter((each) => each.startsWith('sign_in')).length === 2) await here.signIn('both_held');
  });
  expect(order.indexOf('approval_required push')).toBeLessThan(order.indexOf('sign_in_required push'));
  expect(stayed.text).toContain('said push1');
  expect((await here.ranIn('both_held')).sort()).toEqual(['pull0', 'push1']);

  const messages: OpenAI.ChatCompletionMessageParam[] = [user('Go')];
  const names: string[][] = [];
  for (let at = 0; at < 3; at++) {
    const { message, asked } = await turn(messages, 'both_returned', at % 2);
    names.push(asked.map(({ name }) => name).sort());
    const waiting = asked.map(({ id, name }) =>
      answer(id, name === 'sign_in_request' ? 'done' : '{"decision":"approve"}'),
    );
    messages.push(message, ...waiting);
    if (at === 1) await here.signIn('both_returned');
  }
  expect(names).toEqual([['approval_request', 'sign_in_request'], ['sign_in_request', 'sign_in_request'], []]);
  expect((await here.ranIn('both_returned')).sort()).toEqual(['pull0', 'push1']);
  const rows = await here.box.rows(
    `select kind, state, approver, approval_id is not null as approved from audit_events
     where session_id = 'both_returned' and name = 'push' order by at, kind`,
  );
  expect(rows).toEqual([
    { kind: 'approval', state: 'approved', approver: 'local', approved: true },
    { kind: 'sign_in', state: 'approved', approver: 'local', approved: true },
    { kind: 'tool_call', state: 'completed', approver: 'local', approved: true },
  ]);
});

verifies('sign-ins.bounded', 'the third sign-in does not help either', async () => {
  here.called.tools = ['push'];
  let asked = 0;
  const { text } = await held('bounded', async () => {
    asked += 1;
    await here.waits.connected('local', 'hub');
  });
  expect(asked).toBe(3);
  expect(text).toContain("The tool server 'hub' needs a sign-in of the caller");
  const [row] = await here.box.rows(`select state, attempt from tool_calls where session_id = 'bounded'`);
  expect(row).toEqual({ state: 'failed', attempt: 1 });
});

verifies('sign-ins.reserved', 'on the chat APIs', async () => {
  const named = { type: 'function', function: { name: 'sign_in_request', parameters: { type: 'object' } } };
  const { status, body } = await post(here.box.url, '/v1/chat/completions', { messages: [user('Go')], tools: [named] });
  expect([status, body.error?.code]).toEqual([400, 'reserved_name']);
});
