// What tool servers ask models while their calls run (MCP sampling): a strict upstream, and the offline model.
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-upstream.js';
import type { StartedHere } from '../support/services/start-here.js';
import { startSignalboxHere } from '../support/services/start-signalbox.js';
import { askedClients } from '../support/asking-clients.js';
import { mcpClients } from '../support/mcp-clients.js';
import { runScript } from '../support/run-program.js';
import { messagesOf, post } from '../support/scripts.js';
import { startThinkingBox, type ThinkingBox, thinkers, thoughtsIn, userText } from '../support/thinking-servers.js';
import { metricOf } from '../support/tools-client.js';
import { verifies } from '../verifies.js';

let box: ThinkingBox<StartedHere>;
/** The request of the last one that says `Stay`, which is never answered. */
let stayed: ((request: ReceivedRequest) => void) | undefined;

function script(request: ReceivedRequest): ScriptedAnswer | Promise<ScriptedAnswer> {
  const { content } = messagesOf(request).at(-1)!;
  if (content === 'Use the tool') return { toolCalls: [{ id: 'call_0', name: 'think_http', arguments: {} }] };
  if (content === 'Fail') return { status: 500, json: { error: { message: 'secret of the upstream' } } };
  if (content === 'Slow') return { text: 'at last', before: delay(2_500) };
  if (content === 'Cut') return { text: 'cut', finishReason: 'length' };
  if (content === 'Stay') {
    stayed?.(request);
    return { never: true };
  }
  return { text: `heard: ${JSON.stringify(content)}` };
}

beforeAll(async () => {
  box = await startThinkingBox(startSignalboxHere, { script });
}, 90_000);
afterAll(() => box?.closeAll());

async function think(name: string, args: object = {}, key?: string): Promise<JsonObject[]> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  const body = { name, arguments: args, session_id: 'thinks' };
  const { status, body: answer } = await post(box.url, '/api/tools/call', body, headers);
  expect(status, JSON.stringify(answer)).toBe(200);
  return thoughtsIn((answer as unknown as { content: string }).content);
}
const say = (text: string) => ({ params: { messages: [userText(text)] } });

verifies('sampling.answered', 'a request while a resource is read', async () => {
  const { status, body } = await post(box.url, '/api/resources/read', { uri: 'doc://old-thought', server: 'oldHttp' });
  expect(status, JSON.stringify(body)).toBe(200);
  const { contents } = body as unknown as { contents: { text: string }[] };
  expect(JSON.parse(contents[0]!.text)).toMatchObject({ content: { text: 'heard: "Think (1)"' } });
});

for (const tool of thinkers) {
  verifies('sampling.answered', `${tool}: two requests of one call`, async () => {
    const before = await metricOf(box.url, 'signalbox_samplings_total{outcome="ok"}');
    const asked = box.upstream.requests.length;
    const params = { systemPrompt: 'Be brief', temperature: 0.5, stopSequences: ['END'], maxTokens: 77 };
    const thoughts = await think(tool, { times: 2, params });
    expect(thoughts).toEqual(
      [1, 2].map((at) => ({
        role: 'assistant',
        model: 'scripted/model',
        stopReason: 'endTurn',
        content: { type: 'text', text: `heard: "Think (${at})"` },
      })),
    );
    expect(box.upstream.requests[asked]!.body).toMatchObject({
      model: 'model',
      messages: [
        { role: 'system', content: 'Be brief' },
        { role: 'user', content: 'Think (1)' },
      ],
      temperature: 0.5,
      stop: ['END'],
      max_tokens: 77,
    });
    expect(box.upstream.requests[asked]!.body).not.toHaveProperty('tools');
    expect(await metricOf(box.url, 'signalbox_samplings_total{outcome="ok"}')).toBe(before + 2);
  });
}

verifies('sampling.answered', 'the audit has it, and nobody is asked to decide', async () => {
  await think('think_http', say('Remember me'));
  const rows = await box.rows<{ arguments: string; result: string }>(
    `select principal, model, tool, success, arguments, result from audit_events where kind = 'sampling' order by at desc limit 1`,
  );
  expect(rows).toMatchObject([{ principal: 'local', model: 'scripted/model', tool: 'think_http', success: true }]);
  expect(rows[0]!.arguments).toContain('Remember me');
  expect(rows[0]!.result).toContain('heard: ');
  const stored = await box.rows<{ id: string }>(`select id from approvals where kind = 'sampling' limit 1`);
  expect(stored).toHaveLength(1);
  expect((await fetch(`${box.url}/api/approvals/${stored[0]!.id}`)).status).toBe(404);
  expect(await (await fetch(`${box.url}/api/approvals`)).json()).toMatchObject({ data: [] });
  const calls = await metricOf(box.url, 'signalbox_model_calls_total{provider="scripted",model="model",outcome="ok"}');
  expect(calls).toBeGreaterThan(8);
});

verifies('sampling.answered', 'within a chat, and for an MCP client that cannot be asked anything', async () => {
  const body = { messages: [{ role: 'user', content: 'Use the tool' }], tools: [{ type: 'mcp', server_label: '*' }] };
  const { body: answer } = await post(box.url, '/v1/chat/completions', body);
  const thoughts = JSON.stringify([
    {
      model: 'scripted/model',
      stopReason: 'endTurn',
      role: 'assistant',
      content: { type: 'text', text: 'heard: "Think (1)"' },
    },
  ]);
  expect(answer.choices[0]!.message.content).toContain(JSON.stringify(thoughts).slice(2, 30));
  for (const connect of Object.values(mcpClients)) {
    const client = await connect(box.url);
    const { content } = await client.call({ name: 'think_new_http', arguments: {} });
    await client.close();
    expect(thoughtsIn((content as { text: string }[])[0]!.text)).toMatchObject([{ model: 'scripted/model' }]);
  }
});

verifies(
  'sampling.answered',
  'after a question, for a caller that comes back: the tools API and an MCP client',
  async () => {
    const greeted = [{ model: 'scripted/model', content: { text: 'heard: "Greet Ada"' } }];
    const answer = { name: 'Ada' };
    const again = () =>
      post(
        box.url,
        '/api/tools/call',
        { name: 'consult', arguments: {}, session_id: 'consults' },
        { 'idempotency-key': 'consults' },
      );
    const asked = await again();
    expect(asked.status).toBe(202);
    const { id } = (asked.body as unknown as { approval: { id: string } }).approval;
    const ended = again();
    await post(box.url, `/api/approvals/${id}`, { decision: 'approve', arguments: answer });
    const after = await ended;
    const { status, body } = after.status === 202 ? await again() : after;
    expect(status).toBe(200);
    expect(thoughtsIn((body as unknown as { content: string }).content)).toMatchObject(greeted);
    const connect = askedClients['the 2.x client, 2026-07-28'];
    const client = await connect(box.url, () => ({ action: 'accept', content: answer }));
    const { content } = await client.call({ name: 'consult', arguments: {} });
    await client.close();
    expect(thoughtsIn((content as { text: string }[])[0]!.text)).toMatchObject(greeted);
  },
);

verifies('sampling.answered', 'pictures, and an answer that was cut', async () => {
  const image = { type: 'image', data: 'aGk=', mimeType: 'image/png' };
  const [seen] = await think('think_http', { params: { messages: [{ role: 'user', content: image }] } });
  expect((seen!['content'] as JsonObject)['text']).toContain('data:image/png;base64,aGk=');
  expect(await think('think_http', say('Cut'))).toMatchObject([{ stopReason: 'maxTokens' }]);
});

verifies(
  'sampling.answered',
  'by the offline model',
  async () => {
    const offline = await startThinkingBox(startSignalboxHere, { scripted: false });
    try {
      const call = { name: 'think_http', arguments: say('What is 2 + 2?'), session_id: 'offline' };
      const { body } = await post(offline.url, '/api/tools/call', call);
      const [thought] = thoughtsIn((body as unknown as { content: string }).content);
      expect(thought).toMatchObject({ role: 'assistant', model: expect.stringMatching(/^offline\//) });
      expect((thought!['content'] as JsonObject)['text']).not.toBe('');
    } finally {
      await offline.closeAll();
    }
  },
  90_000,
);

verifies('sampling.models', 'a hint, one that no model has, and what the settings of the server allow', async () => {
  const hinted = (...hints: string[]) => ({ params: { modelPreferences: { hints: hints.map((name) => ({ name })) } } });
  expect(await think('think_http', hinted('unknown', 'SMALL'))).toMatchObject([{ model: 'scripted/small-1' }]);
  expect(await think('think_http', hinted('unknown'))).toMatchObject([{ model: 'scripted/model' }]);
  expect(await think('think_limited', hinted('model'))).toMatchObject([{ model: 'scripted/small-1' }]);
  expect(box.upstream.requests.at(-1)!.body).toMatchObject({ model: 'small-1', max_tokens: 5 });
});

verifies('sampling.refused', 'a server that may not ask, in both eras', async () => {
  expect(await think('think_refused')).toMatchObject([{ code: -32601 }]);
  const call = { name: 'think_new_refused', arguments: {}, session_id: 'thinks' };
  expect(await post(box.url, '/api/tools/call', call)).toMatchObject({
    status: 422,
    body: { error: { code: 'tool_failed' } },
  });
});

verifies('sampling.refused', 'the model fails', async () => {
  const [thought] = await think('think_http', say('Fail'));
  expect(thought).toMatchObject({ code: -32603, message: expect.stringContaining('No model answered (model_') });
  expect(JSON.stringify(thought)).not.toContain('secret');
  const call = { name: 'think_new_http', arguments: say('Fail'), session_id: 'thinks' };
  expect(await post(box.url, '/api/tools/call', call)).toMatchObject({
    status: 422,
    body: { error: { code: 'tool_failed' } },
  });
});

verifies('sampling.bounded', 'too many, too large, with tools, with a sound, without a message', async () => {
  const many = await think('think_http', { times: 11 });
  expect(many.filter(({ role }) => role === 'assistant')).toHaveLength(10);
  expect(many[10]).toMatchObject({ message: expect.stringContaining('more than 10') });
  const asked = box.upstream.requests.length;
  const sound = { type: 'audio', data: 'aGk=', mimeType: 'audio/wav' };
  const tool = { name: 'a', inputSchema: { type: 'object' } };
  expect(await think('think_http', { length: 1024 * 1024 })).toMatchObject([{ code: -32602 }]);
  const broken = [
    { messages: [userText('hi')], tools: [tool] },
    { messages: [{ role: 'user', content: sound }] },
    { messages: [] },
    { messages: [userText('hi')], maxTokens: 0 },
  ];
  for (const params of broken) expect(await think('think_http', { params })).toMatchObject([{ code: -32602 }]);
  expect(box.upstream.requests).toHaveLength(asked);
  const [worker] = box.workers;
  expect(await metricOf(worker!.url, 'signalbox_mcp_bounds_total{server="oldHttp",bound="sampling"}')).toBe(6);
});

verifies('sampling.held', 'a model that takes longer than the tool may', async () => {
  expect(await think('think_brief', say('Slow'))).toMatchObject([{ content: { text: 'at last' } }]);
});

verifies('sampling.cancelled', 'its caller leaves', async () => {
  const request = new Promise<ReceivedRequest>((resolve) => (stayed = resolve));
  const leave = new AbortController();
  const body = JSON.stringify({ name: 'think_http', arguments: say('Stay'), session_id: 'left' });
  const headers = { 'content-type': 'application/json' };
  const answer = fetch(`${box.url}/api/tools/call`, { method: 'POST', headers, body, signal: leave.signal });
  const { clientGone } = await request;
  leave.abort();
  await expect(answer).rejects.toThrow();
  await clientGone;
  const states = () => box.rows(`select state from approvals where kind = 'sampling' and session_id = 'left'`);
  await expect.poll(states, { timeout: 10_000 }).toEqual([{ state: 'cancelled' }]);
});

verifies('sampling.models', 'what the key of the caller allows', async () => {
  const made = async (owner: string, ...models: string[]) => {
    const args = ['create', '--owner', owner, '--scopes', 'tools,admin', '--json'];
    const env = { ...process.env, DATABASE_URL: box.databaseUrl };
    const given = models.flatMap((model) => ['--models', model]);
    const end = await runScript('keys', [...args, ...given], { env });
    expect(end.stderr).toBe('');
    return (JSON.parse(end.stdout) as { key: string }).key;
  };
  const small = await made('small', 'small');
  const none = await made('none', 'nothing-*');
  await expect.poll(async () => (await fetch(`${box.url}/api/tools`)).status, { timeout: 5_000 }).toBe(401);
  expect(await think('think_http', {}, small)).toMatchObject([{ model: 'scripted/small-1' }]);
  const asked = box.upstream.requests.length;
  expect(await think('think_http', {}, none)).toMatchObject([
    { code: -32603, message: expect.stringContaining('model_forbidden') },
  ]);
  expect(box.upstream.requests).toHaveLength(asked);
});
