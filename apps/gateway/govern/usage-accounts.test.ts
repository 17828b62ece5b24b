// What is charged for model calls that answer, fail, and are replaced by another candidate.
import { expect } from 'vitest';
import { configSchema } from '#libs/config/schema.js';
import { type LogFields, silentLogger } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { pushing } from '../../../test/support/one-by-one.js';
import { Prices } from '#libs/usage/prices.js';
import type { Used } from '#libs/usage/usage-meter.js';
import { verifies } from '../../../test/verifies.js';
import type { ModelProvider, ModelRequest } from '../models/model-provider.js';
import { ModelCallMeasure } from '../models/routing/measure-model-calls.js';
import { createModelRouter } from '../models/routing/model-router.js';
import { UsageAccounts } from './usage-accounts.js';

const usage = (prompt_tokens: number, completion_tokens: number): ModelEvent => ({
  type: 'usage',
  usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens },
});
const end: ModelEvent = { type: 'message_end', finishReason: 'stop' };
const cut: ModelEvent = { type: 'error', error: new AppError('model_stream_cut', 'cut') };

const providerOf = (name: string, events: ModelEvent[]) =>
  ({
    name,
    call: pushing(async function* () {
      for (const event of events) yield [event];
    }),
  }) as unknown as ModelProvider;

async function charged(providers: ModelProvider[], round = 1) {
  const used: Used[] = [];
  const warned: LogFields[] = [];
  const spent: number[] = [];
  const tokens: number[] = [];
  const metrics = createMetrics({ processMetrics: false });
  const logger = { ...silentLogger, warn: (fields: LogFields) => void warned.push(fields) };
  const accounts = new UsageAccounts({
    meter: { add: (each) => void used.push(each), flushSoon: () => undefined },
    prices: new Prices({ 'paid/*': { input: 1, output: 2 } }, {}),
    budgets: { add: (_, nanoUsd) => spent.push(nanoUsd) > 0, hasBudget: () => true },
    rates: { addTokens: (_, __, count) => void tokens.push(count) },
    limits: { tokens_per_minute: 100 },
    metrics,
    logger,
  });
  const measure = new ModelCallMeasure({ metrics, clocks: new TurnClocks(), logger: silentLogger, accounts });
  const router = createModelRouter(configSchema.parse({}).models, {
    logger: silentLogger,
    offline: providers[0]!,
    measure,
  });
  const route = { candidates: providers.map((provider) => ({ provider, model: 'm' })) };
  const paidBy = { principal: 'ann', keyId: 'key_1', round };
  const call = { requestId: 'r', paidBy, deadline: Infinity, signal: new AbortController().signal };
  await router.call(route, { messages: [] } as unknown as ModelRequest, call, () => undefined);
  const sums = used.map(({ model, requests, promptTokens, completionTokens, nanoUsd }) => ({
    model,
    requests,
    tokens: [promptTokens, completionTokens],
    nanoUsd,
  }));
  return { sums, spent, tokens, warned, text: await metrics.registry.metrics() };
}

verifies(
  'limits.usage-right',
  'an answer, a later round, a stream that was cut, a call that never answered',
  async () => {
    const answered = await charged([providerOf('paid', [usage(10, 5), end])]);
    expect(answered.sums).toEqual([{ model: 'paid/m', requests: 1, tokens: [10, 5], nanoUsd: 20_000 }]);
    expect([answered.spent, answered.tokens]).toEqual([[20_000], [15]]);
    expect(answered.text).toContain('signalbox_cost_usd_total{provider="paid",model="m"} 0.00002');
    expect((await charged([providerOf('paid', [usage(1, 1), end])], 2)).sums).toMatchObject([{ requests: 0 }]);
    const text: ModelEvent = { type: 'text_delta', text: 'a' };
    expect((await charged([providerOf('paid', [text, usage(7, 1), cut])])).sums).toMatchObject([{ tokens: [7, 1] }]);
    expect((await charged([providerOf('paid', [cut])])).sums).toEqual([
      { model: '', requests: 1, tokens: [0, 0], nanoUsd: 0 },
    ]);
  },
);

verifies('limits.usage-right', 'a candidate that counted something before another replaced it', async () => {
  const { sums, spent, warned, text } = await charged([
    providerOf('paid', [usage(100, 0), cut]),
    providerOf('free', [usage(90, 9), end]),
  ]);
  expect(sums).toEqual([
    { model: 'paid/m', requests: 0, tokens: [100, 0], nanoUsd: 100_000 },
    { model: 'free/m', requests: 1, tokens: [90, 9], nanoUsd: 0 },
  ]);
  expect(spent).toEqual([100_000, 0]);
  expect(warned).toEqual([{ metadata: { model: 'free/m' } }]);
  expect(text).toContain('signalbox_model_calls_unpriced_total{provider="free",model="m"} 1');
});
