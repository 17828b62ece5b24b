import { afterAll, beforeAll, expect, test } from 'vitest';
import { knowSecrets } from '#libs/audit/known-secrets.js';
import type { LogFields, Logger } from '#libs/logging/logger.js';
import { silentLogger } from '#libs/logging/logger.js';
import { startTraceCollector, type TraceCollector } from '../../test/support/trace-collector.js';
import { verifies } from '../../test/verifies.js';
import { BoundedExport } from './bounded-export.js';
import { openTracing } from './open-tracing.js';
import { modelCallSpan, requestSpan, turnEnd } from './spans.js';

const secret = 'canary-secret-77b1';
const traceId = 'a'.repeat(32);
const parentId = 'b'.repeat(16);
const parent = `00-${traceId}-${parentId}-01`;
let collector: TraceCollector;

beforeAll(async () => {
  collector = await startTraceCollector();
  knowSecrets([secret]);
});
afterAll(async () => {
  knowSecrets([]);
  await collector.close();
});

const open = (options: { endpoint?: string; headers?: string; logger?: Logger } = {}) =>
  openTracing({ service: 'test', endpoint: collector.endpoint, logger: silentLogger, ...options });

test('a span: kind, parent, attributes, event, failure, link; with the headers of the collector', async () => {
  const tracing = open({ endpoint: `${collector.endpoint}/`, headers: 'x-key=one%20two, x-other=a=b' });
  const span = tracing.start(requestSpan('POST', '/v1/x', 'req_1'), parent, `00-${'c'.repeat(32)}-${parentId}-01`);
  span.set({ absent: undefined, list: ['a', 'b'] });
  span.event('happened', { attempt: 1 });
  span.end('model_error');
  span.set({ late: true });
  span.end();
  await tracing.close(5_000);
  const [sent] = await collector.trace(traceId, 1);
  expect(sent).toMatchObject({
    service: 'signalbox-test',
    name: 'POST /v1/x',
    kind: 'server',
    parentSpanId: parentId,
    events: [{ name: 'happened', attributes: { attempt: 1 } }],
    links: [{ traceId: 'c'.repeat(32), spanId: parentId }],
    failed: true,
  });
  expect(sent!.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': '/v1/x',
    'signalbox.request.id': 'req_1',
    list: ['a', 'b'],
    'error.type': 'model_error',
  });
  expect(span.traceparent).toBe(`00-${traceId}-${sent!.spanId}-01`);
  expect(collector.received.at(-1)!.headers).toMatchObject({ 'x-key': 'one two', 'x-other': 'a=b' });
});

test.each(['00-1-2-01', `ff-${traceId}-${parentId}-01`, `00-${'0'.repeat(32)}-${parentId}-01`])(
  'with %s as its parent a trace begins',
  (malformed) => {
    const span = open().start(requestSpan('GET', '/', 'r'), malformed);
    expect(span.traceparent).toMatch(/^00-(?!a{32}|0{32})[\da-f]{32}-[\da-f]{16}-01$/);
  },
);

test('what a caller does not sample is not sent, and its traceparent says so to others', async () => {
  const tracing = open();
  const unsampled = `00-${'d'.repeat(32)}-${parentId}-00`;
  const span = tracing.start(requestSpan('GET', '/', 'r'), unsampled);
  expect(span.traceparent).toMatch(new RegExp(`^00-d{32}-(?!${parentId})[\\da-f]{16}-00$`));
  span.end();
  await tracing.close(5_000);
  expect(collector.spans.some((each) => each.traceId === 'd'.repeat(32))).toBe(false);
});

verifies(
  'operations.traces-content',
  'known secrets are struck out, texts and counts of strangers are bounded',
  async () => {
    const tracing = open();
    const span = tracing.start(modelCallSpan('gemini', `${secret}-${'x'.repeat(1_000)}`, true));
    span.set(turnEnd('stop', { prompt_tokens: 'many', completion_tokens: 2, total_tokens: 3 } as never, 1));
    span.end();
    await tracing.close(5_000);
    const [sent] = await collector.trace(span.traceparent.split('-')[1]!, 1);
    expect(sent!.name).toContain('chat [redacted]-xxx');
    expect(sent!.name.length).toBe(256);
    expect(sent!.attributes).toMatchObject({ 'gen_ai.provider.name': 'gcp.gemini', 'gen_ai.usage.output_tokens': 2 });
    expect(sent!.attributes).not.toHaveProperty('gen_ai.usage.input_tokens');
    expect(JSON.stringify(collector.received)).not.toContain(secret);
  },
);

verifies(
  'operations.traces-collector',
  'refused spans are counted, and logged without the words of the collector',
  async () => {
    const logged: [LogFields, string][] = [];
    const logger = {
      ...silentLogger,
      warn: (fields: LogFields, message: string) => void logged.push([fields, message]),
    };
    const tracing = open({ endpoint: `${collector.endpoint}/other`, logger });
    const dropped: [string, number][] = [];
    tracing.onDropped = (...drop) => dropped.push(drop);
    for (let made = 0; made < 3; made += 1) tracing.start(requestSpan('GET', '/', 'r')).end();
    await tracing.close(5_000);
    expect(dropped).toEqual([['export_failed', 3]]);
    expect(logged).toEqual([
      [
        { metadata: { collector: new URL(collector.endpoint).origin, reason: '404', spans: 3 } },
        'traces could not be exported',
      ],
    ]);
  },
);

verifies('operations.traces-collector', 'spans that wait are bounded, those beyond are counted', async () => {
  let release: () => void = () => undefined;
  const sent: number[] = [];
  const bounded = new BoundedExport(
    {
      export: (spans, done) => {
        sent.push(spans.length);
        release = () => done({ code: 0 });
      },
      shutdown: () => Promise.resolve(),
    },
    { origin: 'http://127.0.0.1:4318', exportMs: 60_000, logger: silentLogger },
  );
  let dropped = 0;
  bounded.onDropped = (reason, spans) => {
    expect(reason).toBe('queue_full');
    dropped += spans;
  };
  const span = { spanContext: () => ({ traceFlags: 1 }), resource: {} } as never;
  for (let made = 0; made < 3_000; made += 1) bounded.onEnd(span);
  expect(sent).toEqual([512]);
  expect(dropped).toBe(3_000 - 2_048);
  release();
  for (let made = 0; made < 513; made += 1) bounded.onEnd(span);
  expect(dropped).toBe(3_000 - 2_048 + 1);
});
