// Chooses the model for a tool server or a tool call, among those that the settings and the caller's key allow. Pure.
import { allowsModel, matchesGlob } from '#libs/access/access.js';
import type { SamplingRequest } from '#libs/waits/sampling-request.js';
import type { Access } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';

/**
 * The model for the first hint that is in a model's name, else the default model (undefined), else the first one. `known`:
 * models as callers name them; `preferred`: the default.
 * @throws AppError model_forbidden
 */
export function chooseModel(
  { hints, models }: Pick<SamplingRequest, 'hints' | 'models'>,
  { known, preferred }: { known: readonly string[]; preferred: string },
  access: Access | undefined,
): string | undefined {
  const names = [...new Set([preferred, ...known].flatMap((name) => [name, withoutProvider(name)]))];
  const allowed = names.filter(
    (name) =>
      name !== '' &&
      allowsModel(access, name) &&
      (models === undefined || models.some((glob) => matchesGlob(glob, name))),
  );
  const [first] = allowed;
  if (first === undefined) throw new AppError('model_forbidden', 'No model is allowed for this tool and key');
  for (const hint of hints.map((each) => each.toLowerCase())) {
    const found =
      allowed.find((name) => name.toLowerCase() === hint) ?? allowed.find((name) => name.toLowerCase().includes(hint));
    if (hint !== '' && found !== undefined) return found;
  }
  return first === preferred ? undefined : first;
}

const withoutProvider = (name: string) => name.slice(name.indexOf('/') + 1);
