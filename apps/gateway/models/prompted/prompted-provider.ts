// Adds tool use by prompt to a provider whose models lack it. Callers see no difference. In mode `none`, no tools are
// offered, and a `tool_choice` that requires a call is refused.
import { AppError } from '#libs/schemas/errors.js';
import { formAskedInWords } from '../conversation/read-response-format.js';
import { Warnings } from '../conversation/warnings.js';
import type { ModelCall, ModelProvider, ModelRequest, TakeModelEvents } from '../model-provider.js';
import { PromptedAnswer } from './read-prompted-answer.js';
import { type PromptedRequest, toPromptedRequest } from './to-prompted-request.js';

function withWarning(model: string, take: TakeModelEvents): TakeModelEvents {
  const warnings = new Warnings();
  warnings.add(formAskedInWords(model), 'response_format');
  return warnings.addTo(take);
}

export class PromptedProvider implements ModelProvider {
  readonly name: string;

  constructor(
    private readonly inner: ModelProvider,
    private readonly mode: 'prompted' | 'none',
    private readonly takesPictures: (model: string) => boolean = () => true,
  ) {
    this.name = inner.name;
  }

  async call(request: ModelRequest, call: ModelCall, take: TakeModelEvents): Promise<void> {
    const { toolChoice: choice } = request;
    if (this.mode === 'none' && (choice === 'required' || typeof choice === 'object')) {
      const message = `Models of provider '${this.name}' do not call tools, so tool_choice cannot require a call`;
      await take([{ type: 'error', error: new AppError('invalid_value', message, { param: 'tool_choice' }) }]);
      return;
    }
    const prompted = this.prompted(request);
    const withWarnings = prompted.formInWords === true ? withWarning(request.model, take) : take;
    await this.inner.call(
      prompted.request,
      call,
      prompted.mayCall ? new PromptedAnswer(prompted.offered, withWarnings).take : withWarnings,
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
    const takesPictures = this.takesPictures(request.model);
    return toPromptedRequest(this.mode === 'none' ? { ...request, tools: [] } : request, takesPictures);
  }
}
