// Tracing by OpenTelemetry's SDK, over OTLP/HTTP. Loaded only if an endpoint is set. Knows no span by name: spans.ts does.
// Known secrets are struck out of every text, as they are from logs.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type Attributes,
  type Context,
  ROOT_CONTEXT,
  type Span as OpenSpan,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { TracerProvider } from '@opentelemetry/sdk-trace';
import { strikeOutKnown } from '#libs/audit/known-secrets.js';
import type { Logger } from '#libs/logging/logger.js';
import { BoundedExport } from './bounded-export.js';
import { errorTypeName } from './spans.js';
import type { Span, SpanAttributes, SpanStart, Tracing } from './tracing.js';

export interface TracingOptions {
  service: string;
  /** As OTEL_EXPORTER_OTLP_ENDPOINT: without `/v1/traces`. */
  endpoint: string;
  /** As OTEL_EXPORTER_OTLP_HEADERS: `name=value,…`, values percent-encoded. */
  headers?: string | undefined;
  logger: Logger;
}

const exportMs = 5_000;
/** For names and texts; a caller chooses some, such as the model's name. */
const maxTextLength = 256;
const maxAttributes = 32;
const maxEvents = 32;

export function openTracing({ service, endpoint, headers, logger }: TracingOptions): Tracing {
  const exporter = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, '')}/v1/traces`,
    timeoutMillis: exportMs,
    ...(headers === undefined ? {} : { headers: readHeaders(headers) }),
  });
  const bounded = new BoundedExport(exporter, { origin: new URL(endpoint).origin, exportMs, logger });
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': `signalbox-${service}`,
      'service.namespace': 'signalbox',
      'service.instance.id': randomUUID(),
    }),
    spanLimits: { attributeCountLimit: maxAttributes, eventCountLimit: maxEvents },
    spanProcessors: [bounded],
  });
  const tracer = provider.getTracer('signalbox');
  return {
    start({ name, kind, attributes }: SpanStart, parent?: string, link?: string): Span {
      const isRemote = kind === 'server' || kind === 'consumer';
      const linked = link === undefined ? undefined : readTraceparent(link, true);
      const span = tracer.startSpan(
        shown(name),
        {
          kind: kinds[kind],
          attributes: shownAttributes(attributes),
          ...(linked === undefined ? {} : { links: [{ context: linked }] }),
        },
        contextOf(parent, isRemote),
      );
      return new RecordedSpan(span);
    },
    get onDropped() {
      return bounded.onDropped;
    },
    set onDropped(onDropped) {
      bounded.onDropped = onDropped;
    },
    async close(deadlineMs) {
      const closed = provider.shutdown().catch(() => undefined);
      await Promise.race([closed, delay(deadlineMs, undefined, { ref: false })]);
    },
  };
}

class RecordedSpan implements Span {
  readonly traceparent: string;
  private over = false;

  constructor(private readonly span: OpenSpan) {
    const { traceId, spanId, traceFlags } = span.spanContext();
    this.traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  set(attributes: SpanAttributes): void {
    if (!this.over) this.span.setAttributes(shownAttributes(attributes));
  }

  event(name: string, attributes: SpanAttributes): void {
    if (!this.over) this.span.addEvent(name, shownAttributes(attributes));
  }

  end(errorType?: string): void {
    if (this.over) return;
    this.over = true;
    if (errorType !== undefined) {
      this.span.setAttribute(errorTypeName, shown(errorType));
      this.span.setStatus({ code: SpanStatusCode.ERROR });
    }
    this.span.end();
  }
}

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
} as const;

const shown = (text: string): string => strikeOutKnown(text).slice(0, maxTextLength);

function shownAttributes(attributes: SpanAttributes): Attributes {
  const told: Attributes = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    told[name] = typeof value === 'string' ? shown(value) : Array.isArray(value) ? value.map(shown) : value;
  }
  return told;
}

function contextOf(parent: string | undefined, isRemote: boolean): Context {
  const read = parent === undefined ? undefined : readTraceparent(parent, isRemote);
  return read === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, read);
}

/** Later versions have further members, which nobody here knows. */
function readTraceparent(traceparent: string, isRemote: boolean): SpanContext | undefined {
  const [, version, traceId, spanId, flags] =
    /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?:-|$)/.exec(traceparent) ?? [];
  if (version === undefined || version === 'ff') return undefined;
  const context = { traceId: traceId!, spanId: spanId!, traceFlags: Number.parseInt(flags!, 16) & 1, isRemote };
  return trace.isSpanContextValid(context) ? context : undefined;
}

function readHeaders(text: string): Record<string, string> {
  const pairs = text.split(',').flatMap((pair) => {
    const [, name, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? [];
    return name === undefined ? [] : [[name, decoded(value!)] as const];
  });
  return Object.fromEntries(pairs);
}

function decoded(value: string): string {
  try {
    return decodeURIComponent(value);
  } catch {
    return value;
  }
}
