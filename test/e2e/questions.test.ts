// Questions of tool servers during calls on open streams, answered through the API of any gateway.
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import {
  ada,
  answersIn,
  asking,
  askingServersOfFile,
  decide,
  held,
  long,
  shown,
  tools,
  user,
} from '../support/asking-servers.js';
import { eventsOf } from '../support/events-client.js';
import { metricOf } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

askingServersOfFile();

for (const tool of ['book', 'book_http', 'book_new', 'book_new_http']) {
  verifies('questions.held', `${tool}: two questions, answered on the other gateway`, async () => {
    asking.called = { tool, arguments: { times: 2 } };
    const asked: JsonObject[] = [];
    const { types, text } = await held(`held_${tool}`, async (question) => {
      asked.push(question);
      const id = question['id'] as string;
      const [second] = asking.box.gateways.slice(1);
      expect(await metricOf(second!.url, 'signalbox_approvals_pending')).toBeGreaterThan(0);
      const waiting = (await (await fetch(`${second!.url}/api/approvals?state=waiting`)).json()) as JsonObject;
      expect(waiting['data']).toContainEqual(expect.objectContaining({ id, kind: 'question', tool, rule: null }));
      const { seats: _none, ...name } = ada.arguments;
      const content = tool.startsWith('book_new') ? name : ada.arguments;
      expect(await decide(id, { ...ada, arguments: content })).toMatchObject({
        status: 200,
        body: { state: 'approved' },
      });
      expect((await decide(id, { decision: 'deny' })).status).toBe(409);
    });
    expect(asked).toMatchObject([
      { kind: 'question', tool, message: 'Who travels? (1)', schema: { type: 'object', required: ['name'] } },
      { kind: 'question', tool, message: 'Who travels? (2)' },
    ]);
    expect(answersIn(text)).toMatchObject([
      { action: 'accept', content: { name: 'Ada' } },
      { action: 'accept', content: { name: 'Ada' } },
    ]);
    expect(types).toContain('tool_result');
  });
}

verifies('questions.held', 'the time that a tool has stands still meanwhile', async () => {
  asking.called = { tool: 'book_brief', arguments: {} };
  const { text } = await held('brief', async (question) => {
    // Longer than the tool's timeout.
    await delay(2_500);
    expect(await shown(question['id'] as string)).toMatchObject({ state: 'waiting' });
    await decide(question['id'] as string, ada);
  });
  expect(answersIn(text)).toMatchObject([{ action: 'accept' }]);
});

verifies('questions.answers', 'declined; the row and its audit say who and what', async () => {
  asking.called = { tool: 'book_http', arguments: {} };
  let id = '';
  const { text } = await held('declined', async (question) => {
    id = question['id'] as string;
    await decide(id, { decision: 'deny', reason: 'not now' });
  });
  expect(answersIn(text)).toEqual([{ action: 'decline' }]);
  expect(await shown(id)).toMatchObject({ state: 'denied', decided_by: 'local', decision_reason: 'not now' });
  const rows = await asking.box.rows('select kind, state, approver from audit_events where approval_id = $1', [id]);
  expect(rows).toEqual([{ kind: 'question', state: 'denied', approver: 'local' }]);
});

verifies(
  'questions.answers',
  'content that does not fit the schema is refused, and the question waits on',
  async () => {
    asking.called = { tool: 'book_http', arguments: {} };
    const { text } = await held('checked', async (question) => {
      const id = question['id'] as string;
      for (const content of [
        {},
        { name: '' },
        { name: 'Ada', seats: 1.5 },
        { name: 'Ada', more: 1 },
        { name: { a: 1 } },
      ]) {
        const refused = await decide(id, { decision: 'approve', arguments: content });
        expect(refused, JSON.stringify(content)).toMatchObject({
          status: 400,
          body: { error: { code: 'invalid_value', param: 'arguments' } },
        });
      }
      await decide(id, ada);
    });
    expect(answersIn(text)).toEqual([{ action: 'accept', content: ada.arguments }]);
  },
);

verifies('questions.answers', 'members that the answer leaves out have their defaults', async () => {
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string' },
      seats: { type: 'integer', default: 2 },
      meal: { type: 'string', default: 'none' },
    },
    required: ['name', 'seats'],
  };
  asking.called = { tool: 'book_http', arguments: { schema } };
  const { text } = await held('defaults', (question) =>
    decide(question['id'] as string, { decision: 'approve', arguments: { name: 'Ada', meal: 'soup' } }),
  );
  expect(answersIn(text)).toEqual([{ action: 'accept', content: { name: 'Ada', seats: 2, meal: 'soup' } }]);
});

verifies(
  'questions.bounded',
  'too many, too long, not flat, and on a connection that says nothing of its call',
  async () => {
    asking.called = { tool: 'book_http', arguments: { times: 11 } };
    const many = await held('many', (question) => decide(question['id'] as string, ada));
    expect(answersIn(many.text).filter(({ action }) => action === 'accept')).toHaveLength(10);
    expect(answersIn(many.text)[10]).toMatchObject({ message: expect.stringContaining('more than 10') });
    const nested = { type: 'object', properties: { a: { type: 'object', properties: {} } } };
    const large = { type: 'object', properties: { a: { type: 'string', description: 'x'.repeat(17_000) } } };
    for (const [name, schema] of Object.entries({ nested, large })) {
      asking.called = { tool: 'book_http', arguments: { schema } };
      const { text, types } = await held(name, async () => undefined);
      expect(types).not.toContain('approval_required');
      expect(answersIn(text), name).toMatchObject([{ code: -32602 }]);
    }
    asking.called = { tool: 'book_sse', arguments: {} };
    const { text } = await held('sse', async () => undefined);
    expect(answersIn(text)).toMatchObject([{ code: -32601 }]);
  },
);

verifies('questions.left', 'the caller goes: the call and its question are cancelled', async () => {
  asking.called = { tool: 'book', arguments: {} };
  const leave = new AbortController();
  let id = '';
  const body = { stream: true, messages: [user('Book')], tools, session_id: 'left' };
  await expect(async () => {
    for await (const event of eventsOf(asking.box.url, '/api/chat/completions', body, { signal: leave.signal })) {
      if (event['type'] !== 'approval_required') continue;
      id = (event['approval'] as JsonObject)['id'] as string;
      leave.abort();
    }
  }).rejects.toThrow();
  await expect.poll(async () => (await shown(id))['state'], long).toBe('cancelled');
  expect((await decide(id, ada)).status).toBe(409);
  const rows = await asking.box.rows('select kind, state, approver from audit_events where approval_id = $1', [id]);
  expect(rows).toEqual([{ kind: 'question', state: 'cancelled', approver: null }]);
});

/** A streamed call of the tools API, whose question is answered with a name of its own. */
async function booked(tool: string, session: string, answer: (question: JsonObject) => Promise<unknown>) {
  const body = { name: tool, arguments: {}, session_id: session };
  for await (const event of eventsOf(asking.box.url, '/api/tools/call', body)) {
    if (event['type'] === 'approval_required') await answer(event['approval'] as JsonObject);
    if (event['type'] === 'tool_result') return (event['result'] as { content: string }).content;
  }
  throw new Error('no result');
}

verifies('questions.bounded', 'sessions that share a connection are asked for their own calls only', async () => {
  const sessions = ['share_a', 'share_b', 'share_c'];
  const open: (() => void)[] = [];
  const texts = await Promise.all(
    sessions.map((session) =>
      booked('book_http', session, async ({ id }) => {
        expect(await shown(id as string)).toMatchObject({ session_id: session });
        // All of them wait at the same time.
        await new Promise<void>((resolve) => open.push(resolve) === sessions.length && open.forEach((each) => each()));
        await decide(id as string, { decision: 'approve', arguments: { name: session } });
      }),
    ),
  );
  expect(texts.map((text) => answersIn(text)[0])).toEqual(
    sessions.map((name) => ({ action: 'accept', content: { name } })),
  );
});

verifies('questions.bounded', 'on a pipe only the one call that runs can be meant', async () => {
  const leave = new AbortController();
  const body = { name: 'wait', arguments: {}, session_id: 'pipe' };
  const events = eventsOf(asking.box.url, '/api/tools/call', body, { signal: leave.signal })[Symbol.asyncIterator]();
  for (let status: unknown; status !== 'running';) status = (await events.next()).value?.['status'];
  const second = await booked('book', 'pipe', () => Promise.reject(new Error('was asked')));
  expect(answersIn(second)).toMatchObject([
    { code: -32602, message: expect.stringContaining('several calls') as string },
  ]);
  leave.abort();
});
