// What a provider cannot be sent is told in the answer: on every chat API, streamed and whole, read by the official SDKs, and
// told again with a stored run.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { afterAll, beforeAll, expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import { postJson, readSse } from '../support/read-sse.js';
import { type ScriptedAnswer, type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { finish } from '../fixtures/gemini-chunks.js';
import { verifies } from '../verifies.js';

let gemini: ScriptedUpstream;
let box: SignalboxHere;
let openai: OpenAI;
let anthropic: Anthropic;

beforeAll(async () => {
  // A tool that runs here, then the answer: two rounds, whose requests lose the same.
  gemini = await startScriptedUpstream(({ path, body }): ScriptedAnswer => {
    const calls = JSON.stringify(body['tools'] ?? '').includes('get_time');
    const answered = JSON.stringify(body['contents']).includes('functionResponse');
    const call = { functionCall: { name: 'get_time', args: { offset_ms: 0 } } };
    const answer = finish('STOP', [calls && !answered ? call : { text: 'ok' }]);
    return path.includes('stream') ? { chunks: [answer] } : { json: answer as unknown as JsonObject };
  });
  const base_url = gemini.baseUrl.replace('/v1', '');
  const providers = { gemini: { kind: 'gemini', base_url, api_key: 'key-of-gemini', max_retries: 0 } };
  const environment = { MODELS_PROVIDERS: JSON.stringify(providers), DEFAULT_MODEL: 'gemini/gemini-2.5-flash' };
  box = await startSignalboxHere({ environment });
  openai = new OpenAI({ baseURL: `${box.url}/v1`, apiKey: 'sk-any', maxRetries: 0 });
  anthropic = new Anthropic({ baseURL: box.url, apiKey: 'sk-any', maxRetries: 0 });
});
afterAll(async () => {
  await box?.close();
  await gemini?.close();
});

const parameters = { type: 'object' as const, properties: { p: { type: 'string', contentEncoding: 'base64' } } };
const own = { type: 'function' as const, function: { name: 'mine', parameters } };
const here = { type: 'mcp', server_label: 'workspace', allowed_tools: ['get_time'] };
const messages = [{ role: 'user' as const, content: 'x' }];
const model = 'gemini/gemini-2.5-flash';
const message = expect.stringMatching(/tool 'mine'.*contentEncoding/);
const warnings = [{ message, param: 'tools' }];

for (const path of ['/v1', '/api']) {
  const url = () => `${box.url}${path}/chat/completions`;
  const request = { model, messages, tools: [own, here] };

  verifies('chat.warnings', `${path}: whole, streamed, and none where nothing was left out`, async () => {
    const whole = (await (await postJson(url(), request)).json()) as JsonObject;
    expect(whole).toMatchObject({ tool_execution: { rounds: 2 }, warnings });
    const { events } = await readSse(await postJson(url(), { ...request, stream: true }));
    const reported = events.filter((event) => event['warnings'] !== undefined);
    expect(reported).toMatchObject([{ choices: [{ finish_reason: 'stop' }], tool_execution: { rounds: 2 }, warnings }]);
    expect(await (await postJson(url(), { model, messages })).json()).not.toHaveProperty('warnings');
  });

  verifies('chat.warnings', `${path}: the same key again`, async () => {
    const headers = { 'idempotency-key': `warned-${path.slice(1)}` };
    const first = await (await postJson(url(), request, headers)).json();
    expect(first).toMatchObject({ warnings });
    expect(await (await postJson(url(), request, headers)).json()).toEqual(first);
  });
}

verifies('chat.warnings', 'OpenAI’s SDK reads chats and responses, also a stored one', async () => {
  const chat = { model, messages, tools: [own] };
  expect(await openai.chat.completions.create(chat)).toMatchObject({ warnings });
  const streamed = openai.chat.completions.stream({ ...chat, stream: true });
  expect(await streamed.finalChatCompletion()).toMatchObject({ warnings });
  const asked = { model, input: 'x', tools: [{ type: 'function' as const, name: 'mine', strict: false, parameters }] };
  const response = await openai.responses.create(asked);
  expect(response).toMatchObject({ warnings });
  expect(await openai.responses.retrieve(response.id)).toMatchObject({ warnings });
  expect(await openai.responses.stream(asked).finalResponse()).toMatchObject({ output_text: 'ok', warnings });
});

verifies('chat.warnings', 'Anthropic’s SDK reads messages', async () => {
  const asked = { model, max_tokens: 10, messages, tools: [{ name: 'mine', input_schema: parameters }] };
  expect(await anthropic.messages.create(asked)).toMatchObject({ stop_reason: 'end_turn', warnings });
  const stream = anthropic.messages.stream(asked);
  const reported: object[] = [];
  stream.on('streamEvent', (event) => void (event.type === 'message_delta' && reported.push(event)));
  expect(await stream.finalText()).toBe('ok');
  expect(reported).toMatchObject([{ warnings }]);
});
