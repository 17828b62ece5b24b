// A model without tool use behind the gateway: callers get what a native model would have given. One upstream plays both:
// it writes calls as text if it gets no tools.
import { afterAll, beforeAll, describe, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { postJson, readSse } from '../support/read-sse.js';
import type { ReceivedRequest, ScriptedAnswer, ScriptedToolCall } from '../support/scripted-upstream.js';
import { type SignalboxHere, startSignalboxHere, toolsReady } from '../support/services/start-signalbox.js';
import { openAiJudges } from '../support/openai-judges.js';
import { functionTool, messagesOf, post, workspaceTools } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
let url: string;

beforeAll(async () => {
  box = await startSignalboxHere({ script: answer, gateways: 0 });
  const provider = { kind: 'openai', base_url: box.upstream.baseUrl, max_retries: 0 };
  const providers = {
    // The name that the judges request.
    scripted: { ...provider, tools: 'prompted' },
    native: provider,
    toolless: { ...provider, tools: 'none' },
  };
  ({ url } = await box.startGateway({ MODELS_PROVIDERS: JSON.stringify(providers) }));
  await toolsReady(url);
});
afterAll(() => box?.close());

interface Round {
  text?: string;
  calls?: ScriptedToolCall[];
  /** Set for answers that only a model with calls as text can give. */
  written?: string;
}

const lookup = (key: string) => ({ name: 'lookup', arguments: { key } });
const clock = { name: 'get_time', arguments: { offset_ms: 0 } };
const write = (content: string) => ({ name: 'write_file', arguments: { path: 'order.txt', content, append: true } });
const yesterday = '请告诉我昨天的日期是什么时候？';
/** The model's answers by user message; the last one repeats. */
const conversations: Record<string, Round[]> = {
  plain: [{ text: 'a < b, [1] and `code`\n' }],
  'a server tool': [{ text: 'Looking.', calls: [clock] }, { text: 'It is late.' }],
  'two server tools': [{ calls: [write('a'), write('b')] }, { text: 'Written.' }],
  'a client tool': [{ calls: [lookup('höhe')] }, { text: 'Found.' }],
  'two client tools': [{ text: 'Looking.', calls: [lookup('höhe'), lookup('</function_call>')] }, { text: 'Found.' }],
  'a mixed turn': [{ text: 'Looking.', calls: [clock, lookup('höhe')] }, { text: 'Found both.' }],
  [yesterday]: [
    {
      text: '我来查一下。',
      written: '我来查一下。<function_call>{"name":"getTime","arguments":{"offset_ms":-86400000}}</function_call>',
    },
    { text: '昨天是星期六。' },
  ],
  mistakes: [
    {
      written:
        '<function_call>{"name": "no_such_tool", "arguments": {}}</function_call>' +
        '<function_call>{"name": "read_file", "arguments": {"path": }}</function_call>' +
        '<function_call>{"name": "read_file", "arguments": {"path": 5}}</function_call>',
    },
    { text: 'Sorry.' },
  ],
  'never stops': [{ calls: [clock] }],
};

function answer(request: ReceivedRequest): ScriptedAnswer {
  const messages = messagesOf(request);
  const asked = messages.find((message) => message['role'] === 'user')!['content'] as string;
  const round = messages.filter((message) => message['role'] === 'assistant').length;
  const said = conversations[asked]!;
  const { text = '', calls = [], written } = said[Math.min(round, said.length - 1)]!;
  if (request.body['tools'] !== undefined) return calls.length === 0 ? { text } : { text, toolCalls: calls };
  const blocks = calls.map((call) => `\n<function_call>\n${JSON.stringify(call)}\n</function_call>`);
  return { text: (written ?? text + blocks.join('')).match(/[^]{1,7}/g) ?? [] };
}

const parameters = { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] };
const lookupTool = functionTool('lookup', parameters);
const lastMessages = () => messagesOf(box.upstream.requests.at(-1)!);
const lastText = () => lastMessages().at(-1)!['content'] as string;

const volatile = new Set(['id', 'created', 'duration_ms', 'run_id', 'session_id', 'tool_call_id', 'workspace_path']);
/** Removes what differs between two answers to the same question: ids and times. */
const settled = (value: unknown) =>
  JSON.parse(JSON.stringify(value), (key, member: unknown) => {
    if (volatile.has(key)) return undefined;
    return typeof member === 'string' ? member.replace(/^\d{13}(?:\n.* UTC)?$/, 'now') : member;
  }) as JsonObject;

interface Told {
  type: string;
  delta?: { content?: string; tool_calls?: { index: number; function: { name?: string; arguments: string } }[] };
}

/** The events of an `/api` stream, with text and call arguments joined. */
function joined(events: readonly JsonObject[]): unknown[] {
  const reported: { key: string; text: string; name?: string | undefined; rest?: JsonObject }[] = [];
  for (const event of events) {
    const { type, delta } = event as unknown as Told;
    const call = delta?.tool_calls?.[0];
    const key = `${type} ${call?.index ?? ''}`;
    const text = delta?.content ?? call?.function.arguments;
    const last = reported.at(-1);
    if (text !== undefined && last?.key === key) last.text += text;
    else if (text === undefined) reported.push({ key, text: '', rest: settled(event) });
    else reported.push({ key, text, name: call?.function.name });
  }
  return reported;
}

const offers: [string, string, JsonObject][] = [
  ['plain', 'tools that nobody calls', { tools: [workspaceTools, lookupTool] }],
  ['a server tool', 'run here', { tools: [workspaceTools] }],
  ['two server tools', 'run here in order', { tools: [workspaceTools] }],
  ['a server tool', 'manual', { tools: [workspaceTools], tool_mode: 'manual' }],
  ['a client tool', 'run by the client', { tools: [lookupTool] }],
  ['two client tools', 'beside server tools', { tools: [workspaceTools, lookupTool] }],
  ['a mixed turn', 'mixed', { tools: [workspaceTools, lookupTool] }],
  ['a server tool', 'at the bound', { tools: [workspaceTools], max_tool_rounds: 1 }],
];

for (const [content, how, offer] of offers) {
  verifies('models.prompted.loop', `${content}, ${how}: what a native model gives, streamed and whole`, async () => {
    const ask = (model: string, more: JsonObject = {}) => ({
      model: `${model}/m`,
      messages: [{ role: 'user', content }],
      ...offer,
      ...more,
    });
    for (const path of ['/api', '/v1']) {
      const bodies = await Promise.all(
        ['native', 'scripted'].map((model) => post(url, `${path}/chat/completions`, ask(model))),
      );
      expect(bodies.map(({ status }) => status)).toEqual([200, 200]);
      expect(settled(bodies[1]!.body)).toEqual(settled(bodies[0]!.body));
    }
    const streams = await Promise.all(
      ['native', 'scripted'].map(async (model) =>
        readSse(await postJson(`${url}/api/chat/completions`, ask(model, { stream: true }))),
      ),
    );
    const [native, prompted] = streams.map(({ events }) => joined(events as JsonObject[]));
    expect(prompted).toEqual(native);
  });
}

verifies('models.prompted.loop', 'a mixed turn is put back together as text', async () => {
  const tools = [workspaceTools, lookupTool];
  const asked = [{ role: 'user', content: 'a mixed turn' }];
  const { body } = await post(url, '/v1/chat/completions', { model: 'scripted/m', messages: asked, tools });
  const { message } = body.choices[0]!;
  const result = { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: 'value' };
  const messages = [...asked, message, result];
  const follow = await post(url, '/v1/chat/completions', { model: 'scripted/m', messages, tools });
  expect(follow.body.choices[0]!.message.content).toBe('Found both.');
  const [, , assistant, results] = lastMessages();
  expect(assistant!['content']).toMatch(/^Looking\.\n<function_call>\n\{"name": "get_time"[^]*"lookup"/);
  expect(results).toMatchObject({ role: 'user' });
  expect(results!['content']).toMatch(/^<function_result>\nget_time returned:[^]*lookup returned:\nvalue\n<\/function/);
});

verifies('chat.examples', 'one tool through a model without tool use', async () => {
  const getTime = functionTool('getTime', { type: 'object', properties: { offset_ms: { type: 'number' } } });
  const asked = [{ role: 'user', content: yesterday }];
  for (const path of ['/api', '/v1']) {
    const { body } = await post(url, `${path}/chat/completions`, { messages: asked, tools: [getTime] });
    const [choice] = body.choices;
    expect(choice).toMatchObject({ finish_reason: 'tool_calls', message: { content: '我来查一下。' } });
    const [call] = choice!.message.tool_calls!;
    expect(call).toMatchObject({
      type: 'function',
      function: { name: 'getTime', arguments: '{"offset_ms":-86400000}' },
    });
    const messages = [...asked, choice!.message, { role: 'tool', tool_call_id: call!.id, content: '2025-01-04' }];
    const follow = await post(url, `${path}/chat/completions`, { messages });
    expect(follow.body.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: '昨天是星期六。' } });
    const result = '<function_result>\ngetTime returned:\n2025-01-04\n</function_result>';
    expect(lastMessages().at(-1)).toEqual({ role: 'user', content: result });
  }
});

verifies('models.prompted.broken', 'each mistake is told to the model', async () => {
  const messages = [{ role: 'user', content: 'mistakes' }];
  const { body } = await post(url, '/api/chat/completions', { messages, tools: [workspaceTools] });
  expect(body.choices[0]!.message.content).toBe('Sorry.');
  expect(body.tool_execution!.calls.map(({ success }) => success)).toEqual([false, false, false]);
  const reported = lastText().split('</function_result>');
  expect(reported[0]).toMatch(/no_such_tool failed:\n.*not found/);
  expect(reported[1]).toMatch(/read_file failed:\n.*not valid JSON/);
  expect(reported[2]).toMatch(/read_file failed:\n.*path/);
});

verifies('models.prompted.cuts', 'calls of the last answer, past the bound, are neither run nor shown', async () => {
  const messages = [{ role: 'user', content: 'never stops' }];
  const request = { messages, tools: [workspaceTools], max_tool_rounds: 2 };
  const { body } = await post(url, '/api/chat/completions', request);
  expect(body.tool_execution).toMatchObject({ rounds: 3, stopped_by: 'max_rounds', calls: [{}, {}] });
  expect(body.choices[0]).toMatchObject({ finish_reason: 'stop', message: { role: 'assistant' } });
  expect(JSON.stringify(body)).not.toContain('function_call>');
  expect(lastMessages()[0]!['content']).toMatch(/^Functions are not available/);
});

for (const judge of openAiJudges) {
  for (const path of ['/api', '/v1']) {
    describe(`${judge.name} on ${path}`, () => {
      const run = (args: unknown) => `value of ${(args as { key: string }).key}`;
      const question = (content: string) => ({
        baseUrl: `${url}${path}`,
        content,
        tools: [{ name: 'lookup', parameters, run }],
        extra: { tools: [workspaceTools] },
      });

      verifies('models.prompted.loop', `${judge.name} on ${path}`, async () => {
        expect(await judge.hear(question('two client tools'))).toEqual({
          text: 'Looking.',
          finishReasons: ['tool_calls'],
          calls: [lookup('höhe'), lookup('</function_call>')],
          usage: { input: 10, output: 5 },
        });
        expect(await judge.hear(question('a server tool'))).toMatchObject({
          text: 'Looking.\n\nIt is late.',
          finishReasons: ['stop'],
          calls: [],
        });
        expect(await judge.converse(question('a mixed turn'))).toBe('Found both.');
        expect(lastText()).toContain('lookup returned:\nvalue of höhe\n');
      });
    });
  }
}

verifies('models.prompted.none', 'an answer in text; a call that must be made is a 400', async () => {
  const request = { model: 'toolless/m', messages: [{ role: 'user', content: 'plain' }], tools: [lookupTool] };
  const { status, body } = await post(url, '/v1/chat/completions', request);
  expect([status, body.choices[0]!.finish_reason]).toEqual([200, 'stop']);
  expect(box.upstream.requests.at(-1)!.body).not.toHaveProperty('tools');
  for (const tool_choice of ['required', { type: 'function', function: { name: 'lookup' } }]) {
    for (const stream of [true, false]) {
      const refused = await post(url, '/v1/chat/completions', { ...request, tool_choice, stream });
      expect(refused).toMatchObject({ status: 400, body: { error: { code: 'invalid_value', param: 'tool_choice' } } });
    }
  }
});
