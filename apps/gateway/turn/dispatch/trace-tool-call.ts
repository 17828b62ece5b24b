// The spans of a tool call in the gateway: one around everything that may answer the call (cache, queue, worker), one around the
// adding of its job.
import type { AddOptions } from '#libs/backing/job-queue.js';
import { toAppError } from '#libs/schemas/errors.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { sendSpan, toolEnd, toolSpan } from '#libs/tracing/spans.js';
import type { Span, Tracing } from '#libs/tracing/tracing.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { DispatchQueue } from './dispatch-services.js';
import type { RunnableCall } from '../call.js';

/** Starts the span of a call, and makes everything that the call causes its child. */
export function startToolSpan(tracing: Tracing, call: RunnableCall): Span {
  const { id: callId, tool, context } = call;
  const span = tracing.start(toolSpan({ name: tool.name, server: tool.server, callId }), context.traceparent);
  call.trace(span.traceparent);
  return span;
}

/** Ends the span with the call's outcome, or with the error. */
export function endToolSpan(span: Span, outcome: ToolOutcome | undefined, error?: unknown): void {
  if (outcome !== undefined) {
    span.set(toolEnd(outcome.state, outcome.cached));
    span.end(outcome.error?.code);
  } else if (error instanceof ApprovalNeeded) {
    // The call waits for a person, and continues when its caller comes back.
    span.set(toolEnd('waiting_approval', undefined));
    span.end();
  } else span.end(toAppError(error).code);
}

/** Gives the job the span of its adding as parent of the worker's span. */
export class TracedQueue implements DispatchQueue {
  constructor(
    private readonly queue: DispatchQueue,
    private readonly tracing: Tracing,
  ) {}

  async add(job: ToolJob, options: AddOptions): Promise<void> {
    const span = this.tracing.start(sendSpan(job.callId), job.traceparent);
    try {
      await this.queue.add({ ...job, traceparent: span.traceparent }, options);
      span.end();
    } catch (error) {
      // The signal aborts when the call's outcome came before the queue's answer: nothing failed.
      span.end(options.signal.aborted ? undefined : toAppError(error).code);
      throw error;
    }
  }

  existing(callIds: readonly string[], signal: AbortSignal): Promise<Set<string>> {
    return this.queue.existing(callIds, signal);
  }

  remove(callId: string, signal: AbortSignal): Promise<boolean> {
    return this.queue.remove(callId, signal);
  }
}
