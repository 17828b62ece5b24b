// find_tools in every family of models and every chat API, whole and streamed, on strict upstreams.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CountingServer } from '../support/counting-server.js';
import { eventsOf } from '../support/events-client.js';
import { lookingPlan, manyRules, manyTools, startManyTools } from '../support/many-tools.js';
import { post } from '../support/scripts.js';
import { type TemporaryDirectory, temporaryDirectory } from '../support/services/start-process.js';
import { type SignalboxHere, startSignalboxHere, toolsReady } from '../support/services/start-signalbox.js';
import { strictAnthropic } from '../support/strict-anthropic.js';
import { strictDeepSeek } from '../support/strict-deepseek.js';
import { strictGemini } from '../support/strict-gemini.js';
import { strictResponses } from '../support/strict-responses.js';
import { startStrictUpstream, type StrictUpstream } from '../support/strict-upstream.js';
import { verifies } from '../verifies.js';

const models = ['claude/claude-opus-4-5', 'gemini/gemini-3-strict', 'deepseek/m', 'openai/gpt-5.5'];
let box: SignalboxHere;
let many: CountingServer;
let directory: TemporaryDirectory;
let strict: StrictUpstream[] = [];
let url: string;

/** By a model that writes its calls as text. */
const prompted = (): { text: string } => {
  const call = (planned: JsonObject) => `<function_call>${JSON.stringify(planned)}</function_call>`;
  const { messages } = box.upstream.requests.at(-1)!.body as { messages: { role: string }[] };
  const round = messages.filter(({ role }) => role === 'assistant').length;
  const { text = '', calls = [] } = lookingPlan[round]!;
  return { text: text + calls.map((each) => call(each)).join('') };
};

beforeAll(async () => {
  [many, directory, ...strict] = await Promise.all([
    startManyTools(),
    temporaryDirectory(),
    ...[strictAnthropic, strictGemini, strictDeepSeek, strictResponses].map((family) =>
      startStrictUpstream(family, lookingPlan),
    ),
  ]);
  const file = join(directory.path, 'signalbox.yaml');
  writeFileSync(file, JSON.stringify({ policy: { rules: manyRules }, mcpServers: { many: { url: many.url } } }));
  box = await startSignalboxHere({ gateways: 0, script: prompted, environment: { SIGNALBOX_CONFIG: file } });
  const [anthropic, gemini, deepseek, openai] = strict.map(({ origin }) => origin);
  const providers = {
    claude: { kind: 'anthropic', base_url: anthropic, api_key: 'key-of-claude', max_retries: 0, tool_search: 'native' },
    gemini: { kind: 'gemini', base_url: gemini, api_key: 'key-of-gemini', max_retries: 0 },
    deepseek: {
      kind: 'openai',
      base_url: `${deepseek}/v1`,
      api_key: 'key-of-deepseek',
      reasoning_replay: 'tool_turns',
    },
    openai: {
      kind: 'openai',
      base_url: `${openai}/v1`,
      api_key: 'key-of-openai',
      max_retries: 0,
      tool_search: 'native',
    },
    prompted: { kind: 'openai', base_url: box.upstream.baseUrl, tools: 'prompted', max_retries: 0 },
  };
  const environment = { MODELS_PROVIDERS: JSON.stringify(providers), DEFAULT_MODEL: 'openai/gpt-5.5' };
  ({ url } = await box.startGateway(environment));
  await toolsReady(url);
}, 60_000);
afterAll(async () => {
  await box?.close();
  await Promise.all([many, ...strict].map((each) => each?.close()));
  await directory?.remove();
});

const ask = (model: string) => ({ model, messages: [{ role: 'user', content: 'Go.' }], tools: [manyTools] });
const refusals = () => strict.flatMap(({ refusals: said }) => said);

/** The names that are offered in the last three requests, however the family writes them. */
const offered = (requests: readonly { body: JsonObject }[]) =>
  requests.slice(-3).map(({ body }) => {
    const names = JSON.stringify(body['tools']).matchAll(/"name":"(\w+)"/g);
    return [...names].map(([, name]) => name);
  });
const grows = [['find_tools'], ['find_tools', 'list_invoices'], ['find_tools', 'list_invoices']];
/** OpenAI's own tool search has no name, and what it found is in its result. */
const stays = [[], [], []];

for (const [at, model] of models.entries()) {
  verifies('tools.search-found', `${model}: whole and streamed`, async () => {
    const { status, body } = await post(url, '/v1/chat/completions', ask(model));
    expect([status, refusals()]).toEqual([200, []]);
    expect(body.choices[0]!.message.content).toBe('Looking.\n\nAll paid.');
    expect(body.tool_execution!.calls.map(({ name, success }) => [name, success])).toEqual([
      ['find_tools', true],
      ['list_invoices', true],
    ]);
    expect(body.tool_execution!.tools_called).toEqual(['list_invoices']);
    const shown = offered(strict[at]!.requests);
    expect(shown).toEqual(model.startsWith('openai/') ? stays : grows);
    const events: JsonObject[] = [];
    for await (const event of eventsOf(url, '/api/chat/completions', { ...ask(model), stream: true }))
      events.push(event);
    expect(refusals()).toEqual([]);
    expect(offered(strict[at]!.requests)).toEqual(shown);
    const results = events.filter(({ type }) => type === 'tool_result').map(({ result }) => result as JsonObject);
    const [found] = results.map(({ content }) => content as string);
    expect((JSON.parse(found!) as { tools: JsonObject[] }).tools).toContainEqual({
      name: 'list_invoices',
      server: 'many',
      description: 'Lists the unpaid invoices of a customer',
      parameters: ['amount?: number'],
    });
    expect(found).not.toContain('burn_invoices');
    expect(results[1]!['content']).toMatch(/^list_invoices 7: call \d+$/);
  });
}

verifies('models.families.tool-search', 'Claude: what was found is deferred, and all other tools stay', async () => {
  await post(url, '/v1/chat/completions', ask('claude/claude-opus-4-5'));
  const requests = strict[0]!.requests.slice(-3).map(({ body }) => body['tools'] as JsonObject[]);
  const deferred = requests.map((tools) => tools.filter((tool) => tool['defer_loading'] === true));
  expect(deferred.map((tools) => tools.map(({ name }) => name))).toEqual([[], ['list_invoices'], ['list_invoices']]);
  expect(requests.map((tools) => tools.filter((tool) => tool['defer_loading'] !== true))).toEqual([
    requests[0],
    requests[0],
    requests[0],
  ]);
});

verifies('models.families.tool-search', 'GPT: the tools of all requests are the same', async () => {
  await post(url, '/v1/chat/completions', ask('openai/gpt-5.5'));
  const [first, ...others] = strict[3]!.requests.slice(-3).map(({ body }) => body['tools']);
  expect(first).toEqual([expect.objectContaining({ type: 'tool_search', execution: 'client' })]);
  expect(others).toEqual([first, first]);
});

verifies('tools.search-kept', 'when another family goes on with the session', async () => {
  const given = { session_id: 'families' };
  await post(url, '/v1/chat/completions', { ...ask('openai/gpt-5.5'), ...given });
  const { requests } = strict[0]!;
  const before = requests.length;
  const { body } = await post(url, '/v1/chat/completions', { ...ask('claude/claude-opus-4-5'), ...given });
  expect(body.choices[0]!.message.content).toBe('Looking.\n\nAll paid.');
  expect(refusals()).toEqual([]);
  expect(offered(requests.slice(before, before + 1))).toEqual([['find_tools', 'list_invoices']]);
});

verifies('tools.search-found', 'a model that writes its calls as text', async () => {
  const { body } = await post(url, '/v1/chat/completions', ask('prompted/tiny'));
  expect(body.tool_execution!.calls.map(({ name, success }) => [name, success])).toEqual([
    ['find_tools', true],
    ['list_invoices', true],
  ]);
  const [first, second] = box.upstream.requests.map(({ body: sent }) => JSON.stringify(sent['messages']));
  expect(first).not.toContain('Lists the unpaid invoices');
  expect(second).toContain('Lists the unpaid invoices');
});

const send = async (path: string, body: object) => {
  const headers = { 'content-type': 'application/json' };
  return (await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) })).text();
};

verifies('tools.search-found', 'by the Messages API, whole and streamed', async () => {
  const toolset = { type: 'mcp_toolset', mcp_server_name: 'many' };
  const request = { ...ask('claude/claude-opus-4-5'), max_tokens: 1_000, tools: [toolset] };
  const { content } = JSON.parse(await send('/v1/messages', request)) as {
    content: { type: string; name: string; server_name: string }[];
  };
  const calls = content.filter(({ type }) => type === 'mcp_tool_use');
  expect(calls.map(({ name, server_name }) => [name, server_name])).toEqual([
    ['find_tools', 'signalbox'],
    ['list_invoices', 'many'],
  ]);
  const streamed = await send('/v1/messages', { ...request, stream: true });
  expect(streamed).toContain('"name":"list_invoices"');
  expect(streamed).toContain('message_stop');
  expect(refusals()).toEqual([]);
});

verifies('tools.search-found', 'by the Responses API, whole, streamed, and in a later response', async () => {
  const request = { model: 'openai/gpt-5.5', tools: [manyTools], input: 'Go.' };
  const respond = (more: object) => send('/v1/responses', { ...request, ...more });
  const first = JSON.parse(await respond({})) as {
    id: string;
    output: { type: string; name: string; server_label: string }[];
  };
  const ran = first.output.filter(({ type }) => type === 'mcp_call');
  const calls = ran.map(({ name }) => name);
  expect(calls).toEqual(['find_tools', 'list_invoices']);
  expect(ran.map(({ server_label }) => server_label)).toEqual(['signalbox', 'many']);
  expect(await respond({ stream: true })).toContain('response.completed');
  expect(refusals()).toEqual([]);
  const claude = JSON.parse(await respond({ model: 'claude/claude-opus-4-5', previous_response_id: first.id })) as {
    output: { type: string; name: string }[];
  };
  expect(claude.output.filter(({ type }) => type === 'mcp_call').map(({ name }) => name)).toEqual(calls);
  expect(refusals()).toEqual([]);
  const { requests } = strict[3]!;
  const before = requests.length;
  // The upstream has no plan for a second turn. What the first response found is offered before anything is looked for.
  await respond({ previous_response_id: first.id });
  expect(JSON.stringify(requests[before]!.body['input'])).toContain('"defer_loading":true');
});
