// The span of a model call to one candidate: a tap on its events. The last event ends the span, whatever the reader does then.
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { finished, firstChunk, modelAnswers, modelCallSpan, usageAttributes } from '#libs/tracing/spans.js';
import type { Span, Tracing } from '#libs/tracing/tracing.js';
import type { ModelCall, ModelRequest } from '../model-provider.js';

export class TracedModelCall {
  /** The call with the span as the parent of the provider's work. */
  readonly call: ModelCall;
  private readonly span: Span;
  private readonly startedAt = performance.now();
  private begun: boolean;

  constructor(
    tracing: Tracing,
    { provider, request, call }: { provider: string; request: ModelRequest; call: ModelCall },
  ) {
    this.span = tracing.start(modelCallSpan(provider, request.model, request.stream), call.traceparent);
    this.call = { ...call, traceparent: this.span.traceparent, span: this.span };
    this.begun = !request.stream;
  }

  note(batch: readonly ModelEvent[]): void {
    if (!this.begun) {
      this.begun = true;
      this.span.set(firstChunk(performance.now() - this.startedAt));
    }
    for (const event of batch) {
      if (event.type === 'message_start') this.span.set(modelAnswers(event.model, event.responseId));
      else if (event.type === 'usage') this.span.set(usageAttributes(event.usage));
      else if (event.type === 'error') this.end(event.error.code);
      else if (event.type === 'message_end') {
        this.span.set(finished(event.finishReason));
        this.end();
      }
    }
  }

  end(errorType?: string): void {
    this.span.end(errorType);
  }
}
