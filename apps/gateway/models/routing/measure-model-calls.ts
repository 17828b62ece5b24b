// Counts, times and logs model calls: one line for each, never its content.
import type { AuditNotes } from '#libs/audit/audit-notes.js';
import { type CircuitState, circuitStates } from '#libs/concurrency/circuit-breaker.js';
import type { Logger } from '#libs/logging/logger.js';
import { requestFields } from '#libs/logging/request-fields.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { tokenCount } from '#libs/usage/prices.js';
import { usageDetail, type Usage } from '#libs/schemas/usage.js';
import type { UsageAccounts } from '../../govern/usage-accounts.js';
import type { ModelAttempt } from './model-attempt.js';
import type { CallMeasure, RoutedCall } from './routed-call.js';

export interface Measuring {
  metrics: Metrics;
  clocks: TurnClocks;
  logger: Logger;
  accounts?: Pick<UsageAccounts, 'modelCall'>;
  /** Audits the model calls that tool calls make as their caller. */
  notes?: Pick<AuditNotes, 'write'>;
}

/** Counts failed attempts and exports the state of each provider's circuit breaker. */
export function createModelObservers(metrics: Metrics) {
  return {
    onAttempt: ({ provider, error: { code }, next }: ModelAttempt) => {
      metrics.modelAttemptsFailed.inc({ provider, code, next });
      countRefusal(metrics, code);
    },
    onCircuit: (provider: string, state: CircuitState) => {
      for (const each of circuitStates) metrics.modelCircuit.set({ provider, state: each }, each === state ? 1 : 0);
    },
  };
}

export class ModelCallMeasure implements CallMeasure {
  constructor(private readonly measuring: Measuring) {}

  /** A model call of this turn starts. The returned function must be called with its last event. */
  enter(runId: string | undefined): () => void {
    return this.measuring.clocks.enter(runId);
  }

  report(routed: RoutedCall): void {
    const { provider, model, outcome: reported, usage, call, startedAt } = routed;
    const { metrics, logger, accounts } = this.measuring;
    accounts?.modelCall(routed);
    const outcome = reported !== 'ok' && call.signal.aborted ? 'cancelled' : reported;
    const durationMs = performance.now() - startedAt;
    const labels = { provider, model: metrics.models.label(model, outcome === 'ok') };
    metrics.modelCalls.inc({ provider, model: labels.model, outcome });
    countRefusal(metrics, outcome);
    metrics.modelCallDuration.observe(labels, durationMs / 1000, call.traceparent);
    const tokens = usage === undefined ? undefined : tokensOf(usage);
    for (const kind in tokens) {
      const count = tokens[kind as keyof Tokens];
      if (count > 0) metrics.tokens.inc({ provider, model: labels.model, kind }, count);
    }
    const { requestId, runId, traceparent, paidBy } = call;
    const callId = paidBy?.parentCall;
    const level = outcome === 'ok' || outcome === 'cancelled' ? 'debug' : 'warn';
    if (logger.isLevelEnabled(level)) {
      const fields = requestFields({ requestId, runId, traceparent, principal: paidBy?.principal });
      fields.duration = durationMs;
      fields.metadata = { provider, model, outcome, usage: tokens, callId };
      logger[level](fields, 'model call');
    }
    if (callId !== undefined) this.note(routed, callId, outcome);
  }

  /** A tool call has audit rows of the model calls that it made as its caller. */
  private note(
    { provider, model, call: { paidBy, requestId, traceparent } }: RoutedCall,
    callId: string,
    outcome: string,
  ) {
    const { notes, logger } = this.measuring;
    const { principal = '', keyId } = paidBy ?? {};
    const success = outcome === 'ok';
    const about = { callId, principal, keyId, requestId, traceparent, name: `${provider}/${model}` };
    const state = success ? 'completed' : outcome === 'cancelled' ? 'cancelled' : 'failed';
    const note = { kind: 'model_call' as const, state, success, ...(success ? {} : { errorCode: outcome }), ...about };
    notes?.write(note).catch((error: unknown) => logger.warn({ error }, 'a model call could not be audited'));
  }
}

/** Counts refusals by a provider's `max_concurrency`, also if the next candidate answers. */
function countRefusal(metrics: Metrics, code: string): void {
  if (code === 'concurrency_exceeded') metrics.rateLimited.inc({ limit: 'model_concurrency' });
}

interface Tokens {
  prompt: number;
  completion: number;
  cached: number;
  reasoning: number;
}

/** `cached` is part of `prompt`, and `reasoning` part of `completion`. */
function tokensOf(usage: Usage): Tokens {
  return {
    prompt: tokenCount(usage.prompt_tokens),
    completion: tokenCount(usage.completion_tokens),
    cached: tokenCount(usageDetail(usage, 'prompt_tokens_details', 'cached_tokens')),
    reasoning: tokenCount(usageDetail(usage, 'completion_tokens_details', 'reasoning_tokens')),
  };
}
