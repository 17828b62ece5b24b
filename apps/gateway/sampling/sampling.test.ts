import { afterEach, beforeEach, expect, vi } from 'vitest';
import type { Wait } from '#libs/waits/wait.js';
import type { SamplingOutcome } from '#libs/waits/wait-store.js';
import { maxSampledLength, samplingLeaseMs, samplingMs } from '#libs/waits/sampling-request.js';
import { silentLogger } from '#libs/logging/logger.js';
import { forever } from '../../../test/support/runnable-call.js';
import { verifies } from '../../../test/verifies.js';
import type { SpentBudget } from '#libs/usage/budgets.js';
import type { ModelProvider, ModelRouter } from '../models/model-provider.js';
import type { SamplingCaller } from '../turn/dispatch/dispatch-services.js';
import { Sampling } from './sampling.js';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const untilAborted: ModelRouter['call'] = (_route, _request, { signal }) =>
  new Promise((resolve) => signal.addEventListener('abort', () => resolve()));

/** `taken`: what the store says each time, in the end the last. */
function open(call: ModelRouter['call'], taken: boolean[] = [true], spent?: SpentBudget) {
  const written: SamplingOutcome[] = [];
  const counted: string[] = [];
  let takes = 0;
  const provider = { name: 'upstream' } as ModelProvider;
  const asking = new Sampling({
    gatewayId: 'gateway-1',
    store: {
      take: async () => taken[Math.min(takes++, taken.length - 1)]!,
      sampled: async (_asked, _gateway, outcome) => written.push(outcome) > 0,
      open: async () => [asked],
    },
    announcements: { announce: async () => undefined },
    models: { resolve: () => ({ candidates: [{ provider, model: 'm' }] }), list: async () => [], call },
    budgets: { spentBy: () => spent },
    onAnswered: (outcome) => counted.push(outcome),
    logger: silentLogger,
  });
  const messages = [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }];
  const schema = { messages, hints: [], maxTokens: 5 };
  const asked = { id: 'appr_1', kind: 'sampling', schema } as unknown as Wait;
  const left = new AbortController();
  const caller = { requestId: 'req_1', principal: 'local', signal: left.signal, deadline: forever } as SamplingCaller;
  return { asking, asked, caller, left, written, counted, takes: () => takes };
}

verifies('sampling.bounded', 'a model that takes too long; meanwhile the request is kept', async () => {
  const { asking, asked, caller, written, counted, takes } = open(untilAborted);
  const answered = asking.answer(asked, caller, new AbortController().signal);
  await vi.advanceTimersByTimeAsync(samplingMs);
  await answered;
  expect(written).toMatchObject([
    { errorCode: 'model_timeout', answer: { refused: 'No model answered (model_timeout)' } },
  ]);
  expect(counted).toEqual(['model_timeout']);
  expect(takes()).toBeGreaterThanOrEqual((3 * samplingMs) / samplingLeaseMs);
  expect(vi.getTimerCount()).toBe(0);
});

verifies('sampling.bounded', 'an answer that is too long', async () => {
  const { asking, asked, caller, written } = open(async (_route, _request, _call, take) => {
    const text = 'x'.repeat(maxSampledLength);
    expect(await take([{ type: 'routed', provider: 'upstream', upstreamModel: 'm' }])).toBeUndefined();
    expect(await take([{ type: 'text_delta', text }])).toBeUndefined();
    expect(await take([{ type: 'text_delta', text: 'x' }])).toBe('enough');
  });
  await asking.answer(asked, caller, new AbortController().signal);
  expect(written).toMatchObject([{ errorCode: 'model_bad_response', model: 'upstream/m' }]);
});

verifies(
  'sampling.bounded',
  'a budget that is used up asks no model; what a model uses is charged to the caller',
  async () => {
    const payers: unknown[] = [];
    const call: ModelRouter['call'] = async (_route, _request, { paidBy }, take) => {
      payers.push(paidBy);
      await take([{ type: 'text_delta', text: 'x' }]);
    };
    const [rich, poor] = [open(call), open(call, [true], { period: 'day', usd: 1, leftMs: 1 })];
    for (const { asking, asked, caller } of [rich, poor]) {
      await asking.answer(asked, { ...caller, keyId: 'key_1' }, new AbortController().signal);
    }
    expect(payers).toEqual([{ principal: 'local', keyId: 'key_1', access: undefined, round: 0 }]);
    expect(poor.written).toMatchObject([{ errorCode: 'budget_exceeded' }]);
  },
);

verifies('sampling.cancelled', 'nobody waits any more: by the store, by its call, and by its caller', async () => {
  for (const stop of ['store', 'call', 'caller']) {
    const over = new AbortController();
    const { asking, asked, caller, left, written, counted } = open(untilAborted, [true, stop !== 'store']);
    const answered = asking.answer(asked, caller, over.signal);
    await vi.advanceTimersByTimeAsync(1);
    if (stop === 'store') await vi.advanceTimersByTimeAsync(samplingLeaseMs);
    if (stop === 'caller') left.abort();
    if (stop === 'call') over.abort();
    await answered;
    expect([written, counted]).toEqual([[], ['cancelled']]);
  }
});

verifies('sampling.answered', 'once, whoever waits for its call; another gateway’s is left alone', async () => {
  const { asking, caller, takes, left } = open(untilAborted);
  for (let at = 0; at < 3; at += 1) expect(await asking.open(['call_1'], caller)).toEqual([]);
  expect(takes()).toBe(1);
  left.abort();
  const others = open(untilAborted, [false]);
  await others.asking.answer(others.asked, others.caller, new AbortController().signal);
  expect([others.written, others.counted]).toEqual([[], []]);
});
