// Further requests of the official SDKs: the input of a stored response, its stream from the start, cancelling it, and
// counting the tokens of a request.
import { createOpenAI } from '@ai-sdk/openai';
import Anthropic, { type APIError } from '@anthropic-ai/sdk';
import { generateText, jsonSchema, stepCountIs, tool } from 'ai';
import OpenAI from 'openai';
import type { Response } from 'openai/resources/responses/responses';
import { afterAll, beforeAll, expect } from 'vitest';
import { type SignalboxHere, startSignalboxHere, toolsReady } from '../support/services/start-signalbox.js';
import { cutScript } from '../support/cut-script.js';
import { messagesOf } from '../support/scripts.js';
import { toolScript } from '../support/tool-script.js';
import { verifies } from '../verifies.js';

let box: SignalboxHere;
let url: string;
let client: OpenAI;

beforeAll(async () => {
  box = await startSignalboxHere({
    gateways: 0,
    script: (request) => {
      if (request.path === '/v1/messages/count_tokens') return { json: { input_tokens: 42 } };
      const asked = messagesOf(request).find((message) => message['role'] === 'user')!['content'];
      return asked === 'silent for too long' ? cutScript(request) : toolScript(request);
    },
  });
  const { baseUrl } = box.upstream;
  const providers = {
    scripted: { kind: 'openai', base_url: baseUrl, max_retries: 0, models: ['model'] },
    claude: { kind: 'anthropic', base_url: baseUrl.replace('/v1', ''), models: ['claude-x'] },
  };
  ({ url } = await box.startGateway({ MODELS_PROVIDERS: JSON.stringify(providers) }));
  await toolsReady(url);
  client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-any', maxRetries: 0 });
});
afterAll(() => box?.close());

const workspace = { type: 'mcp' as const, server_label: 'workspace', allowed_tools: ['get_time'] };
const create = (body: object) =>
  client.responses.create({ model: 'scripted/model', ...body } as never) as Promise<Response>;

verifies('apis.responses.retrieval', 'what was asked, item by item, with what was before', async () => {
  const picture = 'data:image/png;base64,AAAA';
  const first = await create({
    input: [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'input_text', text: 'a client tool' }] },
    ],
    tools: [{ type: 'function', name: 'lookup', parameters: {}, strict: null }],
  });
  const call = first.output.find((item) => item.type === 'function_call')!;
  const output = { type: 'function_call_output', call_id: call.call_id, output: 'v' };
  const look = [
    { type: 'input_text', text: 'look' },
    { type: 'input_image', image_url: picture, detail: 'low' },
  ];
  const second = await create({ previous_response_id: first.id, input: [output, { role: 'user', content: look }] });
  const all = [];
  for await (const item of client.responses.inputItems.list(second.id, { limit: 2, order: 'asc' })) all.push(item);
  expect(all).toMatchObject([
    { type: 'message', role: 'developer', content: [{ type: 'input_text', text: 'Be brief.' }] },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'a client tool' }] },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Looking.' }] },
    { type: 'function_call', call_id: call.call_id, name: 'lookup', arguments: call.arguments },
    { type: 'function_call_output', call_id: call.call_id, output: 'v' },
    { type: 'message', role: 'user', content: look },
  ]);
  expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  const newest = await client.responses.inputItems.list(second.id, { limit: 1 });
  expect(newest).toMatchObject({ data: [all.at(-1)], has_more: true });
  // Items of earlier answers may be sent again.
  const again = await create({ input: all.slice(0, 5) });
  expect(again.status).toBe('completed');
  for (const query of [{ limit: 0 }, { limit: 101 }, { order: 'up' }, { after: 'msg_none' }]) {
    await expect(client.responses.inputItems.list(second.id, query as object)).rejects.toMatchObject({
      status: 400,
      param: Object.keys(query)[0],
    });
  }
  await expect(client.responses.inputItems.list('resp_none')).rejects.toMatchObject({ status: 404 });
});

verifies('apis.responses.retrieval', 'streamed again, from its beginning', async () => {
  const response = await create({ input: 'a server tool', tools: [workspace] });
  const again = await client.responses.retrieve(response.id);
  const events = [];
  for await (const event of await client.responses.retrieve(response.id, { stream: true })) events.push(event);
  expect(events.map((event) => event.sequence_number)).toEqual(events.map((_event, at) => at));
  expect(events[0]!.type).toBe('response.created');
  const { output_text: _, ...reported } = again;
  expect(events.at(-1)).toMatchObject({ type: 'response.completed', response: reported });
  await expect(client.responses.retrieve(response.id, { stream: true, starting_after: 3 })).rejects.toMatchObject({
    status: 400,
    param: 'starting_after',
  });
});

verifies(
  'apis.responses.retrieval',
  'one that goes on alone is followed and cancelled; one that is over stays',
  async () => {
    const events = await client.responses.create({
      model: 'scripted/model',
      input: 'silent for too long',
      stream: true,
      on_disconnect: 'detach',
    } as OpenAI.Responses.ResponseCreateParamsStreaming);
    let id = '';
    for await (const event of events) {
      if (event.type === 'response.created') id = event.response.id;
      if (event.type === 'response.output_text.delta') break;
    }
    expect((await client.responses.retrieve(id)).status).toBe('in_progress');
    const follow = async () => {
      for await (const _ of await client.responses.retrieve(id, { stream: true }));
    };
    const heard = follow().catch((error: unknown) => error);
    expect(await client.responses.cancel(id)).toMatchObject({ id, status: 'cancelled' });
    expect(String(await heard)).toContain('cancelled');
    expect((await client.responses.cancel(id)).status).toBe('cancelled');
    const done = await create({ input: 'plain' });
    expect((await client.responses.cancel(done.id)).status).toBe('completed');
    await expect(client.responses.cancel('resp_none')).rejects.toMatchObject({ status: 404 });
  },
);

verifies('apis.responses.references', 'by the AI SDK, over several steps and messages', async () => {
  const model = createOpenAI({ baseURL: `${url}/v1`, apiKey: 'sk-any' }).responses('scripted/model');
  const lookup = tool({
    inputSchema: jsonSchema<object>({ type: 'object', properties: { q: { type: 'string' } } }),
    execute: () => Promise.resolve('v'),
  });
  const options = { model, tools: { lookup }, maxRetries: 0 };
  const first = await generateText({ ...options, prompt: 'a client tool', stopWhen: stepCountIs(3) });
  expect(first.steps.length).toBe(2);
  expect(JSON.stringify(first.steps[1]!.request.body)).toContain('item_reference');
  expect(messagesOf(box.upstream.requests.at(-1)!)).toMatchObject([
    { role: 'user', content: 'a client tool' },
    { role: 'assistant', content: 'Looking.', tool_calls: [{ function: { name: 'lookup' } }] },
    { role: 'tool', content: 'v' },
  ]);
  const messages = [...first.response.messages, { role: 'user' as const, content: 'plain' }];
  await generateText({ ...options, messages });
  expect(messagesOf(box.upstream.requests.at(-1)!).slice(-2)).toMatchObject([
    { role: 'assistant', content: first.text },
    { role: 'user', content: 'plain' },
  ]);
});

verifies('apis.responses.references', 'to nothing, or to what is not stored, is an error that names it', async () => {
  const kept = await create({ input: 'plain' });
  const lost = await create({ input: 'plain', store: false });
  const reference = (id: string) => ({ type: 'item_reference', id });
  const ask = (id: string) => create({ input: [reference(id), { role: 'user', content: 'plain' }] });
  expect((await ask(kept.output[0]!.id!)).status).toBe('completed');
  for (const id of [lost.output[0]!.id!, 'msg_none', 'fc_none']) {
    await expect(ask(id)).rejects.toMatchObject({ status: 400, param: 'input[0].id' });
  }
});

verifies('apis.count-tokens', 'both SDKs, with tools and a conversation before', async () => {
  const anthropic = new Anthropic({ baseURL: url, apiKey: 'sk-any', maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'x' }];
  const tools = [{ type: 'mcp_toolset', mcp_server_name: 'workspace' }] as unknown as Anthropic.ToolUnion[];
  const counted = await anthropic.messages.countTokens({ model: 'claude/claude-x', messages, tools });
  expect(counted).toEqual({ input_tokens: 42 });
  const sent = box.upstream.requests.at(-1)!.body;
  expect((sent['tools'] as { name: string }[]).map(({ name }) => name)).toContain('get_time');
  const first = await create({ input: 'plain' });
  const body = { model: 'claude/claude-x', previous_response_id: first.id, input: 'And now?' };
  expect(await client.responses.inputTokens.count(body)).toEqual({ object: 'response.input_tokens', input_tokens: 42 });
  expect(box.upstream.requests.at(-1)!.body['messages']).toHaveLength(3);
});

verifies('apis.count-tokens', 'a model that counts none, and what is wrong', async () => {
  const anthropic = new Anthropic({ baseURL: url, apiKey: 'sk-any', maxRetries: 0 });
  const messages = [{ role: 'user' as const, content: 'x' }];
  for (const [body, named] of [
    [{ model: 'scripted/model', messages }, 'cannot count the tokens'],
    [{ model: 'claude/claude-x', messages: [] }, 'messages'],
  ] as const) {
    const error: unknown = await anthropic.messages
      .countTokens({ ...body, messages: [...body.messages] })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(Anthropic.BadRequestError);
    expect((error as APIError).requestID).toMatch(/^req_/);
    expect((error as Error).message).toContain(named);
  }
  await expect(client.responses.inputTokens.count({ model: 'scripted/model', input: 'x' })).rejects.toMatchObject({
    status: 400,
    param: 'model',
  });
});
