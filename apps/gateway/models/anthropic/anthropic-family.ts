// The family of Anthropic's Messages API. The quirks are in the files beside it.
import type { ProviderConfig } from '#libs/config/schema.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { openAiToolNames } from '../tool-names.js';
import { versionPath } from '../version-path.js';
import type { WireFamily } from '../wire-family.js';
import { readAnthropicError } from './read-anthropic-error.js';
import { AnthropicAnswerReader } from './read-anthropic-event.js';
import { toAnthropicRequest } from './to-anthropic-request.js';

export function anthropicFamily(config: ProviderConfig): WireFamily {
  const version = versionPath(config.base_url, '/v1');
  /** The largest answer of each model, as the list of models says. */
  const maxima = new Map<string, number>();
  return {
    baseUrl: 'https://api.anthropic.com',
    toolNames: openAiToolNames,
    headers: (apiKey) => ({
      'anthropic-version': '2023-06-01',
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
    }),
    toRequest(request, reading) {
      const { provider, names } = reading;
      const rules = { provider, names, promptCaching: config.prompt_caching, listedMaximum: maxima.get(request.model) };
      const body = toAnthropicRequest(request, rules);
      return {
        path: `${version}/messages`,
        body: JSON.stringify(body),
        reader: new AnthropicAnswerReader({
          ...reading,
          model: request.model,
          goOn: (content) => JSON.stringify({ ...body, messages: [...body.messages, { role: 'assistant', content }] }),
        }),
      };
    },
    readError: readAnthropicError,
    modelsPath: `${version}/models?limit=1000`,
    readModels({ data }) {
      const models = Array.isArray(data) ? data.filter(isJsonObject) : [];
      for (const { id, max_tokens: maximum } of models) {
        if (typeof id === 'string' && typeof maximum === 'number') maxima.set(id, maximum);
      }
      return { models: models.flatMap(({ id }) => (typeof id === 'string' ? [id] : [])) };
    },
  };
}
