// The spans of a tool call in the gateway: around everything that may answer it (cache, queue, worker), and around the adding
// of its job.
import type { AddOptions } from '#libs/backing/job-queue.js';
import { toAppError } from '#libs/schemas/errors.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { sendSpan, toolEnd, toolSpan } from '#libs/tracing/spans.js';
import type { Tracing } from '#libs/tracing/tracing.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { DispatchQueue } from './dispatch-services.js';
import type { ServerCall } from './server-call.js';

export async function traceToolCall(
  tracing: Tracing,
  call: ServerCall,
  run: () => Promise<ToolOutcome>,
): Promise<ToolOutcome> {
  const { tool, context } = call;
  const told = { name: tool.name, server: tool.server, callId: context.callId };
  const span = tracing.start(toolSpan(told), context.traceparent);
  call.trace(span.traceparent);
  try {
    const outcome = await run();
    span.set(toolEnd(outcome.state, outcome.cached));
    span.end(outcome.error?.code);
    return outcome;
  } catch (error) {
    // It waits for a person, and goes on when its caller comes back.
    if (error instanceof ApprovalNeeded) span.set(toolEnd('waiting_approval', undefined));
    span.end(error instanceof ApprovalNeeded ? undefined : toAppError(error).code);
    throw error;
  }
}

/** The worker's span is a child of the one for the adding. */
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
      // A call whose outcome came before the queue's answer waits for that no longer: nothing failed.
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
