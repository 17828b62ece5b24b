// The span of a tool call in the gateway, around everything that may answer it: the cache, the queue, the worker.
import { toAppError } from '#libs/schemas/errors.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { toolEnd, toolSpan } from '#libs/tracing/spans.js';
import type { Tracing } from '#libs/tracing/tracing.js';
import { ApprovalNeeded } from '../approvals/approval-needed.js';
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
