// A chat request that a tool call makes with its call token, as its caller. Such a chat continues no turn of the caller. If the
// caller's key does not allow the default model, a model that the key allows answers.
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { chooseModel } from '../../models/choose-model.js';
import type { ModelRouter } from '../../models/model-provider.js';
import type { TurnRequest } from '../turn-request.js';

/** @throws AppError insufficient_scope, model_forbidden */
export async function turnOfCall<Options extends { request: TurnRequest; context: RequestContext }>(
  options: Options,
  models: Pick<ModelRouter, 'list' | 'named' | 'resolve'>,
): Promise<Options> {
  const { request, context } = options;
  const { access, signal } = context;
  // A result of a tool could answer an approval that waits for the caller.
  if (request.messages.some(({ role }) => role === 'tool')) {
    throw new AppError('insufficient_scope', 'A call token is only for chats without tools');
  }
  if (models.named(request.model) !== undefined || access?.models === undefined) return options;
  const known = (await models.list(signal)).map(({ id }) => id);
  const preferred = models.resolve(undefined).candidates.map(({ provider, model }) => `${provider.name}/${model}`)[0];
  const model = chooseModel({ hints: [] }, { known, preferred: preferred ?? '' }, access);
  return model === undefined ? options : { ...options, request: { ...request, model } };
}
