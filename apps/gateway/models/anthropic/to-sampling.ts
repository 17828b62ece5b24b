// Translates OpenAI's sampling parameters and label to Anthropic's. Parameters that the API lacks or a model refuses are left
// out or brought into its range, with a warning.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ModelRequest } from '../model-provider.js';
import { readStops } from '../conversation/read-response-format.js';
import type { Warnings } from '../conversation/warnings.js';
import { claudeTakesSampling } from './claude-models.js';

/** `thinks`: models that think refuse these parameters. */
export function toSampling(request: ModelRequest, thinks: boolean, warnings: Warnings): JsonObject {
  const { model, parameters, unknown } = request;
  const stops = readStops(parameters, model, warnings);
  const sent: JsonObject = stops.length > 0 ? { stop_sequences: stops } : {};
  const given = { temperature: parameters['temperature'], top_p: parameters['top_p'], top_k: unknown['top_k'] };
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'number') continue;
    // 1 is the default of the first two.
    if (thinks || !claudeTakesSampling(model)) {
      if (value !== 1 || name === 'top_k') warnings.leftOut(thinks ? `${model}, while it thinks,` : model, name);
    } else if (name === 'temperature' && value > 1) {
      warnings.add(`${model} accepts temperatures up to 1`, name);
      sent[name] = 1;
    } else if (name === 'top_p' && sent['temperature'] !== undefined) {
      warnings.add(`${model} accepts temperature or top_p, not both, so top_p was left out`, name);
    } else sent[name] = value;
  }
  return sent;
}

export function warnOfOthers({ model, parameters }: ModelRequest, warnings: Warnings): void {
  for (const name of ['presence_penalty', 'frequency_penalty', 'seed', 'logprobs', 'logit_bias']) {
    warnings.notSent(model, name, parameters[name]);
  }
}

const longestUser = 256;

export function labels({ model, parameters: { user } }: ModelRequest, warnings: Warnings): JsonObject {
  if (typeof user !== 'string' || user === '') return {};
  if (user.length <= longestUser) return { metadata: { user_id: user } };
  warnings.add(`${model} accepts a user of at most ${longestUser} characters, so it was left out`, 'user');
  return {};
}
