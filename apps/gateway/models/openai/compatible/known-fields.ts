// The fields of a chat completions request as its server knows them: under its names, and without those that it or the model
// is known to refuse. Fields of unknown names pass.
import type { JsonObject } from '#libs/schemas/json.js';
import type { Warnings } from '../../conversation/warnings.js';
import { chatEffort, takesSampling, takesVerbosity } from '../openai-models.js';
import type { ServedModel } from './known-servers.js';

interface FieldRules {
  served: ServedModel;
  model: string;
  warnings: Warnings;
}

/** Anthropic's, which a request by `/v1/messages` may have. */
const refusedByOpenAi = ['top_k'];
/** OpenAI's fields, and others, that Mistral's API refuses. It always tells the usage of a stream. */
const refusedByMistral =
  'top_k verbosity logprobs top_logprobs logit_bias audio modalities web_search_options stream_options'.split(' ');
/** Of OpenAI's service, not of the answer. */
const hints = ['user', 'store', 'service_tier', 'prompt_cache_key', 'prompt_cache_retention', 'safety_identifier'];
/** Those that OpenAI's reasoning models refuse while they reason, with the value that each has without being asked for. */
const sampling = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 };

/** `given` is not changed. `offersTools` decides on the effort. */
export function knownFields(given: JsonObject, offersTools: boolean, rules: FieldRules): JsonObject {
  const { served, model, warnings } = rules;
  const fields = withKnownLimit(served.limit, given);
  const asked = typeof given['reasoning_effort'] === 'string' ? given['reasoning_effort'] : undefined;
  const effort = chatEffort(model, asked, offersTools);
  if (asked !== undefined && effort !== asked) warnings.otherEffort(model, asked, effort);
  if (effort === undefined) delete fields['reasoning_effort'];
  else fields['reasoning_effort'] = effort;
  const leaveOut = (name: string) => {
    warnings.notSent(model, name, fields[name]);
    delete fields[name];
  };
  if (!takesSampling(model, effort)) {
    for (const [name, value] of Object.entries(sampling)) {
      if (fields[name] === value) delete fields[name];
      else leaveOut(name);
    }
  }
  if (!served.takesVerbosity || !takesVerbosity(model)) leaveOut('verbosity');
  for (const name of served.isOpenAi ? refusedByOpenAi : served.isStrict ? refusedByMistral : []) leaveOut(name);
  return served.isStrict ? toMistralFields(fields) : fields;
}

/**
 * OpenAI's reasoning models accept only `max_completion_tokens`; of compatible servers many know only `max_tokens`, and
 * ignore or refuse the other.
 */
function withKnownLimit(name: ServedModel['limit'], fields: JsonObject): JsonObject {
  const other = name === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  if (name === undefined || fields[other] === undefined) return { ...fields };
  const { max_tokens: maxTokens, max_completion_tokens: maxCompletionTokens, ...others } = fields;
  return { ...others, [name]: maxCompletionTokens ?? maxTokens! };
}

function toMistralFields({ seed, ...fields }: JsonObject): JsonObject {
  for (const name of hints) delete fields[name];
  return seed === undefined ? fields : { random_seed: seed, ...fields };
}
