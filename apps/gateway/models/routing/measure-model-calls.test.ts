import { expect } from 'vitest';
import { silentLogger, type LogFields } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { configSchema } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { oneByOne, pushing } from '../../../../test/support/one-by-one.js';
import { verifies } from '../../../../test/verifies.js';
import { ModelCallMeasure } from './measure-model-calls.js';
import type { ModelProvider, ModelRequest, RoutedModelEvent } from '../model-provider.js';
import { createModelRouter } from './model-router.js';

const usage = {
  prompt_tokens: 10,
  completion_tokens: 4,
  total_tokens: 14,
  prompt_tokens_details: { cached_tokens: 6 },
};
const routed: RoutedModelEvent = { type: 'routed', provider: 'p', upstreamModel: 'm' };

async function measured(events: ModelEvent[], options: { failure?: Error; take?: number } = {}) {
  const lines: LogFields[] = [];
  const metrics = createMetrics({ processMetrics: false });
  const provider = {
    name: 'p',
    call: pushing(async function* () {
      for (const event of events) yield [event];
      if (options.failure !== undefined) throw options.failure;
    }),
  } as unknown as ModelProvider;
  const logger = {
    ...silentLogger,
    isLevelEnabled: () => true,
    debug: (f: LogFields) => void lines.push(f),
    warn: (f: LogFields) => void lines.push(f),
  };
  const measure = new ModelCallMeasure({ metrics, clocks: new TurnClocks(), logger });
  const router = createModelRouter(configSchema.parse({}).models, { logger: silentLogger, offline: provider, measure });
  const route = { candidates: [{ provider, model: 'm' }] };
  const call = { requestId: 'r', deadline: Date.now() + 10_000, signal: new AbortController().signal };
  let taken = 0;
  const seen: RoutedModelEvent[] = [];
  try {
    for await (const event of oneByOne<RoutedModelEvent>((take) =>
      router.call(route, { messages: [] } as unknown as ModelRequest, call, take),
    )) {
      seen.push(event);
      if (++taken === options.take) break;
    }
  } catch (error) {
    expect(error).toBe(options.failure);
  }
  return { seen, lines, text: await metrics.registry.metrics() };
}

verifies('operations.metrics-model-call', 'provider, model, outcome and tokens by kind; one line', async () => {
  const events: ModelEvent[] = [
    { type: 'text_delta', text: 'canary' },
    { type: 'usage', usage },
    { type: 'message_end', finishReason: 'stop' },
  ];
  const { seen, lines, text } = await measured(events);
  expect(seen).toEqual([routed, ...events]);
  expect(text).toContain('signalbox_model_calls_total{provider="p",model="m",outcome="ok"} 1');
  expect(text).toContain('signalbox_tokens_total{provider="p",model="m",kind="prompt"} 10');
  expect(text).toContain('signalbox_tokens_total{provider="p",model="m",kind="cached"} 6');
  expect(text).toContain('signalbox_model_call_duration_seconds_count{provider="p",model="m"} 1');
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatchObject({ requestId: 'r', metadata: { provider: 'p', model: 'm', outcome: 'ok' } });
  expect(JSON.stringify(lines)).not.toContain('canary');
});

verifies('operations.metrics-model-call', 'an error event, a throw and a reader that left', async () => {
  const outcome = (text: string) => /model_calls_total\{[^}]*outcome="(\w+)"\} 1/.exec(text)?.[1];
  const error = new AppError('model_stream_cut', 'cut');
  expect(outcome((await measured([{ type: 'error', error }])).text)).toBe('model_stream_cut');
  expect(outcome((await measured([], { failure: new AppError('model_timeout', 'late') })).text)).toBe('model_timeout');
  expect(outcome((await measured([{ type: 'text_delta', text: 'a' }], { take: 1 })).text)).toBe('cancelled');
});

verifies('operations.metrics-bounded', 'a model that never answered is other', async () => {
  const { text } = await measured([], { failure: new AppError('model_error', 'no') });
  expect(text).toContain('signalbox_model_calls_total{provider="p",model="other",outcome="model_error"} 1');
});
