// A circuit breaker around a provider: while it is open the caller, or the next candidate, is told at once. What happens
// after the first piece of an answer does not count: the provider was there.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { watchItems } from '#libs/concurrency/watch-items.js';
import type { ProviderConfig } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import { CircuitBreaker, type CircuitPass, type CircuitState } from './circuit-breaker.js';
import type { ModelCall, ModelProvider, ModelRequest } from './model-provider.js';
import { WrappedProvider } from './wrapped-provider.js';

export interface CircuitParts {
  logger: Logger;
  /** Told of every change, and of the state in the beginning. */
  onCircuit?: (provider: string, state: CircuitState) => void;
}

export function guardProvider(
  provider: ModelProvider,
  settings: ProviderConfig['circuit'],
  { logger, onCircuit }: CircuitParts,
): ModelProvider {
  const { failures, cool_down_ms: coolDownMs } = settings;
  const onChange = (state: CircuitState) => {
    const line = { metadata: { provider: provider.name, circuit: state } };
    if (state === 'open') logger.warn(line, 'a model provider keeps failing and is not asked for a while');
    else logger.info(line, 'a model provider is asked again');
    onCircuit?.(provider.name, state);
  };
  onCircuit?.(provider.name, 'closed');
  return new GuardedProvider(provider, new CircuitBreaker({ failures, coolDownMs }, onChange));
}

/** Counting tokens is not guarded: it says nothing of what answers. */
class GuardedProvider extends WrappedProvider {
  constructor(
    inner: ModelProvider,
    private readonly circuit: CircuitBreaker,
  ) {
    super(inner);
  }

  call(request: ModelRequest, call: ModelCall): AsyncIterable<readonly ModelEvent[]> {
    const pass = this.circuit.enter();
    if (typeof pass === 'number') return this.refuse(pass);
    return watchItems(this.inner.call(request, call), {
      note(batch) {
        for (const event of batch) {
          if (event.type === 'error') judge(event.error, call, pass);
          else if (event.type !== 'message_start' && event.type !== 'usage') pass.succeeded();
        }
      },
      failed: (error) => judge(toAppError(error), call, pass),
      ended: () => pass.left(),
    });
  }

  private async *refuse(seconds: number): AsyncGenerator<readonly ModelEvent[]> {
    const message = `Model provider '${this.name}' failed again and again and is not asked for ${seconds} s`;
    yield [{ type: 'error', error: new AppError('model_unavailable', message, { retryAfterSeconds: seconds }) }];
  }
}

/** What the provider is to blame for; an answer that refuses this one request shows that it is there. */
function judge(error: AppError, call: ModelCall, pass: CircuitPass): void {
  const { code, upstreamStatus } = error;
  switch (code) {
    case 'model_timeout':
      // The turn's own time was up, however little of it this call was given.
      if (steadyNow() >= call.deadline) return pass.left();
      return pass.failed();
    case 'model_error':
    case 'model_stream_cut':
    case 'model_bad_response':
      return upstreamStatus === undefined || upstreamStatus >= 500 ? pass.failed() : pass.succeeded();
    default:
      return upstreamStatus === undefined ? pass.left() : pass.succeeded();
  }
}
