import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { Script } from '../support/scripted-upstream.js';
import { readSse, postJson } from '../support/read-sse.js';
import { type SignalboxHere, startSignalboxHere, toolsReady } from '../support/services/start-signalbox.js';
import { messagesOf, post, rounds, workspaceTools } from '../support/scripts.js';
import { withinMs } from '../support/within-ms.js';
import { verifies } from '../verifies.js';

let script: Script;
let box: SignalboxHere;
let web: Server;
let webUrl: string;

beforeAll(async () => {
  web = createServer((request, response) => {
    if (request.url !== '/never') response.end('page');
  });
  await new Promise<void>((resolve) => web.listen(0, '127.0.0.1', resolve));
  webUrl = `http://127.0.0.1:${(web.address() as AddressInfo).port}`;
  box = await startSignalboxHere({
    gateways: 2,
    script: (request, number) => {
      if (typeof script !== 'function') throw new Error('scripts of this file are functions');
      return script(request, number);
    },
    environment: { TOOLS_FETCH_ALLOW: '127.0.0.1', LIMITS_CALLS: '6' },
  });
});
afterAll(async () => {
  await box?.close();
  web.closeAllConnections();
  web.close();
});

const ask = (content: string) => [{ role: 'user', content }];
const lastRequest = () => box.upstream.requests.at(-1)!;

async function query<Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: box.databaseUrl });
  await client.connect();
  try {
    return (await client.query<Row>(sql, values)).rows;
  } finally {
    await client.end();
  }
}

const putFile = (session: string, path: string, text: string) =>
  fetch(`${box.url}/api/sessions/${session}/files/${path}`, { method: 'PUT', body: text });
const getFile = async (session: string, path: string) =>
  (await fetch(`${box.url}/api/sessions/${session}/files/${path}`)).text();

for (const path of ['/api', '/v1']) {
  verifies('chat.auto.loop', `${path}, JSON`, async () => {
    await putFile('loop', 'a.txt', '内容 content');
    script = rounds(
      { text: 'Let me look.', toolCalls: [{ id: 'call_0', name: 'read_file', arguments: { path: 'a.txt' } }] },
      { text: 'It says so.' },
    );
    const { status, body } = await post(box.url, `${path}/chat/completions`, {
      messages: ask('read it'),
      tools: [workspaceTools],
      session_id: 'loop',
    });
    expect(status).toBe(200);
    expect(body.choices).toHaveLength(1);
    expect(body.choices[0]).toMatchObject({
      finish_reason: 'stop',
      message: { role: 'assistant', content: 'Let me look.\n\nIt says so.' },
    });
    expect(body.choices[0]!.message).not.toHaveProperty('tool_calls');
    expect(body.usage).toMatchObject({ prompt_tokens: 20, completion_tokens: 10, total_tokens: 30 });
    expect(body.tool_execution).toMatchObject({
      executed: true,
      tools_called: ['read_file'],
      session_id: 'loop',
      workspace_path: '/mcp_workspaces/loop',
      rounds: 2,
      stopped_by: null,
      calls: [{ name: 'read_file', server: 'workspace', success: true, cached: false, round: 1 }],
    });
    const [, assistant, tool] = messagesOf(lastRequest());
    const [call] = assistant!['tool_calls'] as JsonObject[];
    expect(call!['id']).toMatch(/^call_[0-9a-f]{32}$/);
    expect(assistant).toMatchObject({ role: 'assistant', content: 'Let me look.' });
    expect(tool).toMatchObject({ role: 'tool', tool_call_id: call!['id'], content: '内容 content' });
  });
}

verifies('chat.usage.summed', 'streamed on /v1, shown when asked for', async () => {
  script = rounds({ toolCalls: [{ name: 'get_time', arguments: {} }] }, { text: 'now' });
  const request = { messages: ask('time'), tools: [workspaceTools], stream: true };
  const silent = await readSse(await postJson(`${box.url}/v1/chat/completions`, request));
  expect(silent.events.some((event) => 'usage' in event)).toBe(false);
  const shown = await readSse(
    await postJson(`${box.url}/v1/chat/completions`, { ...request, stream_options: { include_usage: true } }),
  );
  expect(shown.events.at(-1)).toMatchObject({ choices: [], usage: { total_tokens: 30 } });
  expect(shown.done).toBe(true);
});

verifies('chat.auto.parallel', 'those that only read do not wait for each other', async () => {
  const offsets = [1, 2, 3];
  script = rounds(
    { toolCalls: offsets.map((offset_ms) => ({ name: 'get_time', arguments: { offset_ms } })) },
    { text: 'done' },
  );
  const kinds = async (parallel_tool_calls: boolean) => {
    const request = { messages: ask('times'), tools: [workspaceTools], stream: true, parallel_tool_calls };
    const { events } = await readSse(await postJson(`${box.url}/api/chat/completions`, request));
    const reported = events.filter((event) => event['status'] === 'queued' || event['type'] === 'tool_result');
    return reported.map((event) => event['status'] ?? 'result');
  };
  const oneByOne = ['queued', 'result', 'queued', 'result', 'queued', 'result'];
  // In any order: a quick tool may end before another is reported.
  expect(await kinds(true)).not.toEqual(oneByOne);
  expect(await kinds(false)).toEqual(oneByOne);
});

verifies('chat.auto.parallel', 'those that change the session run in call order', async () => {
  const letters = ['a', 'b', 'c', 'd', 'e'];
  script = rounds(
    {
      toolCalls: letters.map((content) => ({
        name: 'write_file',
        arguments: { path: 'order.txt', content, append: true },
      })),
    },
    { text: 'done' },
  );
  await post(box.url, '/api/chat/completions', { messages: ask('go'), tools: [workspaceTools], session_id: 'order' });
  expect(await getFile('order', 'order.txt')).toBe('abcde');
  const results = messagesOf(lastRequest()).filter((message) => message['role'] === 'tool');
  const calls = messagesOf(lastRequest()).find((message) => message['role'] === 'assistant')!['tool_calls'];
  expect(results.map((message) => message['tool_call_id'])).toEqual((calls as JsonObject[]).map((call) => call['id']));
});

verifies('chat.tools.failures', 'each failure is told to the model', async () => {
  script = rounds(
    {
      toolCalls: [
        { name: 'no_such_tool', arguments: {} },
        { name: 'read_file', arguments: '{"path":' },
        { name: 'read_file', arguments: { path: 5 } },
        { name: 'read_file', arguments: { path: 'missing.txt' } },
        { name: 'read_file', arguments: { path: '/etc/passwd' } },
      ],
    },
    { text: 'I could not.' },
  );
  const stream = await readSse(
    await postJson(`${box.url}/api/chat/completions`, { messages: ask('fail'), tools: [workspaceTools], stream: true }),
  );
  const results = stream.events.filter((event) => event['type'] === 'tool_result');
  const codes = results.map((event) => (event['result'] as { error: { code: string } }).error.code);
  expect(codes.sort()).toEqual([
    'invalid_tool_arguments',
    'invalid_tool_arguments',
    'path_outside_workspace',
    'tool_failed',
    'tool_not_found',
  ]);
  expect(stream.events.at(-1)).toMatchObject({ type: 'done', finish_reason: 'stop' });
  const reported = messagesOf(lastRequest()).filter((message) => message['role'] === 'tool');
  expect(reported).toHaveLength(5);
  expect(reported[0]!['content']).toContain('no_such_tool');
  expect(JSON.stringify(reported)).not.toContain(box.workspacesDir);
  const ids = reported.map((message) => message['tool_call_id'] as string);
  const audit = await query('select call_id from audit_events where call_id = any($1)', [ids]);
  expect(audit).toHaveLength(5);
});

verifies('chat.bounds.rounds', 'max_tool_rounds: one more call without tools', async () => {
  let number = 0;
  script = (request) =>
    request.body['tools'] === undefined
      ? { text: 'the end', toolCalls: [{ name: 'get_time', arguments: {} }] }
      : { toolCalls: [{ name: 'get_time', arguments: { offset_ms: number++ } }] };
  const before = box.upstream.requests.length;
  const { body } = await post(box.url, '/api/chat/completions', {
    messages: ask('for ever'),
    tools: [workspaceTools],
    max_tool_rounds: 2,
  });
  expect(box.upstream.requests.length - before).toBe(3);
  expect(body.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'the end' } });
  expect(body.tool_execution).toMatchObject({ rounds: 3, stopped_by: 'max_rounds' });
  expect(body.warnings![0]!.message).toMatch(
    /No more tools were used: .* 2 rounds, .*`max_tool_rounds`.* another message/,
  );
  expect(lastRequest().body).not.toHaveProperty('tool_choice');
});

verifies('chat.bounds.calls', 'more calls than a turn may make', async () => {
  let number = 0;
  script = (request) =>
    request.body['tools'] === undefined
      ? { text: 'enough' }
      : { toolCalls: Array.from({ length: 4 }, () => ({ name: 'get_time', arguments: { offset_ms: number++ } })) };
  const { body } = await post(box.url, '/api/chat/completions', { messages: ask('many'), tools: [workspaceTools] });
  expect(body.choices[0]!.message.content).toBe('enough');
  expect(body.tool_execution!.stopped_by).toBe('max_calls');
  expect(body.warnings![0]!.message).toMatch(/6 tool calls, .*`limits\.calls`/);
  const said = messagesOf(lastRequest()).map(({ content }) => JSON.stringify(content));
  const refused = said.filter((text) => text.includes('The call was not run'));
  expect(refused).toEqual([
    expect.stringContaining('the turn made 6 tool calls, the most it may'),
    expect.stringContaining('the turn made 6 tool calls, the most it may'),
  ]);
  expect(body.tool_execution!.calls.filter((call) => call.success)).toHaveLength(6);
});

verifies('chat.bounds.repeated-failure', 'the same missing file again and again', async () => {
  script = (request) =>
    request.body['tools'] === undefined
      ? { text: 'gave up' }
      : { toolCalls: [{ name: 'read_file', arguments: { path: 'nope' } }] };
  const { body } = await post(box.url, '/api/chat/completions', { messages: ask('again'), tools: [workspaceTools] });
  expect(body.choices[0]!.message.content).toBe('gave up');
  expect(body.tool_execution).toMatchObject({ stopped_by: 'repeated_failure', rounds: 4 });
  expect(body.warnings![0]!.message).toMatch(/the same call failed 3 times in a row .*`limits\.repeated_failures`/);
});

verifies('chat.bounds.time', 'a tool that outlasts the turn', async () => {
  const { url } = await box.startGateway({ LIMITS_TURN_MS: '1500' });
  await toolsReady(url);
  script = rounds({ toolCalls: [{ name: 'fetch', arguments: { url: `${webUrl}/never` } }] }, (request) => ({
    text: request.body['tools'] === undefined ? 'no more time' : 'more tools',
  }));
  const { body } = await post(url, '/api/chat/completions', { messages: ask('slow'), tools: [workspaceTools] });
  expect(body.choices[0]!.message.content).toBe('no more time');
  expect(body.tool_execution).toMatchObject({ stopped_by: 'max_time', calls: [{ name: 'fetch', success: false }] });
  expect(body.warnings![0]!.message).toMatch(/the turn took longer than its 1\.5 s \(`limits\.turn_ms`\)/);
});

verifies('chat.abort.upstream', 'while the model answers', async () => {
  const caller = new AbortController();
  script = () => ({ text: ['one', 'two'], end: 'stall', finishReason: null });
  const number = box.upstream.requests.length + 1;
  const response = await fetch(`${box.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ messages: ask('x'), stream: true }),
    signal: caller.signal,
  });
  const upstream = await box.upstream.received(number);
  await response.body!.getReader().read();
  const left = performance.now();
  caller.abort();
  await upstream.clientGone;
  expect(performance.now() - left).toBeLessThan(withinMs(1_000));
});

verifies('chat.abort.upstream', 'while a tool runs: the call is cancelled and audited', async () => {
  script = rounds({ toolCalls: [{ name: 'fetch', arguments: { url: `${webUrl}/never` } }] });
  const caller = new AbortController();
  const reached = new Promise<void>((resolve) => web.once('request', () => resolve()));
  const answer = fetch(`${box.url}/api/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': 'abandoned-while-running' },
    body: JSON.stringify({ messages: ask('x'), tools: [workspaceTools] }),
    signal: caller.signal,
  });
  await reached;
  const closed = new Promise<void>((resolve) => {
    const poll = setInterval(() => {
      web.getConnections((_error, connections) => {
        if (connections > 0) return;
        clearInterval(poll);
        resolve();
      });
    }, 20);
  });
  caller.abort();
  await expect(answer).rejects.toThrow();
  const left = performance.now();
  await closed;
  expect(performance.now() - left).toBeLessThan(withinMs(2_000));
  const find = () =>
    query<{ error_code: string; state: string }>(
      "select error_code, state from audit_events where request_id = 'abandoned-while-running'",
    );
  await expect.poll(find, { timeout: 5_000 }).toEqual([{ error_code: 'cancelled', state: 'cancelled' }]);
  const [run] = await query<{ state: string }>("select state from runs where request_id = 'abandoned-while-running'");
  expect(run!.state).toBe('cancelled');
});
