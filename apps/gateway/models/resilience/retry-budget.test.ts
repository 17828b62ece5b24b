import { expect } from 'vitest';
import { createMetrics } from '#libs/metrics/metrics.js';
import { attempts, ask, start } from '../../../../test/fixtures/openai-setup.js';
import { verifies } from '../../../../test/verifies.js';
import { createModelObservers } from '../routing/measure-model-calls.js';
import { RetryBudget } from './retry-budget.js';

/** The number of retries granted to `calls` calls that each want up to `most`. */
function retriesOf(calls: number, budget: RetryBudget, most = 2): number {
  let retries = 0;
  for (let call = 0; call < calls; call += 1) {
    budget.called();
    for (let retry = 0; retry < most && budget.take(); retry += 1) retries += 1;
  }
  return retries;
}

verifies('models.retry-budget', 'a share of the calls and a reserve, which time refills', () => {
  let now = 0;
  const budget = new RetryBudget({ share: 0.25, reserve: 10 }, () => now);
  expect(retriesOf(1_000, budget)).toBe(259);
  now += 5_000;
  // Half the reserve, plus one that was nearly refilled.
  expect(retriesOf(1, budget, 100)).toBe(6);
  // Unused retries do not accumulate.
  now += 3_600_000;
  expect(retriesOf(1, budget, 100)).toBe(10);
  for (let call = 0; call < 1_000; call += 1) budget.called();
  expect(retriesOf(1, budget, 100)).toBe(10);
});

verifies('models.retry-budget', 'without a reserve the share alone, without a share the reserve alone', () => {
  expect(retriesOf(100, new RetryBudget({ share: 0.5, reserve: 0 }, () => 0))).toBe(50);
  expect(retriesOf(100, new RetryBudget({ share: 0, reserve: 3 }, () => 0))).toBe(3);
  expect(retriesOf(100, new RetryBudget({ share: 0, reserve: 0 }, () => 0))).toBe(0);
});

verifies(
  'models.retry-budget',
  'an upstream that fails every call of an overload is asked hardly more often',
  async () => {
    const failing = () => ({ status: 503, headers: { 'retry-after-ms': '1' }, json: { error: { message: 'down' } } });
    const { requests } = await start(failing, { max_retries: 5, retry_budget: { share: 0.1, reserve: 10 } });
    const calls = 200;
    const ends = await Promise.all(Array.from({ length: calls }, () => ask()));
    for (const events of ends) {
      expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'model_error', upstreamStatus: 503 } });
    }
    // The reserve refills slightly while they run.
    expect(requests.length).toBeGreaterThan(calls);
    expect(requests.length).toBeLessThan(calls * 1.1 + 30);
    const metrics = createMetrics({ processMetrics: false });
    const observe = createModelObservers(metrics).onAttempt;
    for (const attempt of attempts) observe(attempt);
    const text = await metrics.registry.metrics();
    expect(text).toContain(`signalbox_model_retries_refused_total{provider="up"} ${calls}`);
    expect(text).toContain(
      `signalbox_model_attempts_failed_total{provider="up",code="model_error",next="retry"} ${requests.length - calls}`,
    );
  },
);
