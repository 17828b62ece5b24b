// Two major versions of the official OpenAI SDK judge /v1/responses of a running gateway: text, server tools, their own
// tools and both, streamed and not, conversations by id; broken answers and errors must throw.
import OpenAI from 'openai';
import type { Response } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, expect } from 'vitest';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { postJson, readSse } from '../support/read-sse.js';
import { expectThrown, questionsTo } from '../support/chat-judge.js';
import { breaks, cutOrToolScript } from '../support/cut-script.js';
import { responsesJudges } from '../support/responses-judges.js';
import { messagesOf } from '../support/scripts.js';
import { clientTool, lookedUp, serverTool } from '../support/tool-script.js';
import '../../clients/typescript/src/openai.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
let client: OpenAI;

beforeAll(async () => {
  box = await startSignalboxHere({ script: cutOrToolScript });
  client = new OpenAI({ baseURL: `${box.url}/v1`, apiKey: 'sk-any', maxRetries: 0 });
});
afterAll(() => box?.close());

const workspace = { type: 'mcp' as const, server_label: 'workspace', allowed_tools: ['get_time'] };
const offered = { extra: { tools: [workspace] } };
const ask = questionsTo(() => box.url);
const usage = { input: 10, output: 5 };
const completed = { finishReasons: ['completed'], usage };

for (const judge of responsesJudges) {
  verifies('apis.responses.sdk', `${judge.name}: plain text`, async () => {
    expect(await judge.hear(ask('plain'))).toEqual({ text: 'Hello', calls: [], ...completed });
  });

  verifies('apis.responses.sdk', `${judge.name}: a server tool`, async () => {
    const functions = { tools: [serverTool], extra: { tool_mode: 'auto' } };
    for (const offer of [offered, functions]) {
      expect(await judge.hear(ask('a server tool', offer))).toEqual({
        text: 'Looking.\n\nGot time',
        finishReasons: ['completed'],
        calls: [],
        usage: { input: 20, output: 10 },
      });
    }
  });

  verifies('apis.responses.sdk', `${judge.name}: manual, the same tool goes back to the caller`, async () => {
    const manual = { extra: { ...offered.extra, tool_mode: 'manual' } };
    const calls = [{ name: 'get_time', arguments: { offset_ms: 0 } }];
    expect(await judge.hear(ask('a server tool', manual))).toEqual({ text: 'Looking.', calls, ...completed });
  });

  verifies('apis.responses.sdk', `${judge.name}: a mixed turn, and a conversation by id and by items`, async () => {
    const mixed = ask('a mixed turn', { ...offered, tools: [clientTool] });
    expect(await judge.hear(mixed)).toEqual({ text: 'Looking.', calls: [lookedUp], ...completed });
    expect(await judge.converse(mixed)).toBe('Got time and value of höhe');
    const own = ask('two client tools', { tools: [clientTool] });
    expect(await judge.converse(own)).toBe('Got value of höhe and value of b');
  });

  verifies('apis.responses.cut', judge.name, async () => {
    for (const [what, [, code]] of Object.entries(breaks)) {
      // Covered in sdk-cut.test.ts, with a provider that has shorter timeouts.
      if (what === 'silent for too long') continue;
      for (const question of [ask(what), ask(`second: ${what}`, offered)]) await expectThrown(judge, question, code);
    }
  });
}

const create = (body: object) =>
  client.responses.create({ model: 'scripted/model', ...body } as never) as Promise<Response>;

verifies('apis.responses.stored', 'a conversation goes on by the id of its last response', async () => {
  const first = await create({ input: 'a server tool', instructions: 'Be brief.', tools: [workspace] });
  expect(first.output.map(({ type }) => type)).toEqual(['mcp_list_tools', 'message', 'mcp_call', 'message']);
  expect(first.output[0]).toMatchObject({ server_label: 'workspace', tools: [{ name: 'get_time' }] });
  expect(first.output[2]).toMatchObject({
    server_label: 'workspace',
    name: 'get_time',
    status: 'completed',
    error: null,
  });
  const second = await create({ input: 'and now?', previous_response_id: first.id });
  expect(second.previous_response_id).toBe(first.id);
  const reported = messagesOf(box.upstream.requests.at(-1)!);
  expect(reported.map((message) => message['role'])).toEqual(['user', 'assistant', 'tool', 'assistant', 'user']);
  expect(reported[1]).toMatchObject({ content: 'Looking.', tool_calls: [{ function: { name: 'get_time' } }] });
  expect(reported[3]).toEqual({ role: 'assistant', content: 'Got time' });
  const third = await create({ input: 'and then?', previous_response_id: second.id, instructions: 'Be kind.' });
  expect(third.status).toBe('completed');
  const again = messagesOf(box.upstream.requests.at(-1)!);
  expect(again[0]).toEqual({ role: 'system', content: 'Be kind.' });
  expect(again.slice(1, 6)).toEqual(reported);
  expect(again).toHaveLength(reported.length + 3);
});

verifies('apis.responses.stored', 'a conversation stays in its session, unless it says another', async () => {
  const sessionOf = (response: Response) =>
    (response as Response & { tool_execution: { session_id: string } }).tool_execution.session_id;
  const first = await create({ input: 'a server tool', tools: [workspace] });
  const between = await create({ input: 'and now?', previous_response_id: first.id });
  const more = { input: 'and then?', previous_response_id: between.id, tools: [workspace] };
  expect(sessionOf(await create(more))).toBe(sessionOf(first));
  expect(sessionOf(await create({ ...more, session_id: 'sess_other' }))).toBe('sess_other');
});

verifies('apis.responses.stored', 'a response is told again as it was, until it is deleted', async () => {
  for (const body of [
    { input: 'a server tool', tools: [{ ...workspace }] },
    { input: 'a mixed turn', tools: [workspace, { type: 'function', name: 'lookup', parameters: {}, strict: null }] },
    { input: 'a client tool', tools: [{ type: 'function', name: 'lookup', parameters: {}, strict: null }] },
    { input: 'plain', metadata: { a: 'b' }, temperature: 0.5 },
  ]) {
    const response = await create(body);
    const again = await client.responses.retrieve(response.id);
    const output = response.output.filter(({ type }) => type !== 'mcp_list_tools');
    expect(again).toEqual({ ...response, output });
    await client.responses.delete(response.id);
    await expect(client.responses.retrieve(response.id)).rejects.toMatchObject({
      status: 404,
      code: 'response_not_found',
    });
    await expect(client.responses.delete(response.id)).rejects.toMatchObject({ status: 404 });
  }
});

verifies('apis.responses.stored', 'what is not stored as a response is none', async () => {
  const unstored = await create({ input: 'a server tool', tools: [workspace], store: false });
  const chat = await client.chat.completions.create({
    model: 'scripted/model',
    messages: [{ role: 'user', content: 'a server tool' }],
    tools: [workspace],
  });
  const ids = [unstored.id, chat.id.replace('chatcmpl-', 'resp_'), `resp_${'0'.repeat(32)}`, '../runs', 'x'];
  for (const id of ids) {
    await expect(client.responses.retrieve(id)).rejects.toMatchObject({ status: 404 });
    await expect(create({ input: 'x', previous_response_id: id })).rejects.toMatchObject({
      status: 404,
      code: 'previous_response_not_found',
      param: 'previous_response_id',
    });
  }
});

verifies('apis.errors', 'the OpenAI SDK knows them by status, code and field', async () => {
  const first = await create({ input: 'a client tool', tools: [{ type: 'function', name: 'lookup' }] });
  const wrong: [object, string, string][] = [
    [{}, 'invalid_value', 'input'],
    [{ input: 'x', temperature: 7 }, 'invalid_value', 'temperature'],
    [{ input: 'x', background: true }, 'invalid_value', 'background'],
    [{ input: 'x', conversation: 'conv_1' }, 'invalid_value', 'conversation'],
    [{ input: 'x', tools: [{ ...workspace, server_label: 'none' }] }, 'tool_not_found', 'tools'],
    [
      { input: 'x', tools: [{ ...workspace, server_url: 'https://x.example' }] },
      'invalid_value',
      'tools[0].server_url',
    ],
    [
      {
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: 'call_nobody', output: 'x' }],
      },
      'invalid_value',
      'input',
    ],
  ];
  for (const [body, code, param] of wrong) {
    await expect(create(body)).rejects.toMatchObject({ status: 400, code, param });
  }
});

verifies('apis.responses.events', 'every event has its name and number, over the wire', async () => {
  const body = { model: 'scripted/model', input: 'a server tool', tools: [workspace], stream: true };
  const answer = await postJson(`${box.url}/v1/responses`, body);
  expect(answer.headers.get('content-type')).toBe('text/event-stream');
  const { events, done } = await readSse(answer);
  expect(done).toBe(false);
  expect(events.map((event) => event['sequence_number'])).toEqual(events.map((_event, at) => at));
  const types = events.map((event) => (event['type'] as string).replace('response.', ''));
  expect(types.filter((type, at) => type !== types[at - 1])).toEqual([
    'created',
    'in_progress',
    'output_item.added',
    'mcp_list_tools.in_progress',
    'mcp_list_tools.completed',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'output_item.added',
    'mcp_call.in_progress',
    'mcp_call_arguments.delta',
    'mcp_call_arguments.done',
    'mcp_call.completed',
    'output_item.done',
    'output_item.added',
    'content_part.added',
    'output_text.delta',
    'output_text.done',
    'content_part.done',
    'output_item.done',
    'completed',
  ]);
});

verifies('apis.runs', 'a retry with the same key', async () => {
  const messages = [{ role: 'user', content: 'a server tool' }];
  const toolset = { type: 'mcp_toolset', mcp_server_name: 'workspace' };
  const bodies: [string, object][] = [
    ['/v1/responses', { input: 'a server tool', tools: [workspace] }],
    ['/v1/messages', { max_tokens: 100, messages, tools: [toolset] }],
  ];
  for (const [path, body] of bodies) {
    const post = async (more: object) => {
      const answer = await postJson(
        `${box.url}${path}`,
        { ...body, ...more },
        { 'idempotency-key': `key ${path}`.replace(' ', '') },
      );
      return { status: answer.status, run: answer.headers.get('x-run-id'), body: (await answer.json()) as object };
    };
    const asked = box.upstream.requests.length;
    const first = await post({});
    expect(first.status).toBe(200);
    expect(await post({})).toEqual(first);
    expect(box.upstream.requests.length).toBe(asked + 2);
    expect(await post({ temperature: 0.5 })).toMatchObject({
      status: 409,
      body: { error: { code: 'idempotency_mismatch' } },
    });
  }
});
