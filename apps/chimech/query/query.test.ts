import { afterEach, expect } from 'vitest';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import {
  type ChimechTestOptions,
  type ChimechTestServer,
  openChimechServer,
  textOf,
} from '../../../test/support/chimech-server.js';
import { verifies } from '../../../test/verifies.js';
import { MemoryCache } from '../memory-cache.js';
import { maxQueryCharacters } from './query.js';
import { recallTurns, rememberTurn } from './conversations.js';
import { silentLogger } from '#libs/logging/logger.js';

const opened: ChimechTestServer[] = [];
afterEach(async () => {
  for (const server of opened.splice(0)) await server.close();
});

async function open(options: ChimechTestOptions = {}): Promise<ChimechTestServer> {
  const server = await openChimechServer(options);
  opened.push(server);
  return server;
}

const answered = (logprobs?: number[]) => ({
  json: {
    id: 'c',
    object: 'chat.completion',
    model: 'clever',
    choices: [
      {
        index: 0,
        finish_reason: 'stop',
        message: { role: 'assistant', content: 'Because of Rayleigh scattering.' },
        ...(logprobs === undefined
          ? {}
          : { logprobs: { content: logprobs.map((logprob) => ({ token: 'x', logprob })) } }),
      },
    ],
    usage: { prompt_tokens: 20, completion_tokens: 7, total_tokens: 27 },
  },
});

verifies('chimech.query', 'what is asked of the gateway, and what comes back', async () => {
  const { call, gateway } = await open({
    script: [answered([Math.log(0.5), Math.log(0.5)])],
    settings: { model: 'gpt-x', gateway_key: 'sk-of-chimech' },
  });
  const question = 'Why is the sky blue?';
  const result = await call('chimech/query', { question, context: 'Physics.', priority: 'low', maxTokens: 50 });
  expect(textOf(result)).toBe('Because of Rayleigh scattering.');
  const metadata = { tokens_used: 27, confidence: 0.5, model: 'clever', tokensUsed: 27 };
  expect(result.structuredContent).toMatchObject({ text: 'Because of Rayleigh scattering.', metadata });
  const [{ path, headers, body }] = gateway.requests as [(typeof gateway.requests)[0]];
  expect([path, headers.authorization]).toEqual(['/v1/chat/completions', 'Bearer sk-of-chimech']);
  expect(body).toMatchObject({ model: 'gpt-x', max_tokens: 50, temperature: 0.7, priority: 'batch', tools: [] });
  expect(JSON.stringify(body['messages'])).toContain('<context>\\nPhysics.\\n</context>\\n\\nWhy is the sky blue?');
});

verifies('chimech.query', 'a model without probabilities, and one that refuses to give them', async () => {
  const refusal = { status: 400, json: { error: { message: "'logprobs' is not supported with this model" } } };
  const { call, gateway } = await open({ script: [answered(), refusal, answered()] });
  for (let time = 0; time < 2; time += 1) {
    const { structuredContent } = await call('chimech/query', { question: 'Why?' });
    expect(structuredContent).toMatchObject({ metadata: { tokens_used: 27 } });
    expect(structuredContent).not.toHaveProperty('metadata.confidence');
  }
  expect(gateway.requests.map(({ body }) => body['logprobs'])).toEqual([true, true, undefined]);
});

verifies('chimech.metadata', 'at the top level too, with the time', async () => {
  const { call } = await open({ script: [answered()] });
  const result = await call('chimech/query', { question: 'Why?' });
  expect(result['metadata']).toEqual((result.structuredContent as { metadata: object }).metadata);
  expect(result['metadata']).toMatchObject({
    processingTime: expect.any(Number) as number,
    response_time: expect.any(Number) as number,
  });
});

verifies('chimech.conversation', 'of a session, and of a name in whatever session', async () => {
  const { call, gateway } = await open({ sessionId: 's1' });
  const sent = () => (gateway.requests.at(-1)!.body['messages'] as { content: string }[]).map(({ content }) => content);
  await call('chimech/query', { question: 'one' });
  await call('chimech/query', { question: 'two' });
  expect(sent().slice(1)).toEqual(['one', 'an answer', 'two']);
  await call('chimech/query', { question: 'three', conversation_id: 'c' });
  expect(sent().slice(1)).toEqual(['three']);
  await call('chimech/query', { question: 'four', conversation_id: 'c' });
  expect(sent().slice(1)).toEqual(['three', 'an answer', 'four']);
});

verifies('chimech.conversation', 'without a session nothing is remembered', async () => {
  const { call, gateway } = await open();
  await call('chimech/query', { question: 'one' });
  await call('chimech/query', { question: 'two' });
  expect(gateway.requests.at(-1)!.body['messages']).toHaveLength(2);
});

verifies('chimech.conversation', 'the last turns, for an hour', async () => {
  let now = steadyNow();
  const kept = new MemoryCache(() => now);
  const cache = {
    get: (key: string) => kept.get(key),
    set: (key: string, value: string, ttlMs: number) => kept.set(key, value, ttlMs),
    delete: (key: string) => kept.delete(key),
  };
  const context = { cache, logger: silentLogger };
  for (let turn = 0; turn < 15; turn += 1) {
    await rememberTurn('k', { question: `q${turn}`, answer: `a${turn}` }, context);
  }
  const turns = await recallTurns('k', context);
  expect([turns.length, turns[0]?.content, turns.at(-1)?.content]).toEqual([20, 'q5', 'a14']);
  await rememberTurn('k', { question: 'long', answer: 'x'.repeat(23_996) }, context);
  expect((await recallTurns('k', context)).map(({ content }) => content[0])).toEqual(['l', 'x']);
  now += 3_600_000;
  expect(await recallTurns('k', context)).toEqual([]);
});

const shownCode = (result: object) => (result as { metadata?: { errorCode?: string } }).metadata?.errorCode;

verifies('chimech.errors', 'questions without text, in both languages', async () => {
  const { call, gateway } = await open();
  for (const question of ['', ' \n ', '???', undefined, 7]) {
    const result = await call('chimech/query', { question });
    expect([result.isError, shownCode(result)]).toEqual([true, 'INVALID_QUESTION']);
  }
  const text = textOf(await call('chimech/query', { question: ' ', context: '这里是一些材料' }));
  expect(text).toBe('❌ chimech/query 调用失败\n\n错误：问题没有内容\n\n建议：请用文字提出问题。');
  expect(textOf(await call('chimech/query', { question: '!' }))).toMatch(/^❌ .+\n\nError: .+\n\nWhat to do: /);
  expect(gateway.requests).toEqual([]);
});

verifies('chimech.errors', 'arguments that are wrong, and a context that is too long', async () => {
  const { call } = await open();
  const wrong = await call('chimech/query', { question: 'Why?', temperature: 9 });
  expect([shownCode(wrong), textOf(wrong)]).toEqual(['INVALID_PARAMS', expect.stringContaining('temperature')]);
  expect(wrong._meta).toMatchObject({ 'signalbox/error_code': 'invalid_tool_arguments' });
  const long = await call('chimech/query', { question: 'Why?', context: 'x'.repeat(maxQueryCharacters) });
  expect(long['metadata']).toMatchObject({
    error: true,
    errorCode: 'CONTEXT_TOO_LONG',
    statusCode: 413,
    details: { size: maxQueryCharacters + 4, limit: maxQueryCharacters },
  });
});

verifies('chimech.gateway-errors', 'limits, time, keys, what is no answer', async () => {
  const error = (status: number, code: string, headers: Record<string, string> = {}) => ({
    status,
    headers,
    json: { error: { message: `it said ${code}`, type: 't', code } },
  });
  const cases: [object, string, RegExp][] = [
    [error(429, 'rate_limited', { 'retry-after': '7' }), 'API_RATE_LIMIT', /wait 7 s/],
    [error(400, 'context_length_exceeded'), 'CONTEXT_TOO_LONG', /too long for the model/],
    [error(504, 'timeout'), 'TIMEOUT', /too long/],
    [error(401, 'invalid_api_key'), 'API_ERROR', /CHIMECH_GATEWAY_KEY/],
    [error(502, 'model_error'), 'API_ERROR', /502: it said model_error/],
    [{ status: 200, json: { choices: [] } }, 'API_ERROR', /no text/],
    [{ status: 200, json: 'no chat' }, 'API_ERROR', /no text/],
    [{ refuse: 'rst' }, 'API_ERROR', /The gateway at http:\/\/127\.0\.0\.1:\d+ cut the connection/],
  ];
  const { call, ended } = await open({ script: cases.map(([answer]) => answer) });
  for (const [, code, text] of cases) {
    const result = await call('chimech/query', { question: 'Why?' });
    expect(textOf(result)).toMatch(text);
    expect(shownCode(result)).toBe(code);
  }
  expect(ended.map(({ outcome, code }) => [outcome, code])).toEqual(cases.map(([, code]) => ['error', code]));
});

verifies('chimech.gateway-errors', 'a call that is cancelled leaves the gateway', async () => {
  const { call, gateway, ended } = await open({ script: [{ never: true }] });
  const cancel = new AbortController();
  const asked = call('chimech/query', { question: 'Why?' }, { signal: cancel.signal });
  const { clientGone } = await gateway.received(1);
  cancel.abort();
  await expect(asked).rejects.toThrow();
  await clientGone;
  await expect.poll(() => ended.map(({ outcome }) => outcome)).toEqual(['cancelled']);
});

verifies('chimech.rate-limit', 'as a result that says how long to wait', async () => {
  const { call } = await open({ settings: { max_requests_per_minute: 2 } });
  const codes = [];
  for (let time = 0; time < 3; time += 1) codes.push(shownCode(await call('chimech/query', { question: 'Why?' })));
  expect(codes).toEqual([undefined, undefined, 'RATE_LIMIT']);
});

verifies('chimech.authorize', 'a refusal, with what is asked of whom', async () => {
  const asked: unknown[] = [];
  const { call, gateway } = await open({
    authorize: (tool, { userId }) => {
      asked.push([tool, userId]);
      return false;
    },
  });
  const refused = await call('chimech/query', { question: '为什么？' });
  expect([shownCode(refused), textOf(refused)]).toEqual(['UNAUTHORIZED', expect.stringContaining('您无权调用此工具')]);
  expect([asked, gateway.requests]).toEqual([[['chimech/query', 'anonymous']], []]);
});
