// The fields of a chat completions request under its server's names, without those that the server or the model is known to
// refuse. Unknown fields pass.
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { ModelRequest } from '../../model-provider.js';
import type { Warnings } from '../../conversation/warnings.js';
import { chatEffort, openAiTakesSampling, takesVerbosity } from '../openai-models.js';
import type { ServedModel } from './known-servers.js';

type Given = Pick<ModelRequest, 'unknown' | 'parameters' | 'tools'>;
type Fields = Record<string, Json | undefined>;

interface FieldRules {
  served: ServedModel;
  model: string;
  warnings: Warnings;
}

/** Anthropic's field, which a request by `/v1/messages` may have. */
const refusedByOpenAi = ['top_k'];
/** OpenAI's fields, and others, that Mistral's API refuses; that API always sends the usage of a stream. */
const refusedByMistral =
  'top_k verbosity logprobs top_logprobs logit_bias audio modalities web_search_options stream_options'.split(' ');
/** Fields that do not change the answer, only OpenAI's service. */
const hints = ['user', 'store', 'service_tier', 'prompt_cache_key', 'prompt_cache_retention', 'safety_identifier'];
/** Fields that OpenAI's reasoning models refuse while they reason, with their defaults. */
const sampling = { temperature: 1, top_p: 1, presence_penalty: 0, frequency_penalty: 0 };

/** A new object, in which fields that are left out are undefined. */
export function knownFields({ unknown, parameters, tools }: Given, rules: FieldRules): Fields {
  const { served, model, warnings } = rules;
  const fields: Fields = withKnownLimit(served.limit, { ...unknown, ...parameters });
  const given = fields['reasoning_effort'];
  const asked = typeof given === 'string' ? given : undefined;
  const effort = chatEffort(model, asked, tools.length > 0);
  if (asked !== undefined && effort !== asked) warnings.otherEffort(model, asked, effort);
  if (effort !== given) fields['reasoning_effort'] = effort;
  const leaveOut = (name: string) => {
    if (fields[name] === undefined) return;
    warnings.notSent(model, name, fields[name]);
    fields[name] = undefined;
  };
  if (!openAiTakesSampling(model, effort)) {
    for (const [name, value] of Object.entries(sampling)) {
      if (fields[name] === value) fields[name] = undefined;
      else leaveOut(name);
    }
  }
  if (!served.takesVerbosity || !takesVerbosity(model)) leaveOut('verbosity');
  for (const name of served.isOpenAi ? refusedByOpenAi : served.isStrict ? refusedByMistral : []) leaveOut(name);
  return served.isStrict ? toMistralFields(fields) : fields;
}

/**
 * OpenAI's reasoning models accept only `max_completion_tokens`; many compatible servers know only `max_tokens`, and
 * ignore or refuse the other.
 */
function withKnownLimit(name: ServedModel['limit'], fields: JsonObject): JsonObject {
  const other = name === 'max_tokens' ? 'max_completion_tokens' : 'max_tokens';
  if (name === undefined || fields[other] === undefined) return fields;
  const { max_tokens: maxTokens, max_completion_tokens: maxCompletionTokens, ...others } = fields;
  return { ...others, [name]: maxCompletionTokens ?? maxTokens! };
}

function toMistralFields({ seed, ...fields }: Fields): Fields {
  for (const name of hints) fields[name] = undefined;
  return seed === undefined ? fields : { random_seed: seed, ...fields };
}
