// Which of OpenAI's two APIs is asked, and what is sent to the Responses API.
import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import type { ScriptedAnswer } from '../../../../test/support/scripted-upstream.js';
import { ask, attempts, errorOf, start } from '../../../../test/fixtures/openai-setup.js';
import { call, writeRequest, written } from '../../../../test/fixtures/read-family.js';
import { created, ended, text } from '../../../../test/fixtures/responses-quirks.js';
import { verifies } from '../../../../test/verifies.js';

const pathOf = (model: string, settings: object = {}) => writeRequest('openai', { model }, settings).path;

verifies('models.openai.wires', 'by the model, at any address', () => {
  const asked =
    'gpt-5.4 gpt-5.4-mini gpt-5.5 gpt-5.5-2026-04-23 gpt-5.5-pro gpt-5.6-sol gpt-6-astra gpt-10 gpt-5-codex';
  const alone = 'gpt-5-pro gpt-5.1-codex-max gpt-5.2-pro o1-pro o3-pro o3-deep-research o4-mini-deep-research';
  for (const model of `${asked} ${alone} codex-mini-latest`.split(' ')) {
    for (const settings of [{}, { base_url: 'https://proxy.test/v1' }])
      expect(pathOf(model, settings)).toBe('/responses');
  }
  const others =
    'gpt-4o gpt-4.1 gpt-5 gpt-5-mini gpt-5.1 gpt-5.2 gpt-5.3-chat-latest o3 o4-mini openai/gpt-5.5 gpt-oss:20b m';
  for (const model of others.split(' ')) expect(pathOf(model)).toBe('/chat/completions');
});

verifies('models.openai.wires', 'by the configuration', () => {
  expect(pathOf('gpt-5.5', { wire: 'chat' })).toBe('/chat/completions');
  expect(pathOf('m', { wire: 'responses' })).toBe('/responses');
  const two = { model: 'gpt-5.5', parameters: { n: 2 } };
  expect(writeRequest('openai', two).path).toBe('/chat/completions');
  expect(() => writeRequest('responses', two)).toThrow(/n above 1/);
});

const tools = [{ name: 'f' }];
const onlyChat = ({ path }: { path: string }): ScriptedAnswer =>
  path.endsWith('/responses') ? { status: 404, json: { detail: 'Not Found' } } : { text: 'x' };

verifies(
  'models.openai.wires',
  'a server without the path is asked over chat completions, and only so from then on',
  async () => {
    const { requests } = await start(onlyChat);
    for (let n = 0; n < 2; n += 1) {
      const asked = { model: 'gpt-5.5', tools, parameters: { reasoning_effort: 'high' }, stream: n === 0 };
      expect(foldEvents(await ask(asked)).text).toBe('x');
    }
    const [responses, chat] = ['/v1/responses', '/v1/chat/completions'];
    expect(requests.map(({ path }) => path)).toEqual([responses, chat, chat]);
    expect(requests[1]!.body).toMatchObject({ reasoning_effort: 'none', tools: [{ type: 'function' }] });
    expect(attempts).toEqual([]);
    await ask({ model: 'gpt-5.6' });
    expect(requests.slice(3).map(({ path }) => path)).toEqual([responses, chat]);
  },
);

verifies('models.openai.wires', 'an unknown model, a refusal, and a path that is configured are reported', async () => {
  const { requests } = await start([
    { status: 404, json: { error: { message: 'The model does not exist', code: 'model_not_found' } } },
    { status: 400, json: { error: { message: 'no', param: 'input' } } },
  ]);
  expect(await errorOf(ask({ model: 'gpt-5.5' }))).toMatchObject({ code: 'model_not_found', http: 404 });
  expect(await errorOf(ask({ model: 'gpt-5.5' }))).toMatchObject({ code: 'invalid_value', param: 'input' });
  expect(requests.map(({ path }) => path)).toEqual(['/v1/responses', '/v1/responses']);
});

verifies('models.openai.wires', 'a configured path that is missing is an error', async () => {
  await start(onlyChat, { wire: 'responses' });
  expect(await errorOf(ask({ model: 'm' }))).toMatchObject({ code: 'model_error', upstreamStatus: 404 });
});

verifies('models.openai.wires', 'streamed and whole over a connection', async () => {
  const whole: JsonObject = { object: 'response', id: 'resp_1', model: 'gpt-x', status: 'completed' };
  const output = [{ type: 'message', content: [{ type: 'output_text', text: 'ab' }] }];
  const { requests } = await start([
    { chunks: [created, text(0, 'a'), text(0, 'b'), ended()] },
    { json: { ...whole, output } },
    { json: { ...whole, status: 'in_progress', output } },
  ]);
  expect(foldEvents(await ask({ model: 'gpt-5.5' }))).toMatchObject({ text: 'ab', finish: 'stop', model: 'gpt-x' });
  expect(foldEvents(await ask({ model: 'gpt-5.5', stream: false }))).toMatchObject({ text: 'ab', finish: 'stop' });
  expect(await errorOf(ask({ model: 'gpt-5.5', stream: false }))).toMatchObject({ code: 'model_error' });
  expect(requests.map(({ body }) => body['stream'])).toEqual([true, false, false]);
});

verifies('models.families.request', 'Responses: parameters that it has under other names, none that it lacks', () => {
  const parameters = {
    max_tokens: 5,
    temperature: 0.5,
    top_p: 0.9,
    stop: ['END'],
    seed: 1,
    presence_penalty: 1,
    frequency_penalty: 1,
    logit_bias: {},
    logprobs: true,
    top_logprobs: 2,
    user: 'u',
    reasoning_effort: 'max',
    response_format: { type: 'json_object' },
  };
  const unknown = {
    verbosity: 'low',
    service_tier: 'flex',
    prompt_cache_key: 'k',
    include: ['message.input_image.image_url'],
    reasoning: { summary: null },
  };
  const request = { model: 'gpt-5.5', parameters, unknown, toolChoice: 'auto' as const, parallelToolCalls: false };
  expect(written('responses', request)).toEqual({
    store: false,
    service_tier: 'flex',
    prompt_cache_key: 'k',
    model: 'gpt-5.5',
    input: [{ role: 'user', content: 'x' }],
    stream: true,
    include: ['message.input_image.image_url', 'reasoning.encrypted_content'],
    reasoning: { effort: 'xhigh', summary: null },
    text: { verbosity: 'low', format: { type: 'json_object' } },
    max_output_tokens: 16,
    user: 'u',
  });
  expect(written('responses', { model: 'gpt-5.5', unknown: { store: true } })['store']).toBe(true);
  expect(written('responses', { model: 'gpt-4o' })).not.toHaveProperty('include');
});

verifies('models.families.request', 'Responses: temperature only while the model does not reason', () => {
  const sent = (model: string, effort?: string) =>
    written('responses', { model, parameters: { temperature: 1, ...(effort && { reasoning_effort: effort }) } })[
      'temperature'
    ];
  for (const [model, effort] of [['gpt-4o'], ['m', 'high'], ['gpt-5.4'], ['gpt-5.5', 'none'], ['gpt-5.2', 'none']])
    expect(sent(model!, effort), model).toBe(1);
  for (const [model, effort] of [['gpt-5.5'], ['gpt-5.4', 'low'], ['gpt-6-luna', 'none'], ['o3'], ['gpt-5-codex']])
    expect(sent(model!, effort), model).toBeUndefined();
});

verifies('models.families.request', 'Responses: tools, with strict said, and choices', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'string' } },
    required: ['a'],
    additionalProperties: false,
  };
  const offered = [{ name: 'a/b', description: 'd', parameters: schema, strict: true }, { name: 'c' }];
  const request = { tools: offered, toolChoice: { name: 'a/b' }, parallelToolCalls: false };
  expect(written('responses', request)).toMatchObject({
    tools: [
      { type: 'function', name: 'a_b', description: 'd', parameters: schema, strict: true },
      { type: 'function', name: 'c', parameters: { type: 'object', properties: {} }, strict: false },
    ],
    tool_choice: { type: 'function', name: 'a_b' },
    parallel_tool_calls: false,
  });
  for (const toolChoice of ['auto', 'none', 'required'] as const)
    expect(written('responses', { tools, toolChoice })['tool_choice']).toBe(toolChoice);
});

verifies('models.families.request', 'Responses: messages become items, long ids of calls are shortened', () => {
  const long = 'c'.repeat(65);
  const input = written('responses', {
    messages: [
      { role: 'system', content: 'S' },
      { role: 'user', content: [{ type: 'file', file: { file_id: 'file-1' } }] },
      { role: 'assistant', content: null, refusal: 'No.' },
      { role: 'assistant', content: 'So.', tool_calls: [call(long, 'f')] },
      { role: 'tool', tool_call_id: long, content: [{ type: 'text', text: 'r' }] },
    ],
  })['input'] as { call_id: string }[];
  const call_id = input[4]!.call_id;
  expect(call_id).toMatch(/^call_[0-9a-f]{32}$/);
  expect(input).toEqual([
    { role: 'system', content: 'S' },
    { role: 'user', content: [{ type: 'input_file', file_id: 'file-1' }] },
    { role: 'assistant', content: 'No.' },
    { role: 'assistant', content: 'So.' },
    { type: 'function_call', call_id, name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id, output: [{ type: 'input_text', text: 'r' }] },
  ]);
  const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
  const { json, reported } = writeRequest('responses', { messages: [{ role: 'user', content: [sound] }] });
  expect(json['input']).toEqual([{ role: 'user', content: [{ type: 'input_text', text: '[audio/wav]' }] }]);
  expect(reported()).toEqual([expect.objectContaining({ message: expect.stringContaining('audio/wav') as string })]);
});

verifies(
  'models.families.request',
  "Responses: OpenAI's own tools are sent, and one that was chosen is the choice",
  () => {
    const search = { api: 'openai', tool: { type: 'web_search', search_context_size: 'low' } } as const;
    const tool = { name: 'f', parameters: { type: 'object' } };
    const both = written('responses', { tools: [tool], providerTools: [{ ...search, chosen: true }] });
    expect(both['tools']).toEqual([expect.objectContaining({ type: 'function', name: 'f' }), search.tool]);
    expect(both['tool_choice']).toEqual({ type: 'web_search' });
    expect(written('responses', { tools: [], providerTools: [search] })['tools']).toEqual([search.tool]);
  },
);
