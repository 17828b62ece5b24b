// Tools that were found by `find_tools`, in the forms that APIs have for them: what is sent, what is read, and when they are listed
// as for any other model.
import { afterEach, expect } from 'vitest';
import { providerSchema } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import { ends, message, start, stop, text } from '../../../test/fixtures/anthropic-quirks.js';
import { asking, calling } from '../../../test/fixtures/model-request.js';
import {
  call,
  type Kind,
  readBytes,
  settingsOf,
  streamOf,
  writeRequest,
  written,
} from '../../../test/fixtures/read-family.js';
import { created, ended, text as said } from '../../../test/fixtures/responses-quirks.js';
import { foldEvents } from '../../../test/support/collect-model-events.js';
import { oneByOne } from '../../../test/support/one-by-one.js';
import { type Script, type ScriptedUpstream, startScriptedUpstream } from '../../../test/support/scripted-upstream.js';
import { verifies } from '../../../test/verifies.js';
import { toolSearchForm as search } from '../turn/offer/tool-search.js';
import type { ModelProvider, ModelRequest } from './model-provider.js';
import { createProvider } from './routing/create-provider.js';

const models = { anthropic: 'claude-opus-4-5', responses: 'gpt-5.5' };
type Native = keyof typeof models;
const natives = Object.keys(models) as Native[];

const parameters = { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] };
const finder = { name: 'find_tools', description: 'Finds tools', parameters };
const tools = [{ name: 'own' }, finder, { name: 'pay' }, { name: 'shop/list', description: 'Lists' }];
const result = (id: string, ...names: string[]): ChatMessage => ({
  role: 'tool',
  tool_call_id: id,
  content: JSON.stringify({ tools: names.map((name) => ({ name })) }),
});
const calls = (...made: [string, string, string?][]): ChatMessage => ({
  role: 'assistant',
  content: null,
  tool_calls: made.map(([id, name, given]) => call(id, name, given)),
});
const looks = (id: string): [string, string, string] => [id, 'find_tools', '{"query":"x"}'];
const asked: ChatMessage = { role: 'user', content: 'x' };
const found: ChatMessage[] = [
  asked,
  calls(looks('c1')),
  result('c1', 'shop/list', 'gone'),
  calls(['c2', 'shop/list'], looks('c3'), ['c4', 'pay']),
  { role: 'tool', tool_call_id: 'c2', content: 'r2' },
  result('c3', 'shop/list'),
  { role: 'tool', tool_call_id: 'c4', content: 'r4' },
];
const searching = (kind: Native, messages = found): Partial<ModelRequest> => ({
  model: models[kind],
  messages,
  tools,
  search,
});
const toolsOf = (body: Record<string, unknown>) => body['tools'] as JsonObject[];
const isNative = (body: Record<string, unknown>) =>
  toolsOf(body).some(({ type, defer_loading: deferred }) => type === 'tool_search' || deferred === true);

verifies('models.families.tool-search', 'Anthropic: deferred tools, and references where they were found', () => {
  const { messages, ...body } = written('anthropic', searching('anthropic'), { prompt_caching: true });
  const input_schema = { type: 'object' };
  expect(body['tools']).toEqual([
    { name: 'own', input_schema },
    { name: 'find_tools', description: 'Finds tools', input_schema: parameters },
    { name: 'pay', input_schema, cache_control: { type: 'ephemeral' } },
    { name: 'shop_list', description: 'Lists', input_schema, defer_loading: true },
  ]);
  const content = [{ type: 'tool_reference', tool_name: 'shop_list' }];
  expect((messages as { content: object[] }[]).filter((_, at) => at === 2 || at === 4)).toEqual([
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content }] },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'c2', content: 'r2' },
        { type: 'tool_result', tool_use_id: 'c3', content },
        { type: 'tool_result', tool_use_id: 'c4', content: 'r4' },
      ],
    },
  ]);
  const counted = writeRequest('anthropic', searching('anthropic'));
  const { family, errors } = counted;
  const names = { toWire: (name: string) => name.replace('/', '_'), fromWire: (name: string) => name };
  const writing = { provider: 'up', errors, names, warnings: counted.warnings };
  const count = family.toCount!(asking(searching('anthropic')), writing);
  expect(isNative(JSON.parse(count.body) as JsonObject)).toBe(true);
});

verifies('models.families.tool-search', 'Responses: a search, and each definition once where it was found', () => {
  const { input, ...body } = written('responses', searching('responses'));
  const plain = (name: string) => expect.objectContaining({ type: 'function', name, strict: false }) as object;
  expect(body['tools']).toEqual([
    plain('own'),
    { type: 'tool_search', execution: 'client', description: 'Finds tools', parameters },
    plain('pay'),
  ]);
  const searched = (call_id: string) => ({ call_id, execution: 'client', status: 'completed' });
  expect(input).toEqual([
    { role: 'user', content: 'x' },
    { type: 'tool_search_call', ...searched('c1'), arguments: { query: 'x' } },
    {
      type: 'tool_search_output',
      ...searched('c1'),
      tools: [{ ...(body['tools'] as JsonObject[])[0], name: 'shop_list', description: 'Lists', defer_loading: true }],
    },
    { type: 'function_call', call_id: 'c2', name: 'shop_list', namespace: 'shop_list', arguments: '{}' },
    { type: 'tool_search_call', ...searched('c3'), arguments: { query: 'x' } },
    { type: 'function_call', call_id: 'c4', name: 'pay', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c2', output: 'r2' },
    { type: 'tool_search_output', ...searched('c3'), tools: [] },
    { type: 'function_call_output', call_id: 'c4', output: 'r4' },
  ]);
});

verifies(
  'models.families.tool-search',
  'nothing found, an error, and an id that is used again for another call',
  () => {
    const none: ChatMessage = { role: 'tool', tool_call_id: 'c1', content: 'query is required', is_error: true };
    const history = [asked, calls(looks('c1')), none, calls(['c1', 'pay']), result('c1', 'shop/list')];
    const anthropic = JSON.stringify(written('anthropic', searching('anthropic', history)));
    expect(anthropic).not.toMatch(/tool_reference|defer_loading/);
    const { input, ...body } = written('responses', searching('responses', history));
    expect((input as JsonObject[]).map(({ type }) => type)).toEqual([
      undefined,
      'tool_search_call',
      'tool_search_output',
      'function_call',
      'function_call_output',
    ]);
    expect(toolsOf(body)).toHaveLength(4);
  },
);

const called = { type: 'tool_search_call', execution: 'client', id: 'tsc_1', call_id: 'theirs', status: 'completed' };
const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };
const item = (type: string, output_index: number, more: object) => ({
  type: `response.output_item.${type}`,
  output_index,
  item: more,
});

verifies('models.families.tool-search', 'Responses: a search reads as a call, and goes back as it was', async () => {
  const given = { query: 'x' };
  const request = searching('responses', [asked]);
  const read = async (chunks: object[]) => readBytes(writeRequest('responses', request).reader, streamOf(chunks));
  const answers = [
    [item('added', 1, { ...called, arguments: {} }), item('done', 1, { ...called, arguments: given }), ended()],
    [item('done', 1, { ...called, arguments: '{"query":"x"}' }), ended()],
    [ended('completed', { output: [reasoning, { ...called, arguments: given }] })],
  ];
  for (const chunks of answers) {
    const events = await read([created, item('done', 0, reasoning), ...chunks]);
    const { calls: made, finish } = foldEvents(events);
    expect([made, finish]).toEqual([[{ id: 'theirs', name: 'find_tools', arguments: '{"query":"x"}' }], 'tool_calls']);
    const end = events.at(-1);
    const provider_state = end?.type === 'message_end' ? end.providerState : undefined;
    const assistant = { ...calls(looks('ours')), provider_state: provider_state! } as ChatMessage;
    const history = [asked, assistant, result('ours', 'pay')];
    const native = written('responses', searching('responses', history))['input'] as JsonObject[];
    expect(native.slice(1, 3)).toEqual([reasoning, { ...called, arguments: given }]);
    expect(native[3]).toMatchObject({ type: 'tool_search_output', call_id: 'theirs', tools: [{ name: 'pay' }] });
    const listed = written('responses', { model: models.responses, messages: history, tools })['input'] as JsonObject[];
    const function_call = { type: 'function_call', call_id: 'theirs', name: 'find_tools', arguments: '{"query":"x"}' };
    expect(listed.slice(1, 3)).toEqual([reasoning, function_call]);
    expect(listed[3]).toMatchObject({ type: 'function_call_output', call_id: 'theirs' });
  }
  const server = await read([created, item('done', 0, { ...called, execution: 'server', arguments: {} }), ended()]);
  expect(foldEvents(server).calls).toEqual([]);
});

verifies('models.families.tool-search', 'Responses: a stored call has the namespace that this request needs', () => {
  const stored = (namespace?: string) => {
    const output = [reasoning, { type: 'function_call', id: 'fc_1', call_id: 'theirs', namespace: 'old', call: 0 }];
    const state = { provider: 'up', state: { output } };
    const paid = { ...calls(['c2', 'pay']), provider_state: state } as ChatMessage;
    const history = [asked, calls(looks('c1')), result('c1', ...(namespace ? ['pay'] : [])), paid];
    return (written('responses', searching('responses', history))['input'] as JsonObject[]).at(-1);
  };
  const same = { type: 'function_call', id: 'fc_1', call_id: 'theirs', name: 'pay', arguments: '{}' };
  expect(stored('pay')).toEqual({ ...same, namespace: 'pay' });
  expect(stored()).toEqual(same);
});

verifies('models.families.tool-search', 'by the model, or as configured; not where a tool must be called', () => {
  const names: Record<Native, [string, string]> = {
    anthropic: [
      'claude-sonnet-4-5-20250929 claude-haiku-4-5 claude-opus-5-5 eu.anthropic.claude-opus-4-6-v1:0',
      'claude-opus-4-1-20250805 claude-3-7-sonnet-latest claude-sonnet-4-20250514 house-model',
    ],
    responses: ['gpt-5.4 gpt-5.5-2026-04-23 gpt-6-astra', 'gpt-5.2-pro gpt-5-codex o3-pro house-model'],
  };
  for (const kind of natives) {
    const [known, unknown] = names[kind].map((list) => list.split(' '));
    const sent = (more: Partial<ModelRequest>, settings = {}) =>
      isNative(written(kind, { ...searching(kind), ...more }, settings));
    for (const model of known!) {
      expect(sent({ model }), model).toBe(true);
      expect(sent({ model }, { tool_search: 'function' }), model).toBe(false);
      expect(sent({ model }, { base_url: 'http://127.0.0.1:1' }), model).toBe(false);
    }
    for (const model of unknown!) {
      expect(sent({ model }), model).toBe(false);
      expect(sent({ model }, { tool_search: 'native' }), model).toBe(true);
    }
    expect(sent({ toolChoice: { name: 'find_tools' } })).toBe(false);
    expect(sent({ toolChoice: 'required' })).toBe(true);
    expect(sent({ tools: tools.filter((tool) => tool !== finder) })).toBe(false);
  }
  const own = { api: 'openai', tool: { type: 'tool_search' } } as const;
  const both = toolsOf(written('responses', { ...searching('responses'), providerTools: [own] }));
  expect(both.filter(({ type }) => type === 'tool_search')).toEqual([own.tool]);
});

let upstream: ScriptedUpstream | undefined;
let provider: ModelProvider | undefined;
afterEach(async () => {
  await provider?.close();
  await upstream?.close();
});

async function open(kind: Kind, script: Script): Promise<ScriptedUpstream> {
  await provider?.close();
  await upstream?.close();
  upstream = await startScriptedUpstream(script);
  const base_url = kind === 'anthropic' ? upstream.baseUrl.replace('/v1', '') : upstream.baseUrl;
  const given = { base_url, tool_search: 'native', api_key: 'canary-123456' };
  const config = providerSchema.parse({ ...settingsOf(kind), ...given });
  provider = createProvider('up', config, { logger: silentLogger, offline: undefined as never });
  return upstream;
}

async function ask(request: Partial<ModelRequest>) {
  const events = [];
  for await (const event of oneByOne((take) => provider!.call(asking(request), calling(), take))) events.push(event);
  return events;
}

const answers = {
  anthropic: { chunks: [message(), start(0, { type: 'text', text: '' }), text(0, 'a'), stop(0), ...ends('end_turn')] },
  responses: { chunks: [created, said(0, 'a'), ended()] },
};
const refusals = {
  anthropic: 'tools.2.defer_loading: Extra inputs are not permitted',
  responses: "Invalid value: 'tool_search'. Supported values are: 'function' and 'mcp'.",
};

for (const kind of natives) {
  const answer = answers[kind];
  const refusal = (words: string, more: object = {}) => ({
    status: 400,
    json: { type: 'error', error: { type: 'invalid_request_error', message: words, ...more } },
  });
  const sent = () => upstream!.requests.map(({ body }) => isNative(body));

  verifies('models.families.tool-search', `${kind}: a model that refuses the form is not asked so again`, async () => {
    await open(kind, [refusal(refusals[kind]), answer, answer, answer]);
    expect(foldEvents(await ask(searching(kind)))).toMatchObject({ text: 'a', finish: 'stop' });
    expect(sent()).toEqual([true, false]);
    await ask(searching(kind));
    expect(sent()).toEqual([true, false, false]);
    await ask({ ...searching(kind), model: `${models[kind]}-another` });
    expect(sent()).toEqual([true, false, false, true]);
  });

  verifies(
    'models.families.tool-search',
    `${kind}: any other refusal is shown if it is one without it too`,
    async () => {
      await open(kind, [refusal('No.'), refusal('No!'), refusal('prompt is too long'), answer]);
      expect((await ask(searching(kind))).at(-1)).toMatchObject({
        error: { message: expect.stringContaining('No!') as string },
      });
      expect((await ask(searching(kind))).at(-1)).toMatchObject({ error: { code: 'context_length_exceeded' } });
      expect(sent()).toEqual([true, false, true]);
    },
  );
}
