// A collector of traces in the test's process: OTLP/HTTP with JSON, as the exporter sends it. Keeps every span and every byte.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface CollectedSpan {
  /** `signalbox-gateway`, … */
  service: string;
  name: string;
  kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  traceId: string;
  spanId: string;
  /** Absent for the first of a trace. */
  parentSpanId: string | undefined;
  attributes: Record<string, unknown>;
  events: { name: string; attributes: Record<string, unknown> }[];
  links: { traceId: string; spanId: string }[];
  failed: boolean;
  /** By its own process's clock, ms. */
  durationMs: number;
}

export interface TraceCollector {
  /** As OTEL_EXPORTER_OTLP_ENDPOINT. */
  endpoint: string;
  spans: CollectedSpan[];
  /** Everything that was sent, headers included. */
  received: { headers: IncomingHttpHeaders; body: string }[];
  /** The spans of a trace, when as many have come. @throws after `timeoutMs`, naming those that came */
  trace(traceId: string, count: number, timeoutMs?: number): Promise<CollectedSpan[]>;
  close(): Promise<void>;
}

export interface CollectorOptions {
  /** Takes what is sent and never answers. */
  hangs?: boolean;
}

const kinds = ['internal', 'internal', 'server', 'client', 'producer', 'consumer'] as const;
const errorStatus = 2;

export async function startTraceCollector({ hangs = false }: CollectorOptions = {}): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const received: TraceCollector['received'] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body });
      if (hangs) return;
      if (request.url !== '/v1/traces') return answer(response, 404);
      spans.push(...spansOf(JSON.parse(body) as OtlpTraces));
      answer(response, 200);
      for (const wake of waiting) wake();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    received,
    trace: (traceId, count, timeoutMs = 15_000) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = spans.filter((span) => span.traceId === traceId);
          if (found.length < count) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve(found);
        };
        const timer = setTimeout(() => {
          waiting.delete(look);
          const found = spans.filter((span) => span.traceId === traceId).map(({ name }) => name);
          reject(new Error(`${found.length} of ${count} spans came: ${found.join(', ')}`));
        }, timeoutMs);
        waiting.add(look);
        look();
      }),
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

function answer(response: ServerResponse, status: number): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
}

interface OtlpValue {
  stringValue?: string;
  intValue?: number | string;
  doubleValue?: number;
  boolValue?: boolean;
  arrayValue?: { values: OtlpValue[] };
}
type OtlpAttributes = { key: string; value: OtlpValue }[];
interface OtlpSpan {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  attributes: OtlpAttributes;
  events: { name: string; attributes: OtlpAttributes }[];
  links: { traceId: string; spanId: string }[];
  status: { code?: number };
  startTimeUnixNano: string;
  endTimeUnixNano: string;
}
interface OtlpTraces {
  resourceSpans: { resource: { attributes: OtlpAttributes }; scopeSpans: { spans: OtlpSpan[] }[] }[];
}

function spansOf({ resourceSpans }: OtlpTraces): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => ({ service, ...spanOf(span) })));
  });
}

function spanOf(span: OtlpSpan): Omit<CollectedSpan, 'service'> {
  const { name, traceId, spanId, parentSpanId, links, status } = span;
  return {
    name,
    kind: kinds[span.kind]!,
    traceId,
    spanId,
    parentSpanId: parentSpanId === '' ? undefined : parentSpanId,
    attributes: attributesOf(span.attributes),
    events: span.events.map((event) => ({ name: event.name, attributes: attributesOf(event.attributes) })),
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    failed: status.code === errorStatus,
    durationMs: Number((BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1_000n) / 1_000,
  };
}

const attributesOf = (attributes: OtlpAttributes): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));

function valueOf({ stringValue, intValue, doubleValue, boolValue, arrayValue }: OtlpValue): unknown {
  if (arrayValue !== undefined) return arrayValue.values.map(valueOf);
  return stringValue ?? boolValue ?? doubleValue ?? (intValue === undefined ? undefined : Number(intValue));
}
