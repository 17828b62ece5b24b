import { afterEach, expect } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { oneByOne } from '../../../../test/support/one-by-one.js';
import { foldEvents } from '../../../../test/support/collect-model-events.js';
import {
  type ScriptedAnswer,
  type ScriptedUpstream,
  startScriptedUpstream,
} from '../../../../test/support/scripted-upstream.js';
import { asking, calling } from '../../../../test/fixtures/model-request.js';
import { verifies } from '../../../../test/verifies.js';
import { createModelObservers } from '../routing/measure-model-calls.js';
import type { ModelCall, ModelRouter, RoutedModelEvent } from '../model-provider.js';
import { createModelRouter } from '../routing/model-router.js';
import { OfflineProvider } from '../offline/offline-provider.js';

const closing: (ModelRouter | ScriptedUpstream)[] = [];
afterEach(() => Promise.all(closing.splice(0).map((each) => each.close())));

let answer: ScriptedAnswer;
const broken: ScriptedAnswer = { status: 500, json: {} };
const refused: ScriptedAnswer = { status: 401, json: { error: { message: 'no' } } };
const limited: ScriptedAnswer = { status: 429, json: { error: { message: 'slow' } } };
const half: ScriptedAnswer = { chunks: [{ choices: [{ delta: { content: 'half' } }] }], end: 'fin' };
const nothing: ScriptedAnswer = { chunks: [{ id: 'i', choices: [{ delta: { role: 'assistant' } }] }], end: 'fin' };

async function start(circuit: object, more: object = {}) {
  const upstream = await startScriptedUpstream(() => answer);
  const provider = { kind: 'openai', base_url: upstream.baseUrl, max_retries: 0 };
  const providers = { up: { ...provider, ...more, circuit }, spare: provider };
  const config = configSchema.parse({ models: { providers, aliases: { best: ['up/m', 'spare/m'] } } }).models;
  const metrics = createMetrics({ processMetrics: false });
  const observers = createModelObservers(metrics);
  const router = createModelRouter(config, { logger: silentLogger, offline: new OfflineProvider(), ...observers });
  closing.push(router, upstream);
  const ask = async (name = 'up/m', call: Partial<ModelCall> = {}) => {
    const events = [];
    const { model: _, ...request } = asking();
    for await (const event of oneByOne<RoutedModelEvent>((take) =>
      router.call(router.resolve(name), request, calling(call), take),
    ))
      events.push(event);
    return { ...foldEvents(events), last: events.at(-1) };
  };
  const shown = async () => {
    const { values } = await metrics.modelCircuit.get();
    return values
      .filter(({ labels, value }) => labels.provider === 'up' && value === 1)
      .map(({ labels }) => labels.state);
  };
  return { upstream, router, ask, shown, metrics };
}

verifies(
  'models.circuit',
  'failures before the first piece open it; the caller is told at once, and when to come',
  async () => {
    const { upstream, ask, shown } = await start({ failures: 3 });
    expect(await shown()).toEqual(['closed']);
    for (const failure of [broken, nothing, { refuse: 'rst' } as const]) {
      answer = failure;
      expect((await ask()).error).toMatch(/model_error|model_stream_cut/);
    }
    const { last } = await ask();
    expect(last).toMatchObject({ error: { code: 'model_unavailable', http: 503, retryAfterSeconds: 30 } });
    expect(upstream.requests).toHaveLength(3);
    expect(await shown()).toEqual(['open']);
  },
);

verifies(
  'models.circuit',
  'what does not open it: refusals, limits, a cut in the middle, callers that leave',
  async () => {
    const { ask, shown } = await start({ failures: 2 });
    for (const harmless of [refused, limited, half]) {
      answer = broken;
      await ask();
      answer = harmless;
      await ask();
      await ask();
    }
    answer = { never: true };
    for (let left = 0; left < 3; left += 1) {
      expect((await ask('up/m', { signal: AbortSignal.timeout(20) })).error).toBe('cancelled');
      expect((await ask('up/m', { deadline: Date.now() + 20 })).error).toBe('model_timeout');
    }
    expect(await shown()).toEqual(['closed']);
  },
);

verifies('models.circuit', 'silence opens it, one try closes it again', async () => {
  const { ask, shown } = await start({ failures: 1, cool_down_ms: 1 }, { timeout_ms: { first_byte: 500 } });
  answer = { never: true };
  expect((await ask()).error).toBe('model_timeout');
  expect(await shown()).toEqual(['open']);
  answer = { text: 'x' };
  await expect.poll(async () => (await ask()).text, { timeout: 10_000 }).toBe('x');
  expect(await shown()).toEqual(['closed']);
});

verifies('models.circuit', 'a try that its caller leaves makes room for the next', async () => {
  const { router, ask } = await start({ failures: 1, cool_down_ms: 1 });
  answer = broken;
  await ask();
  answer = { chunks: nothing.chunks!, end: 'stall' };
  const { provider } = router.resolve('up/m').candidates[0]!;
  const leave = async () => {
    for await (const event of oneByOne((take) => provider.call(asking(), calling(), take))) return event.type;
    return undefined;
  };
  await expect.poll(leave, { timeout: 10_000 }).toBe('message_start');
  answer = { text: 'x' };
  expect((await ask()).text).toBe('x');
});

verifies('models.concurrency', 'a call too many is counted, and moves on to the next candidate', async () => {
  const { upstream, ask, metrics } = await start({ failures: 1 }, { max_concurrency: 1, models: ['m'] });
  answer = { never: true };
  const leaving = new AbortController();
  const first = ask('up/m', { signal: leaving.signal });
  await upstream.received(1);
  answer = { text: 'x' };
  expect(await ask('best')).toMatchObject({ text: 'x', finish: 'stop' });
  leaving.abort();
  expect((await first).error).toBe('cancelled');
  expect(await metrics.registry.metrics()).toContain('rate_limited_total{limit="model_concurrency"} 1');
});

verifies('models.router.fallback', 'a provider that is not asked costs no time, and is counted', async () => {
  const { upstream, ask, metrics } = await start({ failures: 1 });
  answer = broken;
  await ask();
  answer = { text: 'x' };
  expect(await ask('best')).toMatchObject({ text: 'x', finish: 'stop' });
  expect(upstream.requests).toHaveLength(2);
  const text = await metrics.registry.metrics();
  expect(text).toContain('model_attempts_failed_total{provider="up",code="model_unavailable",next="fallback"} 1');
});
