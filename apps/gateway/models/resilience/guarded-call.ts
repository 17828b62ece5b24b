// Reports the result of one call to its provider's circuit breaker, once. Failures after the first piece of an answer do
// not count, because the provider did respond.
import { CircuitBreaker, type CircuitState } from '#libs/concurrency/circuit-breaker.js';
import type { Flow } from '#libs/concurrency/flow.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { ProviderConfig } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ModelCall, TakeModelEvents } from '../model-provider.js';

export interface CircuitParts {
  logger: Logger;
  /** Called with the initial state and every change. */
  onCircuit?: (provider: string, state: CircuitState) => void;
}

export function openCircuit(
  provider: string,
  { failures, cool_down_ms: coolDownMs }: ProviderConfig['circuit'],
  { logger, onCircuit }: CircuitParts,
): CircuitBreaker {
  onCircuit?.(provider, 'closed');
  return new CircuitBreaker({ failures, coolDownMs }, (state) => {
    const line = { metadata: { provider, circuit: state } };
    if (state === 'open') logger.warn(line, 'a model provider keeps failing and is not called for a while');
    else logger.info(line, 'a model provider is called again');
    onCircuit?.(provider, state);
  });
}

export const isNotAsked = (provider: string, seconds: number, lastFailure: string) =>
  new AppError(
    'model_unavailable',
    `Model provider '${provider}' failed repeatedly and will not be called for ${seconds} s. Last failure: ${lastFailure}`,
    { retryAfterSeconds: seconds },
  );

export class GuardedCall {
  /** The last batch passed on ended the message. */
  complete = false;
  /** The error that counted against the provider. */
  failure: AppError | undefined;
  private judged = false;

  constructor(
    private readonly circuit: CircuitBreaker,
    private readonly call: ModelCall,
    private readonly emit: TakeModelEvents,
  ) {}

  readonly take = (batch: readonly ModelEvent[]): Flow => {
    if (!this.judged) this.look(batch);
    this.complete = batch.at(-1)?.type === 'message_end';
    return this.emit(batch);
  };

  /** Called however the call ended. */
  end(): void {
    if (!this.judged) this.circuit.left();
  }

  private look(batch: readonly ModelEvent[]): void {
    for (const event of batch) {
      if (event.type === 'message_start' || event.type === 'usage') continue;
      this.judged = true;
      if (event.type === 'error') this.judge(event.error);
      else this.circuit.succeeded();
      return;
    }
  }

  /** Decides whether the provider is to blame. An answer that refuses only this request shows that the provider works. */
  private judge(error: AppError): void {
    const { code, upstreamStatus } = error;
    switch (code) {
      case 'model_timeout':
        // The turn's own deadline has passed, which does not blame the provider.
        return steadyNow() >= this.call.deadline ? this.circuit.left() : this.failed(error);
      case 'model_error':
      case 'model_stream_cut':
      case 'model_bad_response':
        return upstreamStatus === undefined || upstreamStatus >= 500 ? this.failed(error) : this.circuit.succeeded();
      default:
        return upstreamStatus === undefined ? this.circuit.left() : this.circuit.succeeded();
    }
  }

  private failed(error: AppError): void {
    this.failure = error;
    this.circuit.failed();
  }
}
