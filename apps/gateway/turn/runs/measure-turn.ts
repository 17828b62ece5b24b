// Counts each turn and writes one log line at its end. Content of the turn is never logged.
import type { LogFields, Logger } from '#libs/logging/logger.js';
import { requestFields } from '#libs/logging/request-fields.js';
import { otherLabel } from '#libs/metrics/bounded-labels.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { TurnClocks } from '#libs/metrics/turn-clocks.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { type AppError, errorTable, type ErrorCode } from '#libs/schemas/errors.js';
import type { ToolExecution, TurnEvent } from '#libs/schemas/turn-event.js';
import { turnEnd } from '#libs/tracing/spans.js';
import type { Span } from '#libs/tracing/tracing.js';
import type { UsageAccounts } from '../../govern/usage-accounts.js';
import { TurnMilestones } from './turn-milestones.js';
import type { TurnRequest } from '../turn-request.js';

export interface TurnMeasuring {
  metrics: Metrics;
  accounts?: Pick<UsageAccounts, 'turnEnded'>;
  clocks: TurnClocks;
  logger: Logger;
}

export interface MeasuredTurn {
  request: TurnRequest;
  context: RequestContext;
  runId: string;
  /** The results of the turn's calls are recorded ones, which count as no tool calls. */
  isReplay?: true;
}

interface Summary {
  outcome: 'ok' | ErrorCode;
  model: string;
  sessionId?: string;
  rounds: number;
  toolCalls: number;
  tokens?: number;
  firstTokenMs?: number;
  overheadMs: number;
  durationMs: number;
}

export class TurnMeasure {
  private readonly startedAt = performance.now();
  private readonly clock: ReturnType<TurnClocks['open']>;
  /** Set at log level debug only. */
  private readonly milestones: TurnMilestones | undefined;
  private readonly summary: Summary;
  private readonly ran = new Set<string>();

  constructor(
    private readonly turn: MeasuredTurn,
    private readonly measuring: TurnMeasuring,
    private readonly span?: Span,
  ) {
    const { request, context, runId } = turn;
    this.clock = measuring.clocks.open(runId);
    if (measuring.logger.isLevelEnabled('debug')) {
      this.milestones = new TurnMilestones(measuring.logger, idsOf(context, runId, undefined));
    }
    // A turn that is stopped, or whose reader leaves, has no `done` event and keeps this outcome.
    this.summary = {
      outcome: 'cancelled',
      model: request.model ?? 'default',
      rounds: 1,
      toolCalls: 0,
      overheadMs: 0,
      durationMs: 0,
    };
  }

  failed(error: AppError): void {
    this.summary.outcome = error.code;
    if (error.code !== 'cancelled') this.measuring.metrics.countError(error);
  }

  /** Called once, however the turn ended. */
  ended(): void {
    const { summary, clock, turn, measuring } = this;
    summary.durationMs = performance.now() - this.startedAt;
    summary.overheadMs = toMicroseconds(Math.max(0, summary.durationMs - clock.busyMs()));
    clock.close();
    count(turn, summary, measuring.metrics);
    measuring.accounts?.turnEnded(turn.context, summary.durationMs);
    log(turn, summary, measuring.logger);
    this.span?.end(summary.outcome === 'ok' ? undefined : summary.outcome);
  }

  note(event: TurnEvent): void {
    const { summary } = this;
    this.milestones?.note(event);
    switch (event.type) {
      case 'start':
        summary.model = event.model;
        if (event.sessionId !== undefined) summary.sessionId = event.sessionId;
        break;
      case 'content':
      case 'reasoning':
      case 'tool_call':
        summary.firstTokenMs ??= toMicroseconds(performance.now() - this.startedAt);
        break;
      case 'tool_progress':
        if (event.status !== 'waiting_approval') this.ran.add(event.callId);
        summary.toolCalls = this.ran.size;
        break;
      case 'tool_result':
        // A call that was refused before dispatch (unknown name, bad arguments, denied) was not counted by any runner.
        if (this.turn.isReplay !== true && !this.ran.has(event.callId) && event.result.error !== undefined) {
          this.measuring.metrics.toolCalls.inc({
            server: otherLabel,
            tool: otherLabel,
            outcome: event.result.error.code,
          });
          this.measuring.metrics.countErrorCode(event.result.error.code);
        }
        break;
      case 'done':
        summary.outcome = 'ok';
        summary.tokens = event.usage.total_tokens;
        summary.rounds = event.toolExecution?.rounds ?? 1;
        this.span?.set(turnEnd(event.finishReason, event.usage, summary.rounds));
        if (event.toolExecution !== undefined) this.noteTools(event.toolExecution);
        break;
      case 'approval_required':
      case 'sign_in_required':
      case 'error':
      case 'rewind':
        break;
    }
  }

  private noteTools({ session_id, stopped_by: by }: ToolExecution): void {
    this.summary.sessionId = session_id;
    if (by !== null) this.measuring.metrics.chatStopped.inc({ by });
  }
}

/** The log shows these figures to people. */
const toMicroseconds = (ms: number): number => Math.round(ms * 1_000) / 1_000;

function count({ request, context }: MeasuredTurn, summary: Summary, metrics: Metrics): void {
  const { dialect, stream } = request;
  const { traceparent } = context;
  const { outcome } = summary;
  const model = metrics.models.label(summary.model, outcome === 'ok');
  metrics.chatRequests.inc({ dialect, stream: String(stream), model, outcome });
  if (summary.toolCalls > 0) metrics.chatRequestsWithTools.inc();
  metrics.chatDuration.observe({}, summary.durationMs / 1000, traceparent);
  if (summary.firstTokenMs !== undefined)
    metrics.chatTimeToFirstToken.observe({}, summary.firstTokenMs / 1000, traceparent);
  if (outcome !== 'ok') return;
  metrics.chatRounds.observe(summary.rounds);
  metrics.gatewayOverhead.observe(summary.overheadMs / 1000);
}

function idsOf(context: RequestContext, runId: string, sessionId: string | undefined): LogFields {
  const { requestId, principal, traceparent } = context;
  return requestFields({ requestId, principal, traceparent, runId, sessionId });
}

function log({ request, context, runId }: MeasuredTurn, summary: Summary, logger: Logger): void {
  const { durationMs, sessionId, ...counts } = summary;
  const fields = idsOf(context, runId, sessionId);
  fields.duration = durationMs;
  fields.metadata = { dialect: request.dialect, stream: request.stream, ...counts };
  logger[summary.outcome === 'ok' ? 'info' : errorTable[summary.outcome].level](fields, 'chat');
}
