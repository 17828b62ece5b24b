import { afterEach, expect, test } from 'vitest';
import { configSchema, type Config } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { oneByOne } from '../../../../test/support/one-by-one.js';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import {
  startScriptedUpstream,
  type Script,
  type ScriptedUpstream,
} from '../../../../test/support/scripted-upstream.js';
import { verifies } from '../../../../test/verifies.js';
import type { ModelAttempt } from './model-attempt.js';
import type { ModelProvider, ModelRouter, RoutedModelEvent } from '../model-provider.js';
import { createModelRouter } from './model-router.js';

/** A minimal provider that answers with the requested model. */
const offline: ModelProvider = {
  name: 'offline',
  async call(request, _call, take) {
    await take([{ type: 'message_start', model: 'offline', responseId: '' }]);
    await take([
      { type: 'text_delta', text: request.model },
      { type: 'message_end', finishReason: 'stop' },
    ]);
  },
  countTokens: () => Promise.reject(new Error('not asked')),
  listModels: () => Promise.resolve(['offline']),
  close: () => Promise.resolve(),
};

const routers: ModelRouter[] = [];
const upstreams: ScriptedUpstream[] = [];
afterEach(async () => {
  await Promise.all(routers.splice(0).map((router) => router.close()));
  await Promise.all(upstreams.splice(0).map((upstream) => upstream.close()));
});

type Models = Partial<Omit<Config['models'], 'providers'>> & { providers?: Record<string, object> };

function route(models: Models, onAttempt?: (attempt: ModelAttempt) => void): ModelRouter {
  const config = configSchema.parse({ models }).models;
  const router = createModelRouter(config, { logger: silentLogger, offline, ...(onAttempt && { onAttempt }) });
  routers.push(router);
  return router;
}

const openai = (more: object = {}) => ({ kind: 'openai', base_url: 'http://127.0.0.1:9/v1', max_retries: 0, ...more });

async function up(script: Script, models?: string[]): Promise<string> {
  const upstream = await startScriptedUpstream(script, models === undefined ? {} : { models });
  upstreams.push(upstream);
  return upstream.baseUrl;
}

const resolved = (router: ModelRouter, name?: string) =>
  router.resolve(name).candidates.map(({ provider, model }) => `${provider.name}/${model}`);

async function ask(router: ModelRouter, name?: string, signal = new AbortController().signal) {
  const request = { messages: [], tools: [], stream: true, parameters: {}, unknown: {} };
  const events: RoutedModelEvent[] = [];
  const call = { requestId: 'r', deadline: Date.now() + 10_000, signal };
  for await (const event of oneByOne<RoutedModelEvent>((take) =>
    router.call(router.resolve(name), request, call, take),
  ))
    events.push(event);
  return events;
}

function codeOf(body: () => unknown): string {
  try {
    body();
    return 'resolved';
  } catch (error) {
    return (error as AppError).code;
  }
}

verifies('models.router.names', 'nothing configured: the offline model, whatever the bare name', async () => {
  const router = route({});
  expect(resolved(router)).toEqual(['offline/offline']);
  expect(resolved(router, 'llama3.2')).toEqual(['offline/llama3.2']);
  expect(resolved(router, 'offline/offline')).toEqual(['offline/offline']);
  expect(codeOf(() => router.resolve('openai/gpt-5.2'))).toBe('model_not_found');
  expect(foldEvents(await ask(router, 'anything')).text).toBe('anything');
});

verifies('models.router.names', 'prefix, alias, list of aliases, default', () => {
  const router = route({
    default: 'best',
    providers: { one: openai(), two: openai({ models: ['a', 'meta-llama/Llama-3'] }) },
    aliases: { best: ['one/x', 'two/a'], short: 'best' },
  });
  expect(resolved(router)).toEqual(['one/x', 'two/a']);
  expect(resolved(router, 'short')).toEqual(['one/x', 'two/a']);
  expect(resolved(router, 'one/deep/name')).toEqual(['one/deep/name']);
  expect(resolved(router, 'a')).toEqual(['two/a']);
  expect(resolved(router, 'meta-llama/Llama-3')).toEqual(['two/meta-llama/Llama-3']);
  expect(resolved(router, 'unheard-of')).toEqual(['one/unheard-of']);
  expect(resolved(router, 'un/heard-of')).toEqual(['one/un/heard-of']);
  expect(codeOf(() => router.resolve('two/other'))).toBe('model_not_found');
});

verifies('models.router.names', 'the first provider and its first chat model are the default', () => {
  expect(resolved(route({ providers: { one: openai({ models: ['text-embedding-3', 'chat'] }) } }))).toEqual([
    'one/chat',
  ]);
});

verifies('models.router.names', 'llama3.2 is the default model while no Ollama is configured', () => {
  const providers = { one: openai({ models: ['x'] }) };
  expect(resolved(route({ providers }), 'llama3.2')).toEqual(['one/x']);
  expect(resolved(route({ default: 'one/x', providers }), 'llama3.2')).toEqual(['one/x']);
  const ollama = { ...providers, ollama: openai() };
  expect(resolved(route({ providers: ollama }), 'llama3.2')).toEqual(['ollama/llama3.2']);
});

verifies('models.router.names', 'default is what no name means, unless an alias of the operator has it', () => {
  expect(resolved(route({}), 'default')).toEqual(['offline/offline']);
  const providers = { one: openai({ models: ['x'] }), two: openai() };
  expect(resolved(route({ providers }), 'default')).toEqual(['one/x']);
  const best = { default: 'best', providers, aliases: { best: ['two/y', 'one/x'], short: 'default' } };
  expect(resolved(route(best), 'default')).toEqual(['two/y', 'one/x']);
  expect(resolved(route(best), 'short')).toEqual(['two/y', 'one/x']);
  expect(route(best).named('default')).toBeUndefined();
  const own = { default: 'one/x', providers, aliases: { default: 'two/y' } };
  expect(resolved(route(own), 'default')).toEqual(['two/y']);
  expect(resolved(route(own))).toEqual(['one/x']);
  expect(route(own).named('default')).toBe('default');
  // Here it is a model of a provider.
  const served = { default: 'default', providers: { two: openai() } };
  expect(resolved(route(served), 'default')).toEqual(['two/default']);
  const circle = { default: 'best', providers, aliases: { best: 'default' } };
  expect(codeOf(() => route(circle).resolve('default'))).toBe('model_not_found');
});

verifies('models.router.bad-names', 'hostile and unknown names', () => {
  const router = route({ providers: { one: openai({ models: ['x'] }) }, aliases: { a: 'b', b: 'a' } });
  const bad = ['x\r\ny', 'x y', 'x\u0000', 'x'.repeat(257)];
  const unknown = ['../../x', 'one/../x', '/x', 'one/', 'one//x', './x', '__proto__', 'constructor', 'y', 'one/y', 'a'];
  for (const name of bad)
    expect(
      codeOf(() => router.resolve(name)),
      name,
    ).toBe('invalid_value');
  for (const name of unknown)
    expect(
      codeOf(() => router.resolve(name)),
      name,
    ).toBe('model_not_found');
});

verifies('models.router.discovery', 'lists what upstreams list, and finds bare names by it', async () => {
  const [one, two] = [await up([], ['m1']), await up([{ text: 'x' }], ['m2', 'llama3.2:latest'])];
  const router = route({
    providers: { one: openai({ base_url: one }), two: openai({ base_url: two }), down: openai() },
    aliases: { best: 'one/m1' },
  });
  expect(await router.list(new AbortController().signal)).toEqual([
    { id: 'best', owned_by: 'signalbox' },
    { id: 'one/m1', owned_by: 'one' },
    { id: 'two/m2', owned_by: 'two' },
    { id: 'two/llama3.2:latest', owned_by: 'two' },
    { id: 'offline', owned_by: 'offline' },
  ]);
  expect(resolved(router, 'm2')).toEqual(['two/m2']);
  expect(resolved(router, 'llama3.2')).toEqual(['two/llama3.2']);
});

verifies('models.router.discovery', 'nothing configured: the names of the offline model', async () => {
  const ids = (await route({}).list(new AbortController().signal)).map(({ id }) => id);
  expect(ids).toEqual(['offline']);
});

test('a provider without a named model is asked for one', async () => {
  const router = route({ providers: { one: openai({ base_url: await up([{ text: 'x' }], ['tts-1', 'm1']) }) } });
  expect(foldEvents(await ask(router)).text).toBe('x');
  expect(upstreams[0]!.requests[0]!.body['model']).toBe('m1');
  const silent = route({ providers: { one: openai({ base_url: await up([{ text: 'y' }]) }) } });
  const last = (await ask(silent)).at(-1);
  expect(last).toMatchObject({
    error: { code: 'model_not_found', message: expect.stringContaining("'one' lists no models") as string },
  });
  expect(foldEvents(await ask(silent, 'x')).text).toBe('y');
});

verifies('models.router.names', 'the offline model is one whatever is configured', async () => {
  const router = route({ default: 'one/x', providers: { one: openai() } });
  expect(resolved(router, 'offline')).toEqual(['offline/offline']);
  expect(resolved(router, 'offline/offline')).toEqual(['offline/offline']);
  expect(foldEvents(await ask(router, 'offline')).text).toBe('offline');
  expect((await router.list(new AbortController().signal)).map(({ id }) => id)).toEqual(['offline']);
});

test('health: a provider with a list of its own need not list its models; it is asked again after a while', async () => {
  const signal = new AbortController().signal;
  const broken = await up([]);
  const named = { one: openai({ base_url: broken, models: ['x'] }) };
  expect(await route({ providers: named }).health(signal)).toEqual({ model: 'one/x', problems: [] });
  expect(await route({}).health(signal)).toEqual({ model: 'offline', problems: [] });
  const misnamed = await route({ default: 'no/x', providers: named }).health(signal);
  expect(misnamed.problems).toEqual([expect.stringMatching(/^models\.default: 'no\/x' does not name a provider/)]);
  const gone = { one: openai(), two: named.one, three: openai({ models: ['x'] }) };
  expect((await route({ providers: gone }).health(signal)).problems).toEqual([
    expect.stringContaining("'one' cannot be reached"),
    expect.stringContaining("'three' cannot be reached at http"),
  ]);
});

verifies('models.router.fallback', 'moves on while nothing was sent, and says who answers', async () => {
  const [broken, cut, good] = [
    await up([{ status: 500, json: {} }]),
    await up([{ chunks: [{ id: 'i', choices: [{ delta: { role: 'assistant' } }] }], end: 'fin' }]),
    await up([{ text: 'x' }]),
  ];
  const attempts: string[] = [];
  const router = route(
    {
      providers: {
        broken: openai({ base_url: broken }),
        cut: openai({ base_url: cut }),
        good: openai({ base_url: good }),
      },
      aliases: { best: ['broken/a', 'cut/b', 'good/c'] },
    },
    (attempt) => attempts.push(`${attempt.provider} ${attempt.next} ${attempt.error.code}`),
  );
  const events = await ask(router, 'best');
  expect(events.slice(0, 2)).toMatchObject([
    { type: 'routed', provider: 'good', upstreamModel: 'c' },
    { type: 'message_start' },
  ]);
  expect(foldEvents(events)).toMatchObject({ text: 'x', finish: 'stop' });
  expect(attempts).toEqual(['broken fallback model_error', 'cut fallback model_stream_cut']);
});

verifies('models.router.fallback', 'never after something was sent; the last failure is reported', async () => {
  const half = await up(() => ({ chunks: [{ choices: [{ delta: { content: 'half' } }] }], end: 'fin' }));
  const spare = await up(() => ({ status: 429, headers: { 'retry-after': '7' }, json: {} }));
  const router = route({
    providers: { half: openai({ base_url: half }), spare: openai({ base_url: spare }) },
    aliases: { best: ['half/a', 'spare/b'], worst: ['spare/a', 'spare/b'] },
  });
  expect(foldEvents(await ask(router, 'best'))).toMatchObject({ text: 'half', error: 'model_stream_cut' });
  expect(upstreams[1]!.requests).toHaveLength(0);
  const last = (await ask(router, 'worst')).at(-1);
  expect(last).toMatchObject({ type: 'error', error: { code: 'rate_limit_exceeded', retryAfterSeconds: 7 } });
});

verifies('models.router.fallback', 'never for a caller that has gone', async () => {
  const router = route({
    providers: { one: openai({ base_url: await up([{ never: true }]) }), two: openai() },
    aliases: { best: ['one/a', 'two/b'] },
  });
  const leaving = new AbortController();
  const asked = ask(router, 'best', leaving.signal);
  await upstreams[0]!.received(1);
  leaving.abort();
  expect(foldEvents(await asked).error).toBe('cancelled');
});

test('every family is called by its provider’s name', () => {
  const base_url = 'http://127.0.0.1:9';
  const providers = { claude: { kind: 'anthropic', base_url }, google: { kind: 'gemini', base_url } } as const;
  expect(resolved(route({ providers }), 'claude/m')).toEqual(['claude/m']);
  expect(resolved(route({ providers }), 'google/m')).toEqual(['google/m']);
});
