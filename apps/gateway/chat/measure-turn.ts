// A tap on the events of one turn: passes each on untouched and, when the turn has ended in whatever way, counts it.
import { OTHER } from '#libs/metrics/bounded-labels.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { toAppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { Usage } from '#libs/schemas/usage.js';

export interface TurnMeasuring {
  metrics: Metrics;
  clocks: TurnClocks;
  requestId: string;
  dialect: 'openai' | 'events';
  stream: boolean;
  /** As requested; a turn that starts says better. */
  model?: string;
  /** `performance.now()` when the request was received; absent: now. */
  startedAt?: number;
  /** Called once with what the request's log line says of the turn. */
  onEnd?: (summary: TurnSummary) => void;
}

export interface TurnSummary {
  outcome: string;
  model?: string;
  runId?: string;
  sessionId?: string;
  rounds: number;
  toolCalls: number;
  usage?: Usage;
  durationMs: number;
  timeToFirstTokenMs?: number;
  overheadMs?: number;
}

export async function* measureTurn(
  events: AsyncIterable<TurnEvent>,
  measuring: TurnMeasuring,
): AsyncGenerator<TurnEvent> {
  const startedAt = measuring.startedAt ?? performance.now();
  const clock = measuring.clocks.open(measuring.requestId);
  const summary: TurnSummary = { outcome: 'cancelled', rounds: 1, toolCalls: 0, durationMs: 0 };
  if (measuring.model !== undefined) summary.model = measuring.model;
  const ran = new Set<string>();
  try {
    for await (const event of events) {
      note(event);
      yield event;
    }
  } catch (error) {
    const { code } = toAppError(error);
    summary.outcome = code;
    if (code !== 'cancelled') measuring.metrics.countError(error);
    throw error;
  } finally {
    summary.durationMs = performance.now() - startedAt;
    if (clock !== undefined) {
      summary.overheadMs = Math.max(0, summary.durationMs - clock.busyMs());
      clock.close();
    }
    report(measuring, summary);
  }

  function note(event: TurnEvent): void {
    switch (event.type) {
      case 'start':
        summary.model = event.model;
        summary.runId = event.runId;
        if (event.sessionId !== undefined) summary.sessionId = event.sessionId;
        break;
      case 'content':
      case 'reasoning':
      case 'tool_call':
        summary.timeToFirstTokenMs ??= performance.now() - startedAt;
        break;
      case 'tool_progress':
        ran.add(event.callId);
        summary.toolCalls = ran.size;
        break;
      case 'tool_result':
        // Refused before it was dispatched (unknown name, bad arguments, denied): no runner has counted it.
        if (!ran.has(event.callId) && event.result.error !== undefined) countRefused(event.result.error.code);
        break;
      case 'done':
        summary.outcome = 'ok';
        summary.usage = event.usage;
        summary.rounds = event.toolExecution?.rounds ?? 1;
        if (event.toolExecution !== undefined) summary.sessionId = event.toolExecution.session_id;
        break;
      case 'approval_required':
      case 'error':
        break;
    }
  }

  function countRefused(code: Parameters<Metrics['countErrorCode']>[0]): void {
    measuring.metrics.toolCalls.inc({ server: OTHER, tool: OTHER, outcome: code });
    measuring.metrics.countErrorCode(code);
  }
}

function report({ metrics, dialect, stream, onEnd }: TurnMeasuring, summary: TurnSummary): void {
  const { outcome } = summary;
  const model = metrics.models.label(summary.model ?? OTHER, outcome === 'ok');
  metrics.chatRequests.inc({ dialect, stream: String(stream), model, outcome });
  if (summary.toolCalls > 0) metrics.chatRequestsWithTools.inc();
  metrics.chatDuration.observe(summary.durationMs / 1000);
  if (summary.timeToFirstTokenMs !== undefined) metrics.chatTimeToFirstToken.observe(summary.timeToFirstTokenMs / 1000);
  if (outcome === 'ok') {
    metrics.chatRounds.observe(summary.rounds);
    if (summary.overheadMs !== undefined) metrics.gatewayOverhead.observe(summary.overheadMs / 1000);
  }
  onEnd?.(summary);
}
