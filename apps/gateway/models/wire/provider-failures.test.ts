import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { readConfig } from '#libs/config/read-config.js';
import { silentLogger } from '#libs/logging/logger.js';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import { oneByOne } from '../../../../test/support/one-by-one.js';
import { verifies } from '../../../../test/verifies.js';
import type { ModelRouter, RoutedModelEvent } from '../model-provider.js';
import { OfflineProvider } from '../offline/offline-provider.js';
import { createModelRouter } from '../routing/model-router.js';
import { cannotBeReached, keyRefused, listNotRead, type ProviderAccess } from './provider-failures.js';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

const access = (more: Partial<ProviderAccess> = {}): ProviderAccess => ({
  name: 'up',
  origin: 'https://up.example',
  sources: { address: 'UP_URL', key: 'UP_KEY' },
  hasKey: true,
  ...more,
});

function open(environment: Record<string, string>): ModelRouter {
  const router = createModelRouter(readConfig({ environment }).models, {
    logger: silentLogger,
    offline: new OfflineProvider(),
  });
  closing.push(() => router.close());
  return router;
}

async function errorOf(router: ModelRouter, model?: string) {
  const call = { requestId: 'r', deadline: Date.now() + 10_000, signal: new AbortController().signal };
  const request = { messages: [], tools: [], stream: true, parameters: {}, unknown: {} };
  const events: RoutedModelEvent[] = [];
  const asked = (take: Parameters<ModelRouter['call']>[3]) => router.call(router.resolve(model), request, call, take);
  for await (const event of oneByOne<RoutedModelEvent>(asked)) events.push(event);
  const last = events.at(-1);
  return last?.type === 'error' ? last.error : foldEvents(events).text;
}

/** Answers everything alike. */
async function serve(status: number, body: string): Promise<string> {
  const server = createServer((_request, reply) => reply.writeHead(status).end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

verifies('models.away', 'nobody listens: address, reason and next step, with a model or without', async () => {
  const sentence =
    "The model provider 'ollama' cannot be reached at http://127.0.0.1:9: connection refused. " +
    'Start Ollama, or set OLLAMA_BASE_URL.';
  const router = open({ OLLAMA_BASE_URL: 'http://127.0.0.1:9' });
  for (const model of [undefined, 'ollama/x', 'x']) {
    expect(await errorOf(router, model)).toMatchObject({ code: 'model_error', http: 502, message: sentence });
  }
  expect(await router.health(new AbortController().signal)).toEqual({ model: 'ollama', problems: [sentence] });
});

verifies('models.away', 'what listens does not speak TLS, or not HTTP', async () => {
  const host = await serve(200, '{}');
  const router = open({ OPENAI_API_KEY: 'canary-key', OPENAI_BASE_URL: `https://${host}/v1` });
  const { message } = (await errorOf(router, 'x')) as Error;
  expect(message).toMatch(/^The model provider 'openai' cannot be reached at https:\/\/127\.0\.0\.1:\d+: it does not/);
  expect(message).toContain('OPENAI_BASE_URL begin with http://?');
});

const failure = (code: string) => ({ kind: 'away' as const, what: `cannot be reached (${code})`, cause: { code } });
const reached = "The model provider 'up' cannot be reached at https://up.example: ";

test.each([
  ['ENOTFOUND', 'no such host. Check the network, and UP_URL.'],
  ['EAI_AGAIN', 'the name of the host cannot be resolved. Check the network, and UP_URL.'],
  [
    'CERT_HAS_EXPIRED',
    'its certificate is not trusted (CERT_HAS_EXPIRED). Set NODE_EXTRA_CA_CERTS to the certificate of its authority, or change UP_URL.',
  ],
  [
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'its certificate is not trusted (DEPTH_ZERO_SELF_SIGNED_CERT). Set NODE_EXTRA_CA_CERTS to the certificate of its authority, or change UP_URL.',
  ],
  ['EWHAT', 'cannot be reached (EWHAT). Check the network, and UP_URL.'],
])('%s', (code, expected) => {
  expect(cannotBeReached(access(), failure(code))).toBe(reached + expected);
});

test('a connection that is not accepted, and one without a first byte', () => {
  const connect = { kind: 'connect' as const, what: 'did not accept a connection within 10 ms' };
  expect(cannotBeReached(access({ origin: 'http://127.0.0.1:81' }), connect)).toBe(
    "The model provider 'up' cannot be reached at http://127.0.0.1:81: it did not accept a connection within 10 ms. " +
      'Start it, or set UP_URL.',
  );
  expect(cannotBeReached(access(), { kind: 'timeout', what: 'sent no first byte in 5 ms' })).toBe(
    "The model provider 'up' at https://up.example sent no first byte in 5 ms",
  );
});

verifies('models.away', 'a refused key: where it came from, never the key; 502 for the caller', async () => {
  const said = '{"error":{"message":"Incorrect API key provided: canary-key"}}';
  for (const status of [401, 403]) {
    const host = await serve(status, said);
    const router = open({ OPENAI_API_KEY: 'canary-key', OPENAI_BASE_URL: `http://${host}/v1` });
    for (const model of ['x', undefined]) {
      const error = (await errorOf(router, model)) as { code: string; http: number; message: string };
      expect(error).toMatchObject({ code: 'model_error', http: 502 });
      expect(error.message).toContain(`The model provider 'openai' at http://${host}`);
      expect(error.message).toMatch(/the key of OPENAI_API_KEY/);
      expect(error.message).not.toContain('canary');
    }
    const { problems } = await router.health(new AbortController().signal);
    expect(problems).toEqual([expect.stringMatching(/the key of OPENAI_API_KEY/)]);
  }
  expect(keyRefused(access({ hasKey: false }), 401)).toBe(
    "The model provider 'up' at https://up.example requires a key (401), and none is set. Set UP_KEY.",
  );
});

verifies('models.away', 'Gemini says 400 to a wrong key', async () => {
  const said = { code: 400, message: 'API key not valid', details: [{ reason: 'API_KEY_INVALID' }] };
  const host = await serve(400, JSON.stringify({ error: said }));
  const router = open({ GEMINI_API_KEY: 'canary-key', GEMINI_BASE_URL: `http://${host}` });
  const refused = expect.stringMatching(/refused the key of GEMINI_API_KEY \(400\)/) as string;
  for (const model of ['x', undefined])
    expect(await errorOf(router, model)).toMatchObject({ http: 502, message: refused });
  expect((await router.health(new AbortController().signal)).problems).toEqual([refused]);
});

verifies('models.away', 'a key that is refused where the list is open to all, until it is taken', async () => {
  let key = 'old';
  const server = createServer((request, reply) => {
    if (request.method === 'GET') return void reply.end('{"data":[{"id":"m"}]}');
    if (request.headers.authorization !== `Bearer ${key}`) return void reply.writeHead(401).end('{}');
    reply.end('{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const router = open({ OPENAI_API_KEY: 'new', OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` });
  const problems = async () => (await router.health(new AbortController().signal)).problems;
  await errorOf(router);
  expect(await problems()).toEqual([expect.stringMatching(/refused the key of OPENAI_API_KEY \(401\)/)]);
  key = 'new';
  expect(await errorOf(router)).toBe('hi');
  expect(await problems()).toEqual([]);
});

verifies(
  'models.away',
  'a list that cannot be read: a named model is sent, for none the sentence says why',
  async () => {
    const host = await serve(500, '{"error":{"message":"oops"}}');
    const router = open({ OLLAMA_BASE_URL: `http://${host}` });
    const list = `The list of models of the model provider 'ollama' cannot be read at http://${host}: it answered 500. `;
    const next = 'Check OLLAMA_BASE_URL, or name its models in models.providers.ollama.models.';
    expect(await errorOf(router)).toMatchObject({ code: 'model_error', message: list + next });
    expect(await errorOf(router, 'x')).toMatchObject({ message: "Model provider 'ollama' answered 500: oops" });
    expect((await router.health(new AbortController().signal)).problems).toEqual([list + next]);
    expect(listNotRead(access(), 200)).toContain('it answered with something else. Check UP_URL');
  },
);

verifies('models.away', 'a provider that fails again and again: why it is not called', async () => {
  const router = open({
    MODELS_PROVIDERS: JSON.stringify({
      up: { kind: 'openai', base_url: 'http://127.0.0.1:9/v1', max_retries: 0, circuit: { failures: 1 } },
    }),
  });
  await errorOf(router, 'x');
  expect(await errorOf(router, 'x')).toMatchObject({
    code: 'model_unavailable',
    message: expect.stringMatching(
      /will not be called for \d+ s\. Last failure: The model provider 'up' cannot be reached at http:\/\/127\.0\.0\.1:9: connection refused\. Start it, or set MODELS_PROVIDERS\.$/,
    ) as string,
  });
});
