// Counts, times and logs tool calls around any ToolRunner: one line a call with the names, bytes and digest of its
// arguments; what they say only where `log.content` asks for it.
import { createHash } from 'node:crypto';
import type { Logger } from '#libs/logging/logger.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { TurnClocks } from '#libs/metrics/turn-clocks.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { contentText } from '#libs/schemas/content-block.js';
import { toAppError } from '#libs/schemas/errors.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { RunnableCall, ToolProgress, ToolRunner } from './tool-runner.js';

export interface ToolMeasuring {
  metrics: Metrics;
  clocks: TurnClocks;
  logger: Logger;
  /** `log.content` */
  logContent: boolean;
}

export class MeasuredToolRunner implements ToolRunner {
  constructor(
    private readonly runner: ToolRunner,
    private readonly measuring: ToolMeasuring,
  ) {}

  hasWorker(): boolean {
    return this.runner.hasWorker();
  }

  async run(
    call: RunnableCall,
    context: CallContext,
    onProgress: (progress: ToolProgress) => void,
  ): Promise<ToolOutcome> {
    const startedAt = performance.now();
    const leave = this.measuring.clocks.enter(context.runId);
    try {
      const outcome = await this.runner.run(call, context, onProgress);
      leave();
      this.report(call, context, { outcome, durationMs: performance.now() - startedAt });
      return outcome;
    } catch (error) {
      leave();
      this.report(call, context, { error, durationMs: performance.now() - startedAt });
      throw error;
    }
  }

  private report(call: RunnableCall, context: CallContext, end: CallEnd): void {
    const { metrics, logger } = this.measuring;
    const { outcome, error, durationMs } = end;
    const result = outcome === undefined ? toAppError(error).code : (outcome.error?.code ?? 'ok');
    const labels = labelsOf(metrics, call.tool);
    metrics.toolCalls.inc({ ...labels, outcome: result });
    if (outcome === undefined) metrics.countError(error);
    else if (outcome.error !== undefined) metrics.countToolError(outcome.error);
    // A call that never reached a worker has no time of its own.
    if (outcome?.queueWaitMs !== undefined) {
      metrics.toolDuration.observe(labels, outcome.durationMs / 1000);
      metrics.toolQueueWait.observe(outcome.queueWaitMs / 1000);
    }
    logger.info(
      {
        tool: call.tool.name,
        requestId: context.requestId,
        ...(context.runId === undefined ? {} : { runId: context.runId }),
        sessionId: context.sessionId,
        userId: context.principal,
        duration: durationMs,
        ...(error === undefined ? {} : { error }),
        metadata: { ...this.describe(call, outcome), callId: context.callId, outcome: result },
      },
      'tool call',
    );
  }

  private describe(call: RunnableCall, outcome: ToolOutcome | undefined): Record<string, unknown> {
    const text = JSON.stringify(call.arguments);
    const { logContent } = this.measuring;
    return {
      server: call.tool.server,
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

interface CallEnd {
  outcome?: ToolOutcome;
  error?: unknown;
  durationMs: number;
}

function labelsOf(metrics: Metrics, { server, tool }: CatalogTool): { server: string; tool: string } {
  const name = `${server}/${tool}`;
  return metrics.tools.label(name, true) === name ? { server, tool } : { server: 'other', tool: 'other' };
}
