import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { AppError, errorTable, toAppError, type ErrorCode } from '#libs/schemas/errors.js';
import { verifies } from '../../test/verifies.js';
import { BoundedLabels } from './bounded-labels.js';
import { collectGauges } from './collect-gauges.js';
import { createMetrics } from './metrics.js';
import { TurnClocks } from './turn-clocks.js';

verifies('operations.metrics-names', 'every metric of the specification whose cause exists', async () => {
  const metrics = createMetrics();
  const names = (await metrics.registry.getMetricsAsJSON()).map(({ name }) => name);
  const wanted = `chat_requests_total chat_requests_with_tools_total chat_duration_seconds
    chat_time_to_first_token_seconds chat_rounds model_calls_total model_call_duration_seconds tokens_total
    tool_calls_total tool_duration_seconds tool_queue_wait_seconds errors_total queue_jobs
    queue_oldest_job_age_seconds mcp_servers mcp_processes isolation_level sessions workspace_bytes approvals_pending
    rate_limited_total gateway_overhead_seconds`.split(/\s+/);
  expect(wanted.filter((name) => !names.includes(`signalbox_${name}`))).toEqual([]);
  expect(names).toContain('nodejs_eventloop_lag_seconds');
  metrics.registry.clear();
});

verifies('operations.errors-one-table', 'signalbox_errors_total has exactly the codes of the table', async () => {
  const { registry } = createMetrics({ processMetrics: false });
  const text = await registry.getSingleMetricAsString('signalbox_errors_total');
  const shown = [...text.matchAll(/type="(\w+)",code="(\w+)"/g)].map(([, type, code]) => `${type} ${code}`);
  expect(new Set(shown)).toEqual(new Set(Object.entries(errorTable).map(([code, { type }]) => `${type} ${code}`)));
});

test('an error is counted once, through however many hands it goes', async () => {
  const metrics = createMetrics({ processMetrics: false });
  const counted = async (code: ErrorCode) => {
    const { values } = await metrics.errors.get();
    return values.find(({ labels }) => labels.code === code)!.value;
  };
  const known = new AppError('model_error', 'no');
  metrics.countError(known);
  metrics.countError(known);
  const stranger = new TypeError('x');
  metrics.countError(stranger);
  metrics.countError(toAppError(stranger));
  metrics.countError(new AppError('model_error', 'another', { cause: new Error('socket') }));
  const toolError = { code: 'tool_crashed' as const };
  metrics.countToolError(toolError);
  metrics.countError(new AppError('tool_crashed', 'gone', { toolError }));
  metrics.countToolError({ code: 'tool_crashed' });
  expect(await counted('tool_crashed')).toBe(2);
  expect([await counted('model_error'), await counted('internal_error')]).toEqual([2, 1]);
});

verifies('operations.metrics-bounded', 'strangers and everything past the limit are other', () => {
  const labels = new BoundedLabels(2);
  expect(labels.label('stranger', false)).toBe('other');
  expect([labels.label('a', true), labels.label('b', true), labels.label('c', true)]).toEqual(['a', 'b', 'other']);
  expect(labels.label('a', false)).toBe('a');
  expect(labels.label('x'.repeat(129), true)).toBe('other');
});

test('overlapping calls of a turn count once', async () => {
  const clocks = new TurnClocks();
  const clock = clocks.open('r');
  const leaves = [clocks.enter('r'), clocks.enter('r'), clocks.enter('unknown'), clocks.enter(undefined)];
  const started = performance.now();
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (const leave of leaves) leave();
  const busy = clock.busyMs();
  expect(busy).toBeGreaterThan(10);
  expect(busy).toBeLessThanOrEqual(performance.now() - started + 1);
  leaves[0]!();
  expect(clock.busyMs()).toBe(busy);
  clock.close();
  clocks.enter('r');
  expect(clock.busyMs()).toBe(busy);
});

verifies('operations.metrics-never-block', 'a source that hangs or fails leaves its gauge out, in time', async () => {
  const metrics = createMetrics({ processMetrics: false });
  const queue = async () => ({ waiting: 3, active: 1, oldestAgeMs: 1500 });
  await collectGauges(metrics, { queue, sessions: async () => 7 });
  expect(await metrics.registry.metrics()).toMatch(
    /signalbox_queue_oldest_job_age_seconds 1\.5[\s\S]*signalbox_sessions 7/,
  );
  const started = performance.now();
  await collectGauges(metrics, {
    queue: () => new Promise(() => undefined),
    sessions: () => Promise.reject(new Error('away')),
  });
  expect(performance.now() - started).toBeLessThan(2_000);
  const text = await metrics.registry.metrics();
  expect(text).not.toMatch(/^signalbox_(?:sessions|queue_jobs\{|queue_oldest)/m);
});

test('a wait that ends because its caller has gone is no failure of ours', async () => {
  const gone = new AppError('cancelled', 'The client has gone');
  const waiting = delay(60_000, undefined, { signal: AbortSignal.abort(gone) });
  expect(toAppError(await waiting.catch((error: unknown) => error))).toBe(gone);
});
