import { afterEach, expect } from 'vitest';
import { providerSchema } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { oneByOne } from '../../../test/support/one-by-one.js';
import { foldEvents } from '../../../test/support/collect-model-events.js';
import {
  type Script,
  type ScriptedAnswer,
  type ScriptedUpstream,
  startScriptedUpstream,
} from '../../../test/support/scripted-upstream.js';
import { ends, message, start, stop, text } from '../../../test/fixtures/anthropic-quirks.js';
import { chunk, finish } from '../../../test/fixtures/gemini-chunks.js';
import { type Kind, settingsOf, simpleRequest } from '../../../test/fixtures/read-family.js';
import { verifies } from '../../../test/verifies.js';
import { createProvider } from './routing/create-provider.js';
import type { ModelProvider, ModelRequest } from './model-provider.js';

let upstream: ScriptedUpstream | undefined;
let provider: ModelProvider | undefined;

afterEach(async () => {
  await provider?.close();
  await upstream?.close();
});

async function open(kind: Kind, script: Script, settings: object = {}): Promise<ScriptedUpstream> {
  upstream = await startScriptedUpstream(script);
  const base_url = upstream.baseUrl.replace('/v1', '');
  const config = providerSchema.parse({ ...settingsOf(kind), base_url, api_key: 'canary-123456', ...settings });
  provider = createProvider('up', config, { logger: silentLogger, offline: undefined as never });
  return upstream;
}

async function ask(request: Partial<ModelRequest> = {}): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  const call = { requestId: 'r', deadline: Date.now() + 20_000, signal: new AbortController().signal };
  for await (const event of oneByOne((take) => provider!.call(simpleRequest(request), call, take))) events.push(event);
  return events;
}

const said = (words: string) => [start(0, { type: 'text', text: '' }), text(0, words), stop(0)];
const counted = { usage: { input_tokens: 10, output_tokens: 1 } };

verifies('models.families.goes-on', 'Anthropic pauses: sent back as it is, emitted as one message', async () => {
  const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: { query: 'x' } };
  const { requests } = await open('anthropic', [
    { chunks: [message(counted), ...said('a'), start(1, search), stop(1), ...ends('pause_turn')] },
    { chunks: [message(counted), ...said('b'), ...ends('pause_turn')] },
    { chunks: [message(counted), ...said('c'), ...ends('end_turn')] },
  ]);
  const answer = foldEvents(await ask());
  expect(answer).toMatchObject({ text: 'abc', finish: 'stop', usage: { prompt_tokens: 30, completion_tokens: 15 } });
  const content = [{ type: 'text', text: 'a' }, search, { type: 'text', text: 'b' }];
  const messages = requests.map(({ body }) => (body['messages'] as object[]).slice(1));
  expect(messages).toEqual([
    [],
    [{ role: 'assistant', content: content.slice(0, 2) }],
    [{ role: 'assistant', content }],
  ]);
});

verifies('models.families.goes-on', 'Anthropic pauses for ever', async () => {
  const { requests } = await open('anthropic', () => ({
    json: { type: 'message', content: [], stop_reason: 'pause_turn' },
  }));
  expect(foldEvents(await ask({ stream: false })).error).toBe('model_bad_response');
  expect(requests).toHaveLength(17);
});

verifies('models.families.goes-on', 'Gemini spoils a call: once more, then an error', async () => {
  const spoilt = { chunks: [chunk([{ text: 'hm', thought: true }]), finish('MALFORMED_FUNCTION_CALL')] };
  const { requests, add } = await open('gemini', [spoilt, { chunks: [finish('STOP', [{ text: 'ok' }])] }]);
  expect(foldEvents(await ask())).toMatchObject({ text: 'ok', finish: 'stop' });
  expect(requests[1]!.body).toEqual(requests[0]!.body);
  add(spoilt, spoilt);
  expect(foldEvents(await ask())).toMatchObject({ error: 'model_error' });
  expect(requests).toHaveLength(4);
});

const errors: [string, Kind, number, object, object][] = [
  [
    'Gemini says when to try again in the body',
    'gemini',
    429,
    {
      code: 429,
      message: 'slow',
      details: [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '12.3s' }],
    },
    { code: 'rate_limit_exceeded', http: 429, retryAfterSeconds: 13 },
  ],
  [
    'Gemini’s wrong key is not the caller’s bad request',
    'gemini',
    400,
    { code: 400, message: 'API key not valid: canary-123456', details: [{ reason: 'API_KEY_INVALID' }] },
    { code: 'model_error', http: 502, upstreamStatus: 400, message: expect.not.stringContaining('canary') },
  ],
  [
    'Gemini’s too long prompt',
    'gemini',
    400,
    { code: 400, message: 'The input token count (9) exceeds the maximum number of tokens allowed (8)' },
    { code: 'context_length_exceeded' },
  ],
  [
    'Anthropic is overloaded',
    'anthropic',
    529,
    { type: 'overloaded_error', message: 'Overloaded' },
    { code: 'model_error', http: 502, upstreamStatus: 529 },
  ],
  [
    'Anthropic’s empty account is not the caller’s bad request',
    'anthropic',
    400,
    { type: 'invalid_request_error', message: 'Your credit balance is too low' },
    { code: 'model_error', http: 502 },
  ],
  [
    'Anthropic’s too long prompt',
    'anthropic',
    400,
    { type: 'invalid_request_error', message: 'prompt is too long: 9 tokens > 8 maximum' },
    { code: 'context_length_exceeded', http: 400 },
  ],
  [
    'Anthropic has no such model',
    'anthropic',
    404,
    { type: 'not_found_error', message: 'model: m' },
    { code: 'model_not_found', http: 404 },
  ],
];

for (const [name, kind, status, error, expected] of errors) {
  verifies('models.errors', name, async () => {
    await open(kind, [{ status, json: { error } as never }], { max_retries: 0 });
    const last = (await ask()).at(-1);
    expect(last?.type === 'error' && last.error).toMatchObject(expected);
  });
}

verifies('models.families.request', 'the key is in a header, never in the address', async () => {
  for (const [kind, header] of [
    ['anthropic', 'x-api-key'],
    ['gemini', 'x-goog-api-key'],
  ] as const) {
    const { requests } = await open(kind, [{ status: 500, json: {} }], { max_retries: 0 });
    await ask();
    expect(requests[0]!.headers[header]).toBe('canary-123456');
    expect(requests[0]!.path).not.toContain('canary');
    await upstream!.close();
    await provider!.close();
  }
});

verifies('models.families.schemas', 'what was lost is reported with every answer', async () => {
  await open('gemini', () => ({ chunks: [finish('STOP', [{ text: 'ok' }])] }));
  const parameters = { type: 'object', properties: { p: { type: 'string', contentEncoding: 'x' } } };
  const tools = [{ name: 'f', parameters }];
  const message = expect.stringMatching(/tool 'f'.*contentEncoding/);
  for (let n = 0; n < 2; n += 1) {
    expect((await ask({ tools }))[0]).toMatchObject({ type: 'message_start', warnings: [{ message, param: 'tools' }] });
  }
  expect((await ask())[0]).not.toHaveProperty('warnings');
});

verifies('models.families.lists', 'Anthropic’s list, whose largest answers are remembered', async () => {
  const { requests } = await open('anthropic', ({ method }): ScriptedAnswer =>
    method === 'GET'
      ? {
          json: {
            data: [
              { id: 'a', max_tokens: 777 },
              { id: 'b', max_tokens: null },
            ],
            has_more: false,
          },
        }
      : { json: { type: 'message', content: [], stop_reason: 'end_turn' } },
  );
  expect(await provider!.listModels(new AbortController().signal)).toEqual(['a', 'b']);
  await ask({ model: 'a', stream: false });
  expect(requests[1]!.body['max_tokens']).toBe(777);
});

verifies('models.families.lists', 'Gemini’s pages, without what cannot chat', async () => {
  const methods = ['generateContent'];
  await open('gemini', ({ path }): ScriptedAnswer =>
    path.includes('pageToken=n%20x')
      ? { json: { models: [{ name: 'models/c', supportedGenerationMethods: methods }] } }
      : {
          json: {
            models: [
              { name: 'models/a', supportedGenerationMethods: methods },
              { name: 'models/b', supportedGenerationMethods: ['embedContent'] },
            ],
            nextPageToken: 'n x',
          },
        },
  );
  expect(await provider!.listModels(new AbortController().signal)).toEqual(['a', 'c']);
});
