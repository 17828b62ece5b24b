// Counts, times and logs model calls around any ModelRouter: one line a call, never its content.
import { watchItems } from '#libs/concurrency/watch-items.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Metrics } from '#libs/metrics/metrics.js';
import type { TurnClocks } from '#libs/metrics/turn-clocks.js';
import { toAppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import type { Usage } from '#libs/schemas/usage.js';
import { type CircuitState, circuitStates } from './circuit-breaker.js';
import type { ModelAttempt } from './model-attempt.js';
import type { ModelCall, ModelRequest, ModelRoute, ModelRouter, RoutedModelEvent } from './model-provider.js';

export interface Measuring {
  metrics: Metrics;
  clocks: TurnClocks;
  logger: Logger;
}

/** Counts failed tries and shows the state of each provider's circuit. */
export function createModelObservers(metrics: Metrics) {
  return {
    onAttempt: ({ provider, error: { code }, next }: ModelAttempt) => {
      if (next === 'none') return metrics.modelRetriesRefused.inc({ provider });
      metrics.modelAttemptsFailed.inc({ provider, code, next });
      countRefusal(metrics, code);
    },
    onCircuit: (provider: string, state: CircuitState) => {
      for (const each of circuitStates) metrics.modelCircuit.set({ provider, state: each }, each === state ? 1 : 0);
    },
  };
}

/** What became known of one call while it ran. */
interface Seen {
  provider: string;
  model: string;
  outcome: string;
  usage?: Usage;
}

export class MeasuredModelRouter implements ModelRouter {
  constructor(
    private readonly router: ModelRouter,
    private readonly measuring: Measuring,
  ) {}

  resolve(requested: string | undefined): ModelRoute {
    return this.router.resolve(requested);
  }

  list(signal: AbortSignal): Promise<{ id: string; owned_by: string }[]> {
    return this.router.list(signal);
  }

  /** No model call: nothing of it is measured but its failed tries. */
  countTokens(route: ModelRoute, request: Omit<ModelRequest, 'model'>, call: ModelCall): Promise<number> {
    return this.router.countTokens(route, request, call);
  }

  close(): Promise<void> {
    return this.router.close();
  }

  call(
    route: ModelRoute,
    request: Omit<ModelRequest, 'model'>,
    call: ModelCall,
  ): AsyncIterable<readonly RoutedModelEvent[]> {
    const [first] = route.candidates;
    const seen: Seen = {
      provider: first?.provider.name ?? 'none',
      model: first?.model ?? 'none',
      outcome: 'cancelled',
    };
    const startedAt = performance.now();
    const leave = this.measuring.clocks.enter(call.runId);
    return watchItems(this.router.call(route, request, call), {
      note(batch) {
        for (const event of batch) {
          note(seen, event);
          // The call is over with its last event, however late the reader comes back.
          if (event.type === 'message_end' || event.type === 'error') leave();
        }
      },
      failed: (error) => {
        seen.outcome = toAppError(error).code;
      },
      ended: () => {
        leave();
        if (seen.outcome !== 'ok' && call.signal.aborted) seen.outcome = 'cancelled';
        this.report(seen, call, performance.now() - startedAt);
      },
    });
  }

  private report({ provider, model, outcome, usage }: Seen, call: ModelCall, durationMs: number): void {
    const { metrics, logger } = this.measuring;
    const labels = { provider, model: metrics.models.label(model, outcome === 'ok') };
    metrics.modelCalls.inc({ provider, model: labels.model, outcome });
    countRefusal(metrics, outcome);
    metrics.modelCallDuration.observe(labels, durationMs / 1000);
    const tokens = usage === undefined ? {} : tokensOf(usage);
    for (const kind in tokens) {
      const count = tokens[kind as keyof Tokens] ?? 0;
      if (count > 0) metrics.tokens.inc({ provider, model: labels.model, kind }, count);
    }
    const failed = outcome !== 'ok' && outcome !== 'cancelled';
    const metadata = { provider, model, outcome, ...(usage === undefined ? {} : { usage: tokens }) };
    const { requestId, runId } = call;
    const ids = runId === undefined ? { requestId } : { requestId, runId };
    logger[failed ? 'warn' : 'info']({ ...ids, duration: durationMs, metadata }, 'model call');
  }
}

/** `max_concurrency` of a provider, whether the caller saw it or the next candidate was asked. */
function countRefusal(metrics: Metrics, code: string): void {
  if (code === 'concurrency_exceeded') metrics.rateLimited.inc({ limit: 'model_concurrency' });
}

function note(seen: Seen, event: RoutedModelEvent): void {
  switch (event.type) {
    case 'routed':
      seen.provider = event.provider;
      seen.model = event.upstreamModel;
      break;
    case 'usage':
      seen.usage = event.usage;
      break;
    case 'message_end':
      seen.outcome = 'ok';
      break;
    case 'error':
      seen.outcome = event.error.code;
      break;
    case 'message_start':
    case 'text_delta':
    case 'reasoning_delta':
    case 'tool_call_start':
    case 'tool_call_delta':
    case 'tool_call_end':
      break;
  }
}

interface Tokens {
  prompt?: number;
  completion?: number;
  cached?: number;
  reasoning?: number;
}

/** `cached` is part of `prompt`, `reasoning` part of `completion`. */
function tokensOf(usage: Usage): Tokens {
  return {
    prompt: tokenCount(usage.prompt_tokens),
    completion: tokenCount(usage.completion_tokens),
    cached: detail(usage, 'prompt_tokens_details', 'cached_tokens'),
    reasoning: detail(usage, 'completion_tokens_details', 'reasoning_tokens'),
  };
}

function detail(usage: Usage, member: string, name: string): number {
  const details = usage[member];
  return isJsonObject(details) ? tokenCount(details[name]) : 0;
}

/** A counter only grows: what a provider says may be anything. */
function tokenCount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}
