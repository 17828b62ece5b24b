// The port of tracing, and what a span is. Without an endpoint `tracing` stays undefined and no SDK is loaded, so
// that a call site costs one comparison: `tracing?.start(…)`. Parents are passed as W3C `traceparent`, like everywhere else.

export type SpanAttributes = Record<string, string | number | boolean | string[] | undefined>;

/** Made by spans.ts only. */
export interface SpanStart {
  name: string;
  kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer';
  attributes: SpanAttributes;
}

export interface Span {
  /** The parent for whatever this span causes, here or elsewhere. */
  readonly traceparent: string;
  set(attributes: SpanAttributes): void;
  event(name: string, attributes: SpanAttributes): void;
  /** Only the first call counts. `errorType`: one of our codes, or a status; never a message. */
  end(errorType?: string): void;
}

export type DropReason = 'queue_full' | 'export_failed';

export interface Tracing {
  /** Without a parent, or with a malformed one, a trace begins. */
  start(span: SpanStart, parent?: string, link?: string): Span;
  /** Called with spans that reach no collector. */
  onDropped: (reason: DropReason, spans: number) => void;
  /** Sends what is left, for as long as the deadline allows. Never rejects. */
  close(deadlineMs: number): Promise<void>;
}

const pattern = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** A given `traceparent`, if it is valid. */
export const traceparentOf = (given: unknown): string | undefined =>
  typeof given === 'string' && pattern.test(given) ? given : undefined;

/** Read where a span begins: set before a process starts anything. */
export let tracing: Tracing | undefined;

export function traceWith(opened: Tracing | undefined): void {
  tracing = opened;
}
