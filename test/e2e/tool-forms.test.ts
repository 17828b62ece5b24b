// Tools that models know in another form than their callers, of a running gateway with an OpenAI-compatible model: custom
// tools, functions of the older form, tools of the provider, and choices among the tools of servers.
import OpenAI from 'openai';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { postJson, readSse } from '../support/read-sse.js';
import type { ReceivedRequest, ScriptedAnswer } from '../support/scripted-upstream.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { messagesOf } from '../support/scripts.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
let client: OpenAI;

/** Calls the first tool that it is offered, until it has a result. */
function script(request: ReceivedRequest): ScriptedAnswer {
  const tools = (request.body['tools'] ?? []) as { function: { name: string } }[];
  const last = messagesOf(request).at(-1)!;
  if (last['role'] === 'tool') return { text: `Got ${last['content'] as string}` };
  const [first] = tools;
  if (first === undefined) return { text: 'Hello' };
  const { name } = first.function;
  return { toolCalls: [{ name, arguments: name === 'get_time' ? '{"offset_ms":0}' : '{"input":"+ a\\n"}' }] };
}

beforeAll(async () => {
  box = await startSignalboxHere({ script });
  client = new OpenAI({ baseURL: `${box.url}/v1`, apiKey: 'sk-any', maxRetries: 0 });
});
afterAll(() => box?.close());

const model = 'scripted/model';
const patch = { type: 'custom' as const, name: 'apply_patch', description: 'Edits files' };
const lastRequest = () => box.upstream.requests.at(-1)!.body;

verifies('apis.responses.codex', 'a custom call and its result, streamed and whole, by id and by items', async () => {
  for (const stream of [false, true]) {
    const input = [
      { type: 'additional_tools', role: 'developer', tools: [patch] },
      { role: 'user', content: 'Go' },
    ];
    const request = { model, input, store: true } as unknown as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    const first = stream
      ? await client.responses.stream({ ...request, stream: true }).finalResponse()
      : await client.responses.create(request);
    const call = first.output[0]!;
    expect(call).toMatchObject({ type: 'custom_tool_call', name: 'apply_patch', input: '+ a\n' });
    const { call_id } = call as OpenAI.Responses.ResponseCustomToolCall;
    const result = { type: 'custom_tool_call_output' as const, call_id, output: 'Done' };
    const next = await client.responses.create({
      model,
      previous_response_id: first.id,
      input: [result],
      tools: [patch],
    });
    expect(next.output_text).toBe('Got Done');
    const whole = await client.responses.create({
      model,
      input: [{ role: 'user', content: 'Go' }, call as OpenAI.Responses.ResponseInputItem, result],
      tools: [patch],
    });
    expect(whole.output_text).toBe('Got Done');
    const items = await client.responses.inputItems.list(next.id, { order: 'asc' });
    expect(items.data.map(({ type }) => type)).toEqual(['message', 'custom_tool_call', 'custom_tool_call_output']);
  }
});

const weather = { name: 'weather', parameters: { type: 'object', properties: {} } };

for (const path of ['/v1', '/api']) {
  verifies('chat.functions', `${path}: a call and its result, streamed and whole`, async () => {
    const url = `${box.url}${path}/chat/completions`;
    const messages: object[] = [{ role: 'user', content: 'Go' }];
    const request = { model, messages, functions: [weather] };
    const { choices } = (await (await postJson(url, request)).json()) as JsonObject & { choices: [JsonObject] };
    const { message, finish_reason: reason } = choices[0];
    expect([reason, message]).toMatchObject(['function_call', { function_call: { name: 'weather' } }]);
    const { events } = await readSse(await postJson(url, { ...request, stream: true }));
    expect(JSON.stringify(events)).toContain('"finish_reason":"function_call"');
    messages.push(message as object, { role: 'function', name: 'weather', content: 'sun' });
    const answer = (await (await postJson(url, request)).json()) as JsonObject;
    expect(answer).toMatchObject({ choices: [{ message: { content: 'Got sun' }, finish_reason: 'stop' }] });
    expect(lastRequest()).not.toHaveProperty('functions');
  });
}

verifies('chat.tool-choice', 'a tool of a server must be called first, and all are offered afterwards', async () => {
  const asked = box.upstream.requests.length;
  const own = { type: 'function', function: weather };
  const server = { type: 'mcp', server_label: 'workspace', allowed_tools: ['get_time', 'file_info'] };
  const tool_choice = { type: 'mcp', server_label: 'workspace' };
  const body = { model, messages: [{ role: 'user', content: 'Go' }], tools: [own, server], tool_choice };
  expect((await postJson(`${box.url}/v1/chat/completions`, body)).status).toBe(200);
  const offers = box.upstream.requests.slice(asked).map(({ body: sent }) => {
    const names = (sent['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name).sort();
    return [sent['tool_choice'], names];
  });
  expect(offers).toEqual([
    ['required', ['file_info', 'get_time']],
    [undefined, ['file_info', 'get_time', 'weather']],
  ]);
});

verifies('chat.warnings', 'a tool of another provider is left out, on each API that has such tools', async () => {
  const web = { type: 'web_search_20250305', name: 'web_search' };
  const messages = [{ role: 'user', content: 'Go' }];
  const message = await (
    await postJson(`${box.url}/v1/messages`, { model, max_tokens: 9, messages, tools: [web] })
  ).json();
  const reported = (type: string) => ({
    warnings: [{ message: expect.stringContaining(type) as string, param: 'tools' }],
  });
  expect(message).toMatchObject({ content: [{ text: 'Hello' }], ...reported('web_search_20250305') });
  const response = await client.responses.create({ model, input: 'Go', tools: [{ type: 'web_search' }] });
  expect(response).toMatchObject({ output_text: 'Hello', ...reported('web_search') });
  expect(lastRequest()).not.toHaveProperty('tools');
});
