import pg from 'pg';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { Script } from '../support/scripted-upstream.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { functionTool, messagesOf, post, rounds, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let script: Script;
let box: SignalboxHere;

beforeAll(async () => {
  box = await startSignalboxHere({
    gateways: 2,
    script: (request, number) => {
      if (typeof script !== 'function') throw new Error('scripts of this file are functions');
      return script(request, number);
    },
  });
});
afterAll(() => box?.close());

const ask = (content: string) => [{ role: 'user', content }];
const lastRequest = () => box.upstream.requests.at(-1)!;
const putFile = (session: string, path: string, text: string) =>
  fetch(`${box.url}/api/sessions/${session}/files/${path}`, { method: 'PUT', body: text });

verifies('chat.client.tools', 'on /v1 a function is the caller’s, even one that is in the catalog', async () => {
  script = rounds({ toolCalls: [{ id: 'call_0', name: 'read_file', arguments: { path: 'x' } }] });
  const tools = [functionTool('read_file')];
  const { body } = await post(box.url, '/v1/chat/completions', { messages: ask('x'), tools });
  expect(body.choices[0]).toMatchObject({ finish_reason: 'tool_calls', message: { role: 'assistant', content: null } });
  const [call] = body.choices[0]!.message.tool_calls!;
  expect(call).toMatchObject({ type: 'function', function: { name: 'read_file', arguments: '{"path":"x"}' } });
  expect(call!.id).toMatch(/^call_[0-9a-f]{32}$/);
  expect(body).not.toHaveProperty('tool_execution');
});

verifies('chat.manual', 'server entries too', async () => {
  script = rounds({ toolCalls: [{ name: 'read_file', arguments: { path: 'x' } }] });
  for (const tools of [[workspaceTools], [functionTool('read_file')]]) {
    const request = { messages: ask('x'), tools, tool_mode: 'manual' };
    const { body } = await post(box.url, '/api/chat/completions', request);
    expect(body.choices[0]!.finish_reason).toBe('tool_calls');
    expect(body.choices[0]!.message.tool_calls![0]!.function.name).toBe('read_file');
  }
});

const mixedTools = [
  workspaceTools,
  functionTool('ask_person', { type: 'object', properties: { q: { type: 'string' } } }),
];

/** Round 1: only a server call; round 2: a server and a client call with the same id; then an answer. */
const mixedScript = rounds(
  { text: 'first', toolCalls: [{ id: 'call_0', name: 'read_file', arguments: { path: 'own.txt' } }] },
  {
    text: 'second',
    toolCalls: [
      { id: 'call_0', name: 'ask_person', arguments: { q: 'name?' } },
      { id: 'call_0', name: 'get_time', arguments: { offset_ms: 1 } },
    ],
  },
  { text: 'third' },
);

verifies('chat.mixed.restored', 'two sessions, two gateways, the same history twice', async () => {
  script = mixedScript;
  const [first, second] = box.gateways;
  const sessions = ['mixed_a', 'mixed_b'];
  for (const session of sessions) await putFile(session, 'own.txt', `file of ${session}`);
  const started = await Promise.all(
    sessions.map((session_id) =>
      post(first!.url, '/v1/chat/completions', { messages: ask(session_id), tools: mixedTools, session_id }),
    ),
  );
  for (const [at, { body }] of started.entries()) {
    expect(body.choices[0]!.finish_reason).toBe('tool_calls');
    const { message } = body.choices[0]!;
    expect(message.tool_calls!.map((call) => call.function.name)).toEqual(['ask_person']);
    expect(message.content).toBe('first\n\nsecond');
    const history = [
      ...ask(sessions[at]!),
      message,
      { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: `I am ${sessions[at]}` },
    ];
    const follow = { messages: history, tools: mixedTools, session_id: sessions[at]! };
    let seen: JsonObject[] | undefined;
    for (const gateway of [second!, first!, second!]) {
      const next = await post(gateway.url, '/v1/chat/completions', follow);
      expect(next.body.choices[0]!.message.content).toBe('third');
      const messages = messagesOf(lastRequest());
      expect(messages.map((each) => each['role'])).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool', 'tool']);
      expect(messages[1]).toMatchObject({ content: 'first', tool_calls: [{ function: { name: 'read_file' } }] });
      expect(messages[2]!['content']).toBe(`file of ${sessions[at]}`);
      const names = (messages[3]!['tool_calls'] as { function: { name: string } }[]).map((call) => call.function.name);
      expect(names).toEqual(['ask_person', 'get_time']);
      expect(messages[4]!['content']).toBe(`I am ${sessions[at]}`);
      const ids = messages.flatMap((each) => ((each['tool_calls'] ?? []) as JsonObject[]).map((call) => call['id']));
      expect(new Set(ids).size).toBe(3);
      expect(messages.filter((each) => each['role'] === 'tool').map((each) => each['tool_call_id'])).toEqual(ids);
      expect(seen ?? messages).toEqual(messages);
      seen = messages;
    }
    // Turn 3 continues from the whole history, which is complete again.
    const third = await post(first!.url, '/v1/chat/completions', {
      ...follow,
      messages: [...history, { role: 'assistant', content: 'third' }, ...ask('and now?')],
    });
    expect(third.status).toBe(200);
    expect(messagesOf(lastRequest()).slice(0, 6)).toEqual(seen);
  }
});

verifies('chat.mixed.expired', 'a deleted session’s turn', async () => {
  script = mixedScript;
  await putFile('mixed_c', 'own.txt', 'c');
  const request = { messages: ask('c'), tools: mixedTools, session_id: 'mixed_c' };
  const { body } = await post(box.url, '/v1/chat/completions', request);
  const { message } = body.choices[0]!;
  await fetch(`${box.url}/api/sessions/mixed_c`, { method: 'DELETE' });
  const follow = await post(box.url, '/v1/chat/completions', {
    ...request,
    messages: [...ask('c'), message, { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: 'x' }],
  });
  expect(follow.status).toBe(400);
  expect(follow.body.error).toMatchObject({ type: 'invalid_request_error', code: 'turn_expired', param: 'messages' });
});

verifies('chat.plain.not-stored', 'neither a plain chat nor a turn of client tools', async () => {
  const count = async () => {
    const client = new pg.Client({ connectionString: box.databaseUrl });
    await client.connect();
    const { rows } = await client.query<{ count: string }>('select count(*) from runs');
    await client.end();
    return rows[0]!.count;
  };
  const before = await count();
  script = rounds({ text: 'hi' });
  await post(box.url, '/v1/chat/completions', { messages: ask('hi') });
  script = rounds({ toolCalls: [{ name: 'mine', arguments: {} }] });
  await post(box.url, '/v1/chat/completions', { messages: ask('hi'), tools: [functionTool('mine')] });
  expect(await count()).toBe(before);
});

verifies('chat.mixed.restored', 'reasoning that the client dropped, for a provider that wants it back', async () => {
  const provider = { kind: 'openai', base_url: box.upstream.baseUrl, reasoning_replay: 'always' };
  const environment = { MODELS_PROVIDERS: JSON.stringify({ thinking: provider }), DEFAULT_MODEL: 'thinking/model' };
  const gateways = [await box.startGateway(environment), await box.startGateway(environment)] as const;
  script = rounds(
    { reasoning: 'I must ask.', toolCalls: [{ id: 'call_0', name: 'mine', arguments: {} }] },
    { text: 'ok' },
  );
  const tools = [functionTool('mine')];
  const { body } = await post(gateways[0].url, '/v1/chat/completions', { messages: ask('think'), tools });
  const { reasoning_content, ...message } = body.choices[0]!.message;
  expect(reasoning_content).toBe('I must ask.');
  const result = { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: 'x' };
  const messages = [...ask('think'), message, result];
  const follow = await post(gateways[1].url, '/v1/chat/completions', { messages, tools });
  expect(follow.body.choices[0]!.message.content).toBe('ok');
  expect(messagesOf(lastRequest())[1]).toMatchObject({ role: 'assistant', reasoning_content: 'I must ask.' });
});
