// Counts, times and logs tool calls: one line a call, with names, bytes and digest of the arguments. Their content is logged
// only if `log.content` is set.
import { createHash } from 'node:crypto';
import type { Logger } from '#libs/logging/logger.js';
import { requestFields } from '#libs/logging/request-fields.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { contentText } from '#libs/schemas/content-block.js';
import { toAppError } from '#libs/schemas/errors.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { UsageAccounts } from '../../govern/usage-accounts.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { Call } from '../call.js';
import { gatewayLabel } from '../offer/tool-search.js';

export interface ToolMeasuring {
  metrics: Metrics;
  clocks: TurnClocks;
  logger: Logger;
  /** `log.content` */
  logContent: boolean;
  accounts?: Pick<UsageAccounts, 'toolCall' | 'toolCallEnded'>;
}

export class ToolCallMeasure {
  constructor(private readonly measuring: ToolMeasuring) {}

  /** Returns the function to call when the call has ended, with its outcome or the error. */
  start(call: Call): (outcome: ToolOutcome | undefined, error?: unknown) => void {
    const startedAt = performance.now();
    const tool = call.tool ?? { server: gatewayLabel, tool: call.name, name: call.name };
    this.measuring.accounts?.toolCall(call.context, tool);
    const leave = this.measuring.clocks.enter(call.context.runId);
    return (outcome, error) => {
      leave();
      // The call continues without this process.
      if (error instanceof ApprovalNeeded) return;
      this.report(call, { tool, outcome, error, durationMs: performance.now() - startedAt });
    };
  }

  private report(call: Call, end: MeasuredEnd): void {
    const { context } = call;
    const { metrics, logger } = this.measuring;
    const { tool, outcome, error, durationMs } = end;
    const result = outcome === undefined ? toAppError(error).code : (outcome.error?.code ?? 'ok');
    const labels = labelsOf(metrics, tool);
    metrics.toolCalls.inc({ ...labels, outcome: result });
    this.measuring.accounts?.toolCallEnded(context, tool, result !== 'ok' && result !== 'cancelled');
    if (outcome === undefined) metrics.countError(error);
    else if (outcome.error !== undefined) metrics.countToolError(outcome.error);
    // A call that never reached a worker has no time of its own.
    if (outcome?.queueWaitMs !== undefined) {
      metrics.toolDuration.observe(labels, outcome.durationMs / 1000, context.traceparent);
      metrics.toolQueueWait.observe({}, outcome.queueWaitMs / 1000, context.traceparent);
    }
    logger.info(
      {
        tool: tool.name,
        ...requestFields(context),
        duration: durationMs,
        ...(error === undefined ? {} : { error }),
        metadata: { server: tool.server, ...this.describe(call, outcome), callId: call.id, outcome: result },
      },
      'tool call',
    );
  }

  private describe(call: Call, outcome: ToolOutcome | undefined): Record<string, unknown> {
    const text = call.argumentsText;
    const { logContent } = this.measuring;
    return {
      arguments: {
        names: Object.keys(call.arguments),
        bytes: Buffer.byteLength(text),
        digest: createHash('sha256').update(text).digest('hex').slice(0, 16),
        ...(logContent ? { content: call.arguments } : {}),
      },
      ...(outcome === undefined
        ? {}
        : {
            queueWaitMs: outcome.queueWaitMs,
            runMs: outcome.durationMs,
            cached: outcome.cached,
            truncated: outcome.truncated,
            ...(logContent ? { result: contentText(outcome.blocks) } : {}),
          }),
    };
  }
}

type MeasuredTool = Pick<CatalogTool, 'server' | 'tool' | 'name'>;

interface MeasuredEnd {
  tool: MeasuredTool;
  outcome: ToolOutcome | undefined;
  error: unknown;
  durationMs: number;
}

function labelsOf(metrics: Metrics, { server, tool }: MeasuredTool): { server: string; tool: string } {
  const name = `${server}/${tool}`;
  return metrics.tools.label(name, true) === name ? { server, tool } : { server: 'other', tool: 'other' };
}
