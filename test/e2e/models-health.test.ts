// How the models do, as administrators see it: failures, circuits, fallbacks, prices, of two gateways, and never a secret.
import { afterAll, beforeAll, expect } from 'vitest';
import type { ModelsHealth } from '../../clients/typescript/src/index.js';
import { type ScriptedUpstream, startScriptedUpstream } from '../support/scripted-upstream.js';
import { type SignalboxHere, startSignalboxHere } from '../support/services/start-signalbox.js';
import { verifies } from '../verifies.js';

/** In every place of a provider where people put one. */
const canaries = {
  key: 'canary-key-1f93d2a7',
  header: 'canary-header-77c0aa',
  user: 'canary-user-4b1e',
  password: 'canary-password-9d2c',
  path: 'canary-path-55aa01',
  query: 'canary-query-e10b',
  echoed: 'canary-echoed-02ff',
};
let box: SignalboxHere;
let listing: ScriptedUpstream;
let second: string;

beforeAll(async () => {
  listing = await startScriptedUpstream(
    () => ({ status: 401, json: { error: { message: `Incorrect API key: ${canaries.echoed}` } } }),
    { models: ['listed-one', 'listed-two'] },
  );
  box = await startSignalboxHere({
    script: ({ body }) =>
      body['model'] === 'refuses'
        ? { status: 400, json: { error: { message: `no: ${canaries.key}` } } }
        : { text: 'well', usage: { prompt_tokens: 1_000, completion_tokens: 100 } },
    gateways: 0,
    workers: 0,
    environment: {
      MODELS_PRICES: JSON.stringify({ 'up/*': { input: 2, output: 10 } }),
    },
  });
  const up = { kind: 'openai', base_url: box.upstream.baseUrl, max_retries: 0, models: ['m', 'refuses'] };
  const address = new URL(listing.baseUrl);
  const down = {
    kind: 'openai',
    base_url: `http://${canaries.user}:${canaries.password}@127.0.0.1:9/${canaries.path}?key=${canaries.query}`,
    max_retries: 0,
    models: ['m'],
    circuit: { failures: 2 },
  };
  const environment = {
    MODELS_PROVIDERS: JSON.stringify({
      down,
      up: { ...up, api_key: canaries.key },
      wrong: { ...up, models: undefined, base_url: address.href, headers: { 'x-key': canaries.header } },
      claude: { kind: 'anthropic', api_key: canaries.key, models: ['claude-3-haiku-1'] },
      gemini: { kind: 'gemini', api_key: canaries.key, models: ['g'] },
    }),
    MODELS_ALIASES: JSON.stringify({ best: ['down/m', 'up/m'], other: ['up/m', 'down/m'], lost: 'up/nosuch' }),
    DEFAULT_MODEL: 'best',
  };
  await box.startGateway(environment);
  ({ url: second } = await box.startGateway(environment));
});
afterAll(async () => {
  await box?.close();
  await listing?.close();
});

async function ask(url: string, model: string, stream = false): Promise<{ status: number }> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ model, stream, messages: [{ role: 'user', content: 'hi' }] });
  const answer = await fetch(`${url}/api/chat/completions`, { method: 'POST', headers, body });
  await answer.text();
  return answer;
}

async function health(url: string): Promise<{ report: ModelsHealth; text: string }> {
  const answer = await fetch(`${url}/api/models/health`);
  const text = await answer.text();
  expect(answer.status, text).toBe(200);
  return { report: JSON.parse(text) as ModelsHealth, text };
}
const named = <Item extends { name: string }>(items: readonly Item[], name: string) =>
  items.find((item) => item.name === name)!;

verifies('operations.models-health', 'failures, an open circuit, fallbacks and prices, of this gateway', async () => {
  const url = box.gateways[0]!.url;
  expect((await ask(url, 'best')).status).toBe(200);
  expect((await ask(url, 'best', true)).status).toBe(200);
  expect((await ask(url, 'best')).status).toBe(200);
  expect((await ask(url, 'wrong/listed-one')).status).toBe(502);
  expect((await ask(url, 'up/refuses')).status).toBe(400);
  const { report } = await health(url);
  expect(report).toMatchObject({ gateways: 2, default_model: 'down/m' });
  expect(report.problems).toMatchObject([expect.stringContaining('models.aliases.lost')]);

  const down = named(report.providers, 'down');
  expect(down).toMatchObject({
    kind: 'openai',
    address: 'http://127.0.0.1:9',
    has_key: false,
    circuit: { state: 'open' },
    models: { source: 'configuration', count: 1, names: ['m'], listed_at: null },
    last_hour: { calls: 3, failed: 3, p50_ms: null },
    last_error: { code: 'model_error', model: 'm', upstream_status: null },
  });
  expect(down.problem).toContain('cannot be reached');
  expect(down.last_hour.errors).toEqual([
    { code: 'model_error', count: 2 },
    { code: 'model_unavailable', count: 1 },
  ]);
  const up = named(report.providers, 'up');
  expect(up).toMatchObject({ has_key: true, circuit: { state: 'closed' }, last_day: { calls: 4, failed: 1 } });
  expect(up.last_hour.p95_ms).toBeGreaterThan(0);
  expect(up.last_hour.first_token_p50_ms).toBeGreaterThan(0);
  expect(up.hours).toHaveLength(24);
  const wrong = named(report.providers, 'wrong');
  expect(wrong.models).toMatchObject({ source: 'provider', names: ['listed-one', 'listed-two'] });
  expect(Date.parse(wrong.models.listed_at!)).toBeLessThanOrEqual(Date.now());
  expect(wrong.last_error).toMatchObject({ upstream_status: 401, message: expect.stringContaining('refused the key') });
  expect(report.providers.at(-1)).toMatchObject({ name: 'offline', address: null, models: { source: 'built_in' } });

  const best = named(report.aliases, 'best');
  expect(best.targets).toEqual(['down/m', 'up/m']);
  expect(best.fallbacks).toMatchObject([{ from: 'down/m', to: 'up/m', count: 3, code: 'model_unavailable' }]);
  expect(named(report.aliases, 'other').fallbacks).toEqual([]);
  expect(named(report.aliases, 'lost').problem).toContain('not found');

  const priced = (model: string) => report.models.find((each) => each.model === model);
  expect(priced('up/m')).toMatchObject({ requests: 3, price: { input: 2, output: 10, cached_input: null } });
  expect(priced('up/m')!.cost_usd).toBeCloseTo(3 * (0.002 + 0.001));
  expect(priced('down/m')).toMatchObject({ requests: 0, price: null });
  expect(priced('claude/claude-3-haiku-1')!.price).toMatchObject({ input: 0.25 });
});

verifies(
  'operations.models-health',
  'the other gateway has seen other calls, and knows what all have used',
  async () => {
    const first = await health(box.gateways[0]!.url);
    const other = await health(second);
    expect(other.report.gateway).not.toBe(first.report.gateway);
    expect(named(other.report.providers, 'up').last_day).toMatchObject({ calls: 0, failed: 0, p95_ms: null });
    expect(named(other.report.providers, 'down').circuit).toMatchObject({ state: 'closed' });
    expect(named(other.report.aliases, 'best').fallbacks).toEqual([]);
    expect(other.report.models.find(({ model }) => model === 'up/m')).toMatchObject({ requests: 3 });
  },
);

verifies('operations.models-health', 'no key, header, credential or path of an address in it', async () => {
  const { text } = await health(box.gateways[0]!.url);
  for (const [name, canary] of Object.entries(canaries)) expect(text.includes(canary), name).toBe(false);
});

verifies('operations.settings', 'no secret of a provider in the settings', async () => {
  const text = await (await fetch(`${second}/api/settings`)).text();
  expect(text).toContain('models.providers.down.base_url');
  const { path: _path, ...secrets } = canaries;
  for (const [name, canary] of Object.entries(secrets)) expect(text.includes(canary), name).toBe(false);
});
