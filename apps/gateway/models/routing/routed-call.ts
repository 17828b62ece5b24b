// One model call through the candidates of a route. Holds back `message_start` and `usage` so that another candidate can
// still be tried, and records the outcome.
import type { Flow } from '#libs/concurrency/flow.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { Usage } from '#libs/schemas/usage.js';
import { tracing } from '#libs/tracing/tracing.js';
import type { AttemptObserver, EndedCandidate } from './model-attempt.js';
import { TracedModelCall } from './traced-model-call.js';
import type { ModelCall, ModelProvider, ModelRequest, ModelRoute, RoutedModelEvent } from '../model-provider.js';

export interface CallMeasure {
  /** A model call of this turn starts. The returned function is called with its last event. */
  enter(runId: string | undefined): () => void;
  report(routed: RoutedCall): void;
}

export interface RoutedCallParts {
  /** The default model of a provider that was named without one, or why none is known. */
  firstModel(provider: ModelProvider, call: ModelCall): Promise<[model: string, noModel?: AppError]>;
  onEnd(ended: EndedCandidate): void;
  /** The next candidate takes the place of one that failed; both as the route names them. */
  onFallback(from: string, to: string, error: AppError): void;
  onAttempt: AttemptObserver;
}

/** A candidate as the configuration names it: `provider/model`, or `provider` for its first model. */
export const nameOfCandidate = ({ provider: { name }, model }: ModelRoute['candidates'][number]): string =>
  model === '' || model === name ? name : `${name}/${model}`;

export class RoutedCall {
  provider: string;
  model: string;
  outcome = 'cancelled';
  /** The error that the caller got instead of an answer. */
  error: AppError | undefined;
  usage: Usage | undefined;
  /** The usage of candidates that another replaced. */
  readonly replaced: { provider: string; model: string; usage: Usage }[] = [];
  readonly startedAt = performance.now();
  /** The error of a candidate that the next one replaces. */
  private failed: AppError | undefined;
  private mayMoveOn = false;
  private traced: TracedModelCall | undefined;
  private held: ModelEvent[] = [];
  private begunAt = this.startedAt;
  private firstPartMs: number | undefined;
  private sent = false;
  private over = false;
  private leave: (() => void) | undefined;

  constructor(
    private readonly parts: RoutedCallParts,
    private readonly candidates: ModelRoute['candidates'],
    readonly call: ModelCall,
    private readonly forward: (batch: readonly RoutedModelEvent[]) => Flow,
  ) {
    this.provider = candidates[0]?.provider.name ?? 'none';
    this.model = candidates[0]?.model ?? 'none';
  }

  /** @param measure notified of the last event without waiting for the flow of its receiver, and of the end */
  async run(request: Omit<ModelRequest, 'model'>, measure?: CallMeasure): Promise<void> {
    const { call, candidates, parts } = this;
    this.leave = measure?.enter(call.runId);
    try {
      for (let position = 0; position < candidates.length; position += 1) {
        const { provider, model: named } = candidates[position]!;
        const [model, noModel] = named === '' ? await parts.firstModel(provider, call) : [named];
        this.begin(provider.name, model, position < candidates.length - 1 && steadyNow() < call.deadline);
        const asked = { ...request, model };
        this.traced = tracing && new TracedModelCall(tracing, { provider: provider.name, request: asked, call });
        try {
          if (noModel !== undefined) throw noModel;
          await provider.call(asked, this.traced?.call ?? call, this.take);
          if (!this.over)
            throw new AppError('model_stream_cut', `Model provider '${provider.name}' stopped without an end`);
        } catch (error) {
          await this.take([{ type: 'error', error: toAppError(error) }]);
        } finally {
          // Nobody wanted the rest.
          this.traced?.end('cancelled');
        }
        const { failed: error } = this;
        parts.onEnd(this.endedCandidate(request.stream));
        if (error === undefined) return;
        const { requestId } = call;
        const attempt = position + 1;
        parts.onFallback(nameOfCandidate(candidates[position]!), nameOfCandidate(candidates[attempt]!), error);
        parts.onAttempt({ provider: provider.name, model, requestId, attempt, error, next: 'fallback', waitMs: 0 });
      }
    } finally {
      this.leave?.();
      measure?.report(this);
    }
  }

  private begin(provider: string, model: string, mayMoveOn: boolean): void {
    this.provider = provider;
    this.model = model;
    this.mayMoveOn = mayMoveOn;
    this.failed = undefined;
    this.over = false;
    this.held = [];
    this.begunAt = performance.now();
    this.firstPartMs = undefined;
  }

  private endedCandidate(isStreamed: boolean): EndedCandidate {
    const { provider, model, outcome, call, failed, firstPartMs } = this;
    const error = failed ?? this.error;
    const isOver = failed !== undefined || outcome === 'ok';
    const isCancelled = !isOver && (error === undefined || error.code === 'cancelled' || call.signal.aborted);
    const tookMs = performance.now() - this.begunAt;
    return { provider, model, error, isCancelled, tookMs, firstPartMs: isStreamed ? firstPartMs : undefined };
  }

  private readonly take = (batch: readonly ModelEvent[]): Flow => {
    let events: readonly RoutedModelEvent[] = batch;
    this.traced?.note(batch);
    if (!this.sent) {
      const first = batch.find((event) => event.type !== 'message_start' && event.type !== 'usage');
      if (first === undefined) {
        this.held.push(...batch);
        return undefined;
      }
      if (first.type !== 'error') this.firstPartMs = performance.now() - this.begunAt;
      else if (this.movesOn(first.error)) {
        this.keepUsage([...this.held, ...batch]);
        return 'enough';
      }
      this.sent = true;
      events = [{ type: 'routed', provider: this.provider, upstreamModel: this.model }, ...this.held, ...batch];
    }
    for (const event of events) this.note(event);
    const flow = this.forward(events);
    if (flow === 'enough') this.over = true;
    if (!(flow instanceof Promise)) return flow;
    return flow.then((said) => {
      if (said === 'enough') this.over = true;
      return said;
    });
  };

  private keepUsage(events: readonly ModelEvent[]): void {
    const { provider, model } = this;
    const last = events.findLast((event) => event.type === 'usage');
    if (last !== undefined) this.replaced.push({ provider, model, usage: last.usage });
  }

  private movesOn(error: AppError): boolean {
    if (!this.mayMoveOn || error.code === 'cancelled' || this.call.signal.aborted) return false;
    this.failed = error;
    this.over = true;
    return true;
  }

  private note(event: RoutedModelEvent): void {
    switch (event.type) {
      case 'usage':
        this.usage = event.usage;
        break;
      case 'message_end':
        this.outcome = 'ok';
        this.end();
        break;
      case 'error':
        this.outcome = event.error.code;
        this.error = event.error;
        this.end();
        break;
      case 'routed':
      case 'message_start':
      case 'text_delta':
      case 'reasoning_delta':
      case 'tool_call_start':
      case 'tool_call_delta':
      case 'tool_call_end':
        break;
    }
  }

  private end(): void {
    this.over = true;
    this.leave?.();
  }
}
