// Tools for models without native tool use, around any provider. The caller cannot tell the
// difference. Mode `none` offers nothing: such a model answers in text, and a call that must be made is refused.
import { AppError } from '#libs/schemas/errors.js';
import type { ModelCall, ModelProvider, ModelRequest, TakeModelEvents } from '../model-provider.js';
import { PromptedAnswer } from './read-prompted-answer.js';
import { type PromptedRequest, toPromptedRequest } from './to-prompted-request.js';

export class PromptedProvider implements ModelProvider {
  readonly name: string;

  constructor(
    private readonly inner: ModelProvider,
    private readonly mode: 'prompted' | 'none',
  ) {
    this.name = inner.name;
  }

  async call(request: ModelRequest, call: ModelCall, take: TakeModelEvents): Promise<void> {
    const { toolChoice: choice } = request;
    if (this.mode === 'none' && (choice === 'required' || typeof choice === 'object')) {
      const message = `Models of provider '${this.name}' call no tools, so tool_choice cannot ask for a call`;
      await take([{ type: 'error', error: new AppError('invalid_value', message, { param: 'tool_choice' }) }]);
      return;
    }
    const prompted = this.prompted(request);
    await this.inner.call(
      prompted.request,
      call,
      prompted.mayCall ? new PromptedAnswer(prompted.offered, take).take : take,
    );
  }

  countTokens(request: ModelRequest, call: ModelCall): Promise<number> {
    return this.inner.countTokens(this.prompted(request).request, call);
  }

  listModels(signal: AbortSignal): Promise<string[]> {
    return this.inner.listModels(signal);
  }

  close(): Promise<void> {
    return this.inner.close();
  }

  private prompted(request: ModelRequest): PromptedRequest {
    return toPromptedRequest(this.mode === 'none' ? { ...request, tools: [] } : request);
  }
}
