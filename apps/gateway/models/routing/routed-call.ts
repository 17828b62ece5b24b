// One model call through the candidates of a route. Holds back `message_start` and `usage` so that another candidate can
// still be tried, and records the outcome.
import type { Flow } from '#libs/concurrency/flow.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { Usage } from '#libs/schemas/usage.js';
import { tracing } from '#libs/tracing/tracing.js';
import { TracedModelCall } from './traced-model-call.js';
import type { ModelCall, ModelProvider, ModelRequest, ModelRoute, RoutedModelEvent } from '../model-provider.js';

export class RoutedCall {
  provider: string;
  model: string;
  outcome = 'cancelled';
  /** What the caller got instead of an answer. */
  error: AppError | undefined;
  usage: Usage | undefined;
  /** What candidates counted that another replaced. */
  readonly replaced: { provider: string; model: string; usage: Usage }[] = [];
  readonly startedAt = performance.now();
  /** The error of a candidate that the next one replaces. */
  private failed: AppError | undefined;
  private mayMoveOn = false;
  private traced: TracedModelCall | undefined;
  private held: ModelEvent[] = [];
  private sent = false;
  private over = false;

  constructor(
    { candidates: [first] }: ModelRoute,
    readonly call: ModelCall,
    private readonly forward: (batch: readonly RoutedModelEvent[]) => Flow,
    /** Called with the last event, without waiting for the flow of its receiver. */
    private readonly onLast: () => void,
  ) {
    this.provider = first?.provider.name ?? 'none';
    this.model = first?.model ?? 'none';
  }

  /**
   * Returns undefined if this candidate answered, else the error for which the next one is tried.
   * @param noModel why there is no model to ask for, and the candidate is not called
   */
  async ask(
    provider: ModelProvider,
    request: ModelRequest,
    mayMoveOn: boolean,
    noModel?: AppError,
  ): Promise<AppError | undefined> {
    this.provider = provider.name;
    this.model = request.model;
    this.mayMoveOn = mayMoveOn;
    this.failed = undefined;
    this.over = false;
    this.held = [];
    const { call } = this;
    this.traced = tracing && new TracedModelCall(tracing, { provider: provider.name, request, call });
    try {
      if (noModel !== undefined) throw noModel;
      await provider.call(request, this.traced?.call ?? call, this.take);
      if (!this.over)
        throw new AppError('model_stream_cut', `Model provider '${provider.name}' stopped without an end`);
    } catch (error) {
      await this.take([{ type: 'error', error: toAppError(error) }]);
    } finally {
      // If nobody wanted the rest.
      this.traced?.end('cancelled');
    }
    return this.failed;
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
      if (first.type === 'error' && this.movesOn(first.error)) {
        this.keepUsage([...this.held, ...batch]);
        return 'enough';
      }
      this.sent = true;
      events = [{ type: 'routed', provider: this.provider, upstreamModel: this.model }, ...this.held, ...batch];
    }
    for (const event of events) this.note(event);
    const flow = this.forward(events);
    if (flow === 'enough') this.over = true;
    return flow instanceof Promise ? flow.then(this.noteFlow) : flow;
  };

  private readonly noteFlow = (flow: 'enough' | undefined): 'enough' | undefined => {
    if (flow === 'enough') this.over = true;
    return flow;
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
    this.onLast();
  }
}
