import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, inject } from 'vitest';
import { postJson, readSse } from '../support/read-sse.js';
import type { Script } from '../support/scripted-upstream.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { messagesOf, post, rounds, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let script: Script;
let box: SignalboxHere;
let web: Server;
let webUrl: string;
let held: ServerResponse[] = [];

beforeAll(async () => {
  web = createServer((_request, response) => void held.push(response));
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  webUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  box = await startSignalboxHere({
    gateways: 2,
    script: (request, number) => {
      if (typeof script !== 'function') throw new Error('scripts of this file are functions');
      return script(request, number);
    },
    environment: { TOOLS_FETCH_ALLOW: '127.0.0.1' },
  });
});
afterAll(async () => {
  await box?.close();
  web.closeAllConnections();
  web.close();
});

const ask = (content: string) => [{ role: 'user', content }];
const chat = '/api/chat/completions';
const other = () => box.gateways[1]!.url;

interface RunState {
  id: string;
  state: string;
  session_id: string;
  rounds: number;
  usage: { total_tokens: number };
  tool_execution?: { tools_called: string[] };
  error?: { code: string };
}
const runState = async (url: string, id: string) => (await (await fetch(`${url}/api/runs/${id}`)).json()) as RunState;

/** A tool that waits until the test releases it. */
const waiting = () =>
  rounds({ text: 'wait', toolCalls: [{ name: 'fetch', arguments: { url: `${webUrl}/` } }] }, { text: 'went on' });

async function heldRequest(): Promise<ServerResponse> {
  const known = held.shift();
  if (known !== undefined) return known;
  await new Promise((resolve) => web.once('request', resolve));
  return held.shift()!;
}

verifies('chat.runs.state', 'done, with what it took', async () => {
  script = rounds({ toolCalls: [{ name: 'get_time', arguments: {} }] }, { text: 'now' });
  const answer = await post(box.url, chat, { messages: ask('t'), tools: [workspaceTools], session_id: 'state' });
  const id = answer.headers.get('x-run-id')!;
  // The gateway that ran it waits until its end is written; another one may see it running for a moment.
  expect((await runState(box.url, id)).state).toBe('done');
  expect(await runState(other(), id)).toMatchObject({
    id,
    state: 'done',
    session_id: 'state',
    rounds: 2,
    usage: { total_tokens: 30 },
    tool_execution: { tools_called: ['get_time'] },
  });
  expect((await fetch(`${box.url}/api/runs/run_unknown`)).status).toBe(404);
});

verifies('chat.idempotency.attach', 'two at once, on two gateways, streamed and not', async () => {
  script = waiting();
  held = [];
  const before = box.upstream.requests.length;
  const headers = { 'idempotency-key': 'twice-at-once' };
  const body = { messages: ask('twice'), tools: [workspaceTools], stream: true };
  const first = postJson(`${box.url}${chat}`, body, headers).then((response) => readSse(response));
  const released = await heldRequest();
  const second = postJson(`${other()}${chat}`, body, headers).then((response) => readSse(response));
  released.end('page');
  const [one, two] = await Promise.all([first, second]);
  expect(one.headers.get('x-run-id')).toBe(two.headers.get('x-run-id'));
  expect(two.events).toEqual(one.events);
  expect(two.ids).toEqual(one.ids);
  expect(two.done).toBe(true);
  const third = await readSse(await postJson(`${other()}${chat}`, body, headers));
  expect(third.events).toEqual(one.events);
  expect(box.upstream.requests.length - before).toBe(2);
});

verifies('chat.idempotency.attach', 'a plain JSON chat is answered once', async () => {
  script = rounds({ text: 'once' });
  const before = box.upstream.requests.length;
  const headers = { 'idempotency-key': 'plain-json' };
  const body = { messages: ask('plain') };
  const answers = await Promise.all(
    [box.url, other(), box.url, other()].map((url) => post(url, '/v1/chat/completions', body, headers)),
  );
  for (const answer of answers) expect(answer.body).toEqual(answers[0]!.body);
  expect(answers[0]!.body.choices[0]!.message.content).toBe('once');
  expect(box.upstream.requests.length - before).toBe(1);
});

verifies('chat.idempotency.mismatch', 'another body', async () => {
  script = rounds({ text: 'once' });
  const headers = { 'idempotency-key': 'mismatch' };
  await post(box.url, chat, { messages: ask('one') }, headers);
  const { status, body } = await post(other(), chat, { messages: ask('two') }, headers);
  expect(status).toBe(409);
  expect(body.error).toMatchObject({ type: 'conflict_error', code: 'idempotency_mismatch' });
});

verifies(
  'chat.idempotency.attach',
  'a caller who was cut off comes back with the key: the tool does not run again',
  async () => {
    const path = 'effects.txt';
    script = rounds(
      { toolCalls: [{ name: 'write_file', arguments: { path, content: 'effect\n', append: true } }] },
      { toolCalls: [{ name: 'fetch', arguments: { url: `${webUrl}/` } }] },
      { text: 'finished' },
    );
    held = [];
    const headers = { 'idempotency-key': 'cut-off' };
    const body = { messages: ask('effect'), tools: [workspaceTools], session_id: 'cut', stream: true };
    const caller = new AbortController();
    const first = fetch(`${box.url}${chat}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: caller.signal,
    }).then((response) => readSse(response));
    await heldRequest();
    const [run] = await box.rows<{ id: string }>("select id from runs where idempotency_key = 'cut-off'");
    const state = async () => (await runState(other(), run!.id)).state;
    caller.abort();
    await expect(first).rejects.toThrow();
    await expect.poll(state).toBe('interrupted');
    // Leaves too, while a call of the last round still runs, as if its gateway had died.
    const lastCallIs = (journaled: string) =>
      box.rows("update tool_calls set state = $2 where run_id = $1 and name = 'fetch'", [run!.id, journaled]);
    await lastCallIs('dispatched');
    const leaving = new AbortController();
    const second = fetch(`${other()}${chat}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: leaving.signal,
    }).then((response) => readSse(response));
    await expect.poll(state).toBe('running');
    leaving.abort();
    await expect(second).rejects.toThrow();
    await expect.poll(state).toBe('interrupted');
    await lastCallIs('cancelled');
    held = [];
    const again = readSse(await postJson(`${other()}${chat}`, body, headers));
    // The second round's tool was cancelled with the caller. Its result says so, and the model is called again.
    const { events, done, ids } = await again;
    expect(done).toBe(true);
    expect(events.at(-1)).toMatchObject({ type: 'done', finish_reason: 'stop' });
    expect(new Set(ids).size).toBe(ids.length);
    const results = events.filter((event) => event['type'] === 'tool_result');
    expect(results.map((event) => (event['result'] as { success: boolean }).success)).toEqual([true, false]);
    const file = await fetch(`${box.url}/api/sessions/cut/files/${path}`);
    expect(await file.text()).toBe('effect\n');
  },
);

verifies('reliability.given-up-and-back', 'its own gateway is asked again, before and after', async () => {
  script = waiting();
  held = [];
  const before = box.upstream.requests.length;
  const again = () =>
    post(box.url, chat, { messages: ask('paused'), tools: [workspaceTools] }, { 'idempotency-key': 'paused' });
  const first = again();
  const released = await heldRequest();
  const second = again();
  // What other processes do to a run whose gateway is suspended.
  await box.rows("update runs set state = 'interrupted', ended_at = now() where idempotency_key = 'paused'");
  const third = again();
  const states = () => box.rows<{ state: string }>("select state from runs where idempotency_key = 'paused'");
  await expect.poll(states, { timeout: 10_000 }).toEqual([{ state: 'running' }]);
  released.end('page');
  const answers = await Promise.all([first, second, third]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  for (const { body } of answers) expect(body.choices[0]!.message.content).toContain('went on');
  expect(box.upstream.requests.length - before).toBe(2);
  expect(await states()).toEqual([{ state: 'done' }]);
});

verifies('chat.runs.resume', 'from any number, on the other gateway, while it runs', async () => {
  script = waiting();
  held = [];
  const began = await postJson(`${box.url}${chat}`, { messages: ask('r'), tools: [workspaceTools], stream: true });
  const id = began.headers.get('x-run-id')!;
  const whole = readSse(began);
  const released = await heldRequest();
  const resumed = fetch(`${other()}/api/runs/${id}/events`, { headers: { 'last-event-id': '2' } });
  const rest = resumed.then((response) => readSse(response));
  released.end('page');
  const [all, after] = await Promise.all([whole, rest]);
  expect(all.ids).toEqual(all.ids.map((_, at) => at + 1));
  expect(after.ids).toEqual(all.ids.slice(2));
  expect(after.events).toEqual(all.events.slice(2));
  expect(after.done).toBe(true);
  const ended = await readSse(await fetch(`${box.url}/api/runs/${id}/events`));
  expect(ended.events).toEqual(all.events);
});

verifies('chat.runs.cancel', 'through the gateway that does not run it', async () => {
  script = waiting();
  held = [];
  const began = await postJson(`${box.url}${chat}`, { messages: ask('c'), tools: [workspaceTools], stream: true });
  const id = began.headers.get('x-run-id')!;
  const whole = readSse(began);
  const tool = await heldRequest();
  const toolGone = new Promise((resolve) => tool.once('close', resolve));
  const cancelled = await fetch(`${other()}/api/runs/${id}`, { method: 'DELETE' });
  expect((await cancelled.json()) as RunState).toMatchObject({ id, state: 'cancelled' });
  await toolGone;
  const { events, done } = await whole;
  expect(done).toBe(false);
  expect(events.at(-1)).toMatchObject({ error: { code: 'cancelled' } });
});

verifies('chat.runs.detach', 'the caller goes, the run goes on', async () => {
  script = waiting();
  held = [];
  const caller = new AbortController();
  const body = { messages: ask('d'), tools: [workspaceTools], stream: true, on_disconnect: 'detach' };
  const began = await fetch(`${box.url}${chat}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: caller.signal,
  });
  const id = began.headers.get('x-run-id')!;
  const released = await heldRequest();
  caller.abort();
  released.end('page');
  const { events, done } = await readSse(await fetch(`${other()}/api/runs/${id}/events`));
  expect(done).toBe(true);
  expect(events.at(-1)).toMatchObject({ type: 'done', finish_reason: 'stop' });
  expect((await runState(box.url, id)).state).toBe('done');
});

verifies('chat.runs.state', 'a turn that failed says why, here and in its events', async () => {
  script = rounds(
    { toolCalls: [{ name: 'get_time', arguments: {} }] },
    { text: ['half'], end: 'fin', finishReason: null },
  );
  const answer = await post(box.url, chat, { messages: ask('f'), tools: [workspaceTools] });
  expect(answer.status).toBe(502);
  expect(answer.body.error!.code).toBe('model_stream_cut');
  const id = answer.headers.get('x-run-id')!;
  expect(await runState(other(), id)).toMatchObject({ state: 'failed', error: { code: 'model_stream_cut' } });
  const { events, done } = await readSse(await fetch(`${other()}/api/runs/${id}/events`));
  expect(done).toBe(false);
  expect(events.at(-1)).toMatchObject({ error: { code: 'model_stream_cut' } });
  expect(messagesOf(box.upstream.requests.at(-1)!).some((message) => message['role'] === 'tool')).toBe(true);
});

verifies('reliability.few-database-connections', 'two gateways and a worker, 64 calls at once', async () => {
  const callTool = async (url: string) => {
    const answer = await postJson(`${url}/api/tools/call`, { name: 'get_time', arguments: {} });
    await answer.arrayBuffer();
    return answer.status;
  };
  for (let round = 0; round < 2; round += 1) {
    const urls = Array.from({ length: 64 }, (_, index) => box.gateways[index % 2]!.url);
    const statuses = await Promise.all(urls.map(callTool));
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
  }
  // Idle connections are kept for half a minute and longer.
  const rows = await box.rows<{ count: number }>(
    `select count(*)::int as count from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() group by application_name`,
  );
  expect(rows).toHaveLength(3);
  const most = inject('backing') === 'redis' ? 8 : 15;
  for (const { count } of rows) expect(count).toBeLessThanOrEqual(most);
});
