// Refuses a model that the caller's key does not allow. Checks the requested name, or the one of the default model.
import { allowsModel } from '#libs/access/access.js';
import type { Access } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { ModelRouter } from './model-provider.js';

/** @throws AppError model_forbidden, model_not_found */
export function requireModel(
  requested: string | undefined,
  access: Access | undefined,
  models: Pick<ModelRouter, 'named' | 'resolve'>,
): void {
  if (access?.models === undefined) return;
  const name = askedModel(requested, models);
  if (allowsModel(access, name)) return;
  throw new AppError('model_forbidden', `This key may not use the model '${name.slice(0, 256)}'`, { param: 'model' });
}

/** The requested name, or the one of the default model. @throws AppError model_not_found if there is no default */
const askedModel = (requested: string | undefined, models: Pick<ModelRouter, 'named' | 'resolve'>): string =>
  models.named(requested) ?? models.resolve(undefined).candidates.map(nameOf)[0] ?? '';

/** The same name. Undefined if there is no such model, which the turn itself reports. */
export function knownModel(requested: string | undefined, models: Pick<ModelRouter, 'named' | 'resolve'>) {
  try {
    return askedModel(requested, models);
  } catch {
    return undefined;
  }
}

const nameOf = ({ provider, model }: { provider: { name: string }; model: string }) => `${provider.name}/${model}`;
