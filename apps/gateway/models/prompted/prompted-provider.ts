// Tools for models without native tool use, around any provider. The caller cannot tell the
// difference. Mode `none` offers nothing: such a model answers in text, and a call that must be made is refused.
import { AppError } from '#libs/schemas/errors.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ModelCall, ModelProvider, ModelRequest } from '../model-provider.js';
import { WrappedProvider } from '../wrapped-provider.js';
import { readPromptedAnswer } from './read-prompted-answer.js';
import { type PromptedRequest, toPromptedRequest } from './to-prompted-request.js';

export class PromptedProvider extends WrappedProvider {
  constructor(
    inner: ModelProvider,
    private readonly mode: 'prompted' | 'none',
  ) {
    super(inner);
  }

  async *call(request: ModelRequest, call: ModelCall): AsyncGenerator<readonly ModelEvent[]> {
    const { toolChoice: choice } = request;
    if (this.mode === 'none' && (choice === 'required' || typeof choice === 'object')) {
      const message = `Models of provider '${this.name}' call no tools, so tool_choice cannot ask for a call`;
      yield [{ type: 'error', error: new AppError('invalid_value', message, { param: 'tool_choice' }) }];
      return;
    }
    const prompted = this.prompted(request);
    const events = this.inner.call(prompted.request, call);
    yield* prompted.mayCall ? readPromptedAnswer(events, prompted.offered) : events;
  }

  override countTokens(request: ModelRequest, call: ModelCall): Promise<number> {
    return this.inner.countTokens(this.prompted(request).request, call);
  }

  private prompted(request: ModelRequest): PromptedRequest {
    return toPromptedRequest(this.mode === 'none' ? { ...request, tools: [] } : request);
  }
}
