// A provider around another one: what it does not change is the inner one's.
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ModelCall, ModelProvider, ModelRequest } from './model-provider.js';

export abstract class WrappedProvider implements ModelProvider {
  readonly name: string;

  constructor(protected readonly inner: ModelProvider) {
    this.name = inner.name;
  }

  abstract call(request: ModelRequest, call: ModelCall): AsyncIterable<readonly ModelEvent[]>;

  countTokens(request: ModelRequest, call: ModelCall): Promise<number> {
    return this.inner.countTokens(request, call);
  }

  listModels(signal: AbortSignal): Promise<string[]> {
    return this.inner.listModels(signal);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
