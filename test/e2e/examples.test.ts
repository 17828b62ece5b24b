// The documentation's examples as written, against an unconfigured gateway and worker: no key, no provider, the offline
// model.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect } from 'vitest';
import { postJson, readSse } from '../support/read-sse.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import type { ScriptedToolCall } from '../support/scripted-upstream.js';
import type { Started } from '../support/services/start-process.js';
import { type Completion, completeChat, functionTool, plainCompletion, putFile, user } from '../support/chat-client.js';
import { verifies } from '../verifies.js';

const readFile = functionTool('read_file', '读取文件');

let box: SignalboxHere;
/** The same Signalbox with a scripted model. */
let scripted: Started;
let weather: Server;
let weatherUrl: string;

beforeAll(async () => {
  weather = createServer((_request, reply) => {
    reply.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end('晴, 21°C, light wind');
  });
  await new Promise<void>((resolve) => weather.listen(0, '127.0.0.1', resolve));
  const { port } = weather.address() as AddressInfo;
  weatherUrl = `http://127.0.0.1:${port}/weather`;
  box = await startSignalboxHere({
    scripted: false,
    environment: { TOOLS_FETCH_ALLOW: `127.0.0.1:${port}` },
    script: (request) => {
      const messages = request.body['messages'] as { role: string }[];
      if (messages.at(-1)?.role === 'tool') return { text: 'Saved.' };
      const toolCalls: ScriptedToolCall[] = [
        { name: 'fetch', arguments: { url: weatherUrl } },
        { name: 'write_file', arguments: { path: 'weather.txt', content: '晴' } },
      ];
      return { toolCalls };
    },
  });
  const provider = { kind: 'openai', base_url: box.upstream.baseUrl, api_key: 'sk-example', max_retries: 0 };
  scripted = await box.startGateway({ MODELS_PROVIDERS: JSON.stringify({ scripted: provider }) });
  await scripted.logged((line) => line['message'] === 'listening');
});

afterAll(async () => {
  await box?.close();
  weather?.close();
});

const chat = (body: object, path = '/api/chat/completions', origin = box.url): Promise<Completion> =>
  completeChat(origin, body, path);
const put = (sessionId: string, path: string, content: string): Promise<void> =>
  putFile(box.url, { sessionId, path, content });

const plainRequests: [string, object][] = [
  ['with the model of the example', { model: 'llama3.2', messages: [user('你好')] }],
  ['without a model', { messages: [user('你好')] }],
  ['with the name of the default model', { model: 'default', messages: [user('你好')] }],
  ['in English', { messages: [user('Hello there')] }],
  ['with a system message', { messages: [{ role: 'system', content: 'Be brief.' }, user('Who are you?')] }],
  ['with what Python sends', { messages: [user('你好')], session_id: null, tools: [], tool_choice: 'auto' }],
];
for (const [what, body] of plainRequests) {
  verifies('chat.examples', `plain chat ${what}`, async () => {
    expect(await chat(body)).toEqual(plainCompletion);
    expect(await chat(body, '/v1/chat/completions')).toEqual(plainCompletion);
  });
}

/** A request, and the offered tool's name and description; always the builtin tool that reads a file. */
const readings: [string, string][] = [
  ['读取report.txt文件', '读取文件'],
  ['请帮我看看 report.txt 里写了什么', 'Read a file'],
  ['打开report.txt', '打开并读取'],
  ['Read report.txt', 'Read a file'],
  ['Please show me what report.txt says', '读取文件'],
  ['What is in report.txt?', 'Returns the text of a file'],
];
for (const [request, description] of readings) {
  verifies('chat.examples', `a tool run here: ${request}`, async () => {
    await put('sess_reading', 'report.txt', 'The sky is 蓝色 today.');
    const tools = [functionTool('read_file', description)];
    const answer = await chat({ messages: [user(request)], session_id: 'sess_reading', tools });
    expect(answer.choices[0]!.message.content).toContain('The sky is 蓝色 today.');
    expect(answer.tool_execution).toMatchObject({ executed: true, tools_called: ['read_file'] });
  });
}

const missing: [string, RegExp][] = [
  ['读取nothere.txt文件', /不存在|没有找到|找不到/],
  ['Read nothere.txt', /not exist|no such|not found|missing/i],
];
for (const [request, words] of missing) {
  verifies('chat.examples', `a file that is not there: ${request}`, async () => {
    const answer = await chat({ messages: [user(request)], session_id: 'sess_missing', tools: [readFile] });
    expect(answer.choices[0]!.message.content).toMatch(words);
    expect(answer.choices[0]!.finish_reason).toBe('stop');
    expect(answer.tool_execution).toMatchObject({ executed: true, calls: [{ name: 'read_file', success: false }] });
  });
}

/** Offered names that are not server tools: they belong to the caller, whatever they are called. */
const clientReads: [string, object, string, string][] = [
  ['/api/chat/completions', { tool_mode: 'manual' }, 'read_file', '请读取/tmp/config.json文件并告诉我其中的版本号'],
  ['/v1/chat/completions', {}, 'read_file', '请读取/tmp/config.json文件并告诉我其中的版本号'],
  ['/v1/chat/completions', {}, 'read_file', 'Please read /tmp/config.json and tell me the version number'],
  ['/api/chat/completions', {}, 'open_document', '请打开/tmp/config.json并告诉我版本号'],
  ['/api/chat/completions', {}, 'load_text', 'Read /tmp/config.json and tell me which version it names'],
];
for (const [path, more, name, request] of clientReads) {
  verifies('chat.examples', `a tool run by the client: ${name}, ${path}, ${request}`, async () => {
    const tools = [functionTool(name, '读取文件 (reads a file)')];
    const called = await chat({ messages: [user(request)], tools, ...more }, path);
    expect(called.tool_execution).toBeUndefined();
    expect(called.choices[0]).toEqual({
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: expect.stringMatching(/^call_/), type: 'function', function: { name, arguments: expect.any(String) } },
        ],
      },
      finish_reason: 'tool_calls',
    });
    const message = called.choices[0]!.message;
    const call = message.tool_calls![0]!;
    expect(JSON.parse(call.function.arguments)).toEqual({ path: '/tmp/config.json' });
    const content = '{"version": "2.3.1", "name": "MyApp", "author": "DevTeam"}';
    const messages = [user(request), message, { role: 'tool', tool_call_id: call.id, content }];
    for (const offered of [{}, { tools, ...more }]) {
      const answer = await chat({ messages, ...offered }, path);
      expect(answer.choices[0]!.message.content).toContain('2.3.1');
      expect(answer.choices[0]!.finish_reason).toBe('stop');
    }
  });
}

verifies('chat.examples', 'the tools API instead of running it oneself', async () => {
  await put('sess_called', 'test.txt', 'hello');
  const body = { name: 'read_file', arguments: { path: 'test.txt' }, session_id: 'sess_called' };
  const answer = await postJson(`${box.url}/api/tools/call`, body);
  expect(answer.status).toBe(200);
  expect(await answer.json()).toMatchObject({ success: true, content: 'hello', session_id: 'sess_called' });
});

const twoTools = [
  functionTool('fetch', 'Fetch a URL', { type: 'object', properties: { url: { type: 'string' } }, required: ['url'] }),
  functionTool('write_file', '写入文件', {
    type: 'object',
    properties: { path: { type: 'string' }, content: { type: 'string' } },
    required: ['path', 'content'],
  }),
];
const weatherRequests: [string, (url: string) => string][] = [
  ['Chinese', (url) => `获取 ${url} 的天气，并保存到weather.txt文件中`],
  ['English', (url) => `Fetch the weather from ${url} and save it to weather.txt`],
];
for (const [language, request] of weatherRequests) {
  verifies('chat.examples', `two tools, one after the other: ${language}`, async () => {
    const session = `sess_weather_${language}`;
    const answer = await chat({ messages: [user(request(weatherUrl))], session_id: session, tools: twoTools });
    expect(answer.tool_execution).toMatchObject({ executed: true, tools_called: ['fetch', 'write_file'], rounds: 3 });
    expect(answer.tool_execution!.calls.map((call) => call.success)).toEqual([true, true]);
    const file = await fetch(`${box.url}/api/sessions/${session}/files/weather.txt`);
    expect(await file.text()).toContain('晴, 21°C, light wind');
  });
}

verifies('chat.examples', 'two tools called in one message', async () => {
  const body = { messages: [user('天气')], session_id: 'sess_both', tools: twoTools, model: 'scripted/any' };
  const answer = await chat(body, '/api/chat/completions', scripted.url);
  expect(answer.choices[0]!.message.content).toBe('Saved.');
  expect(answer.tool_execution).toMatchObject({ tools_called: ['fetch', 'write_file'], rounds: 2 });
  expect(answer.tool_execution!.calls.map((call) => call.success)).toEqual([true, true]);
  const file = await fetch(`${box.url}/api/sessions/sess_both/files/weather.txt`);
  expect(await file.text()).toBe('晴');
});

verifies('chat.examples', 'an address nobody allowed is refused and the answer says so', async () => {
  const request = `Fetch http://127.0.0.1:1/weather`;
  const answer = await chat({ messages: [user(request)], session_id: 'sess_refused', tools: [twoTools[0]] });
  expect(answer.tool_execution!.calls).toMatchObject([{ name: 'fetch', success: false }]);
  expect(answer.choices[0]!.finish_reason).toBe('stop');
});

verifies('chat.examples', 'the events of a stream on /api', async () => {
  await put('sess_events', 'data.txt', '文件内容');
  const body = { messages: [user('读取data.txt文件')], session_id: 'sess_events', tools: [readFile], stream: true };
  const read = await readSse(await postJson(`${box.url}/api/chat/completions`, body));
  expect(read.headers.get('content-type')).toBe('text/event-stream');
  expect(read.headers.get('x-accel-buffering')).toBe('no');
  expect(read.headers.get('x-request-id')).toMatch(/./);
  expect(read.headers.get('x-run-id')).toMatch(/^run_/);
  expect(read.done).toBe(true);
  const types = read.events.map((event) => event['type']);
  expect(types[0]).toBe('start');
  expect(types.at(-1)).toBe('done');
  const order = ['start', 'tool_call', 'tool_progress', 'tool_result', 'content', 'done'];
  expect([...new Set(types)]).toEqual(order);
  expect(read.events[0]).toMatchObject({ run_id: read.headers.get('x-run-id'), session_id: 'sess_events' });
  const calls = read.events.filter((event) => event['type'] === 'tool_call');
  const fragments = calls.map(
    (event) =>
      (event['delta'] as { tool_calls: { index: number; id?: string; type?: string; function: FunctionDelta }[] })
        .tool_calls[0]!,
  );
  expect(fragments[0]).toMatchObject({ index: 0, id: expect.stringMatching(/^call_/), type: 'function' });
  expect(fragments[0]!.function.name).toBe('read_file');
  for (const later of fragments.slice(1)) expect(Object.keys(later).sort()).toEqual(['function', 'index']);
  const text = fragments.map((fragment) => fragment.function.arguments).join('');
  expect(JSON.parse(text)).toEqual({ path: 'data.txt' });
  expect(read.events.find((event) => event['type'] === 'tool_result')).toMatchObject({
    tool_call_id: fragments[0]!.id,
    result: { success: true, content: '文件内容', duration_ms: expect.any(Number) },
  });
  expect(read.events.at(-1)).toMatchObject({ type: 'done', finish_reason: 'stop' });
});

interface FunctionDelta {
  name?: string;
  arguments: string;
}

const errors: [string, string, object, number, object][] = [
  [
    'a tool named in tool_choice that nobody has',
    '/api/chat/completions',
    {
      messages: [user('x')],
      tools: [readFile],
      tool_choice: { type: 'function', function: { name: 'unknown_tool' } },
    },
    400,
    { message: "Tool 'unknown_tool' not found", type: 'invalid_request_error', code: 'tool_not_found' },
  ],
  [
    'an unknown tool on the tools API',
    '/api/tools/call',
    { name: 'unknown_tool', arguments: {} },
    404,
    { message: "Tool 'unknown_tool' not found", type: 'invalid_request_error', code: 'tool_not_found' },
  ],
  [
    'a tool that fails on the tools API',
    '/api/tools/call',
    {
      name: 'edit_file',
      arguments: { path: 'test.txt', old_text: 'absent', new_text: 'x' },
      session_id: 'sess_called',
    },
    422,
    {
      message: expect.stringMatching(/^Tool execution failed: ./),
      type: 'tool_execution_error',
      code: 'tool_failed',
      tool_name: 'edit_file',
    },
  ],
];
for (const [what, path, body, status, error] of errors) {
  verifies('chat.examples', what, async () => {
    await put('sess_called', 'test.txt', 'hello');
    const answer = await postJson(`${box.url}${path}`, body);
    expect(answer.status).toBe(status);
    const read = (await answer.json()) as { error: Record<string, unknown> };
    expect(read).toMatchObject({ error });
    expect(Object.keys(read)).toEqual(['error']);
    expect(read.error['request_id']).toBe(answer.headers.get('x-request-id'));
  });
}
