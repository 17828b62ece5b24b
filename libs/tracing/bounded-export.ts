// Between spans and their collector: a bounded number of spans waits or is on the way, any others are counted and
// dropped. A collector that is away is logged at growing intervals; nothing here waits for it.
import { BatchSpanProcessor, type ReadableSpan, type SpanExporter, type SpanProcessor } from '@opentelemetry/sdk-trace';
import { GrowingPause } from '#libs/concurrency/growing-pause.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Tracing } from './tracing.js';

/** About 2 MB. */
const maxSpans = 2_048;
const maxBatch = 512;
const batchDelayMs = 1_000;
const logPauseMs = { least: 10_000, most: 3_600_000 };
const sampled = 1;

type ExportResult = Parameters<Parameters<SpanExporter['export']>[1]>[0];

export class BoundedExport implements SpanProcessor {
  onDropped: Tracing['onDropped'] = () => undefined;
  private readonly batches: BatchSpanProcessor;
  private readonly pause = new GrowingPause(logPauseMs);
  /** Spans that wait or are being sent. */
  private held = 0;
  private logAt = 0;

  constructor(
    exporter: SpanExporter,
    /** `origin`: the collector's, for the log. */
    private readonly options: { origin: string; exportMs: number; logger: Logger },
  ) {
    this.batches = new BatchSpanProcessor({
      exporter: {
        export: (spans, done) => exporter.export(spans, (result) => done(this.exported(spans.length, result))),
        shutdown: () => exporter.shutdown(),
      },
      maxQueueSize: maxSpans,
      maxExportBatchSize: maxBatch,
      scheduledDelayMillis: batchDelayMs,
      // The exporter's own time ends first, and says why.
      exportTimeoutMillis: 2 * options.exportMs,
    });
  }

  onStart(): void {}

  onEnd(span: ReadableSpan): void {
    if ((span.spanContext().traceFlags & sampled) === 0) return;
    if (this.held >= maxSpans) return this.onDropped('queue_full', 1);
    this.held += 1;
    this.batches.onEnd(span);
  }

  forceFlush(): Promise<void> {
    return this.batches.forceFlush();
  }

  shutdown(): Promise<void> {
    return this.batches.shutdown();
  }

  private exported(spans: number, result: ExportResult): ExportResult {
    this.held -= spans;
    if (result.error === undefined) return result;
    this.onDropped('export_failed', spans);
    const now = performance.now();
    if (now < this.logAt) return result;
    this.logAt = now + this.pause.next();
    const { origin, logger } = this.options;
    logger.warn(
      { metadata: { collector: origin, reason: reasonOf(result.error), spans } },
      'traces could not be exported',
    );
    return result;
  }
}

/** A status or a system's code: messages may be the collector's own words. */
function reasonOf(error: (Error & { code?: unknown }) | undefined): string {
  const { code } = error ?? {};
  return typeof code === 'string' || typeof code === 'number' ? String(code) : 'unreachable';
}
