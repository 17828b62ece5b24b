// Questions of tool servers that their askers abandon, at every door: later calls of the session, and their questions, go on.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from '#libs/schemas/json.js';
import { askedClients } from '../support/asking-clients.js';
import { answersIn, asking, askingServersOfFile, decide, long, tools, user } from '../support/asking-servers.js';
import { eventsOf } from '../support/events-client.js';
import { verifies } from '../verifies.js';

askingServersOfFile();

/** More than the concurrency of a server. */
const times = 5;
const post = (path: string, body: object) =>
  fetch(`${asking.box.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Waiting questions of the session, oldest first. */
async function waiting(session: string): Promise<JsonObject[]> {
  const listed = await fetch(`${asking.box.url}/api/approvals?state=waiting&order=asc&limit=100`);
  const { data } = (await listed.json()) as { data: JsonObject[] };
  return data.filter((each) => each['session_id'] === session);
}

/** A client that never answers. */
async function modernClient(): Promise<Client> {
  const identity = { name: 'abandons', version: '1' };
  const client = new Client(identity, {
    capabilities: { elicitation: { form: {} } },
    versionNegotiation: { mode: 'auto' },
    inputRequired: { autoFulfill: false },
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${asking.box.url}/mcp`)));
  return client;
}

/** Each asks a question of the tool in the session, and leaves it unanswered. Returns what ends it. */
const doors: Record<string, (tool: string, session: string) => Promise<() => Promise<void> | void>> = {
  'MCP, 2026-07-28': async (tool, session) => {
    const client = await modernClient();
    const params = { name: tool, arguments: {}, _meta: { 'signalbox/session_id': session } };
    const options = { allowInputRequired: true } as object;
    const asked = await client.request({ method: 'tools/call', params }, z.looseObject({}), options);
    expect(asked).toMatchObject({ resultType: 'input_required' });
    await client.close();
    return () => undefined;
  },
  'MCP, as before 2026': async (tool, session) => {
    const cancel = new AbortController();
    const client = await askedClients['the 2.x client, as before 2026'](asking.box.url, () => {
      cancel.abort();
      return new Promise(() => undefined);
    });
    const params = { name: tool, arguments: {}, _meta: { 'signalbox/session_id': session } };
    await expect(client.call(params, { signal: cancel.signal })).rejects.toThrow();
    return () => client.close();
  },
  'the tools API': async (tool, session) => {
    expect((await post('/api/tools/call', { name: tool, arguments: {}, session_id: session })).status).toBe(202);
    return () => undefined;
  },
  'a chat that returns': async (tool, session) => {
    asking.called = { tool, arguments: {} };
    const body = { model: 'scripted/model', messages: [user('Book')], tools, session_id: session };
    expect(await (await post('/v1/chat/completions', body)).text()).toContain('approval_request');
    return () => undefined;
  },
  'a held stream': async (tool, session) => {
    const leave = new AbortController();
    const body = { name: tool, arguments: {}, session_id: session };
    const events = eventsOf(asking.box.url, '/api/tools/call', body, { signal: leave.signal })[Symbol.asyncIterator]();
    for (let type: unknown; type !== 'approval_required';) type = (await events.next()).value?.['type'];
    return () => leave.abort();
  },
};

/** On a pipe a question does not name its call, and `book_single` runs one call at a time. */
const pipes = ['book', 'book_single'];
const cases = Object.keys(doors).flatMap((door, at) =>
  (at === 0 ? [...pipes, 'book_new', 'book_http', 'book_new_http'] : pipes).map((tool) => [door, tool] as const),
);

for (const [at, [door, tool]] of cases.entries()) {
  verifies('questions.abandoned', `${door}, ${tool}`, async () => {
    const session = `abandoned_${at}`;
    const ends: (() => Promise<void> | void)[] = [];
    for (let left = times; left > 0; left -= 1) ends.push(await doors[door]!(tool, session));
    const client = await askedClients['the 2.x client, 2026-07-28'](asking.box.url, () => ({
      action: 'accept',
      content: { name: 'Ada' },
    }));
    const params = { name: tool, arguments: { times: 2 }, _meta: { 'signalbox/session_id': session } };
    const { content } = await client.call(params, { signal: AbortSignal.timeout(20_000) });
    await client.close();
    expect(answersIn((content as { text: string }[])[0]!.text)).toMatchObject([
      { action: 'accept', content: { name: 'Ada' } },
      { action: 'accept' },
    ]);
    for (const { id } of await waiting(session)) {
      expect(await decide(id as string, { decision: 'deny' })).toMatchObject({ status: 200 });
    }
    for (const end of ends) await end();
  });
}

verifies('questions.abandoned', 'answered late: their places are taken again, one after the other', async () => {
  const session = 'abandoned_answered';
  for (let left = times; left > 0; left -= 1) await doors['MCP, 2026-07-28']!('book_single', session);
  const open = (await waiting(session)).map(({ id }) => id as string);
  expect(open).toHaveLength(times);
  const answers = open.map((id) => decide(id, { decision: 'approve', arguments: { name: id } }));
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(open.map(() => 200));
  const ended = async () => {
    const rows = `select result from audit_events where session_id = $1 and kind = 'tool_call' and state = 'completed'`;
    return (await asking.box.rows<{ result: string }>(rows, [session])).map(({ result }) => result).join();
  };
  for (const id of open) await expect.poll(ended, long).toContain(id);
});
