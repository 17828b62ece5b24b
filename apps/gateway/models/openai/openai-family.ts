// OpenAI's chat completions, and compatible APIs, as a `WireFamily`.
import type { ProviderConfig } from '#libs/config/schema.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { openAiToolNames } from '../conversation/tool-names.js';
import type { WireFamily } from '../wire/wire-family.js';
import { OpenAiAnswerReader } from './read-openai-chunk.js';
import { readOpenAiError } from './read-openai-error.js';
import { toOpenAiRequest } from './to-openai-request.js';

export function openAiFamily(config: ProviderConfig): WireFamily {
  const { reasoning_replay: reasoningReplay, call_ids: callIds } = config;
  return {
    baseUrl: 'https://api.openai.com/v1',
    toolNames: openAiToolNames,
    headers: (apiKey): Record<string, string> => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    toRequest(request, reading) {
      const { provider, names, warnings } = reading;
      const { model, parameters } = request;
      return {
        path: '/chat/completions',
        body: toOpenAiRequest(request, { provider, names, model, warnings, reasoningReplay, callIds }),
        reader: new OpenAiAnswerReader({
          ...reading,
          model,
          ...(typeof parameters['n'] === 'number' && { choices: parameters['n'] }),
          storeReasoning: reasoningReplay !== 'never',
        }),
      };
    },
    readError: readOpenAiError,
    modelsPath: '/models',
    readModels({ data }) {
      const listed = Array.isArray(data) ? data : [];
      const models = listed.flatMap((entry) =>
        isJsonObject(entry) && typeof entry['id'] === 'string' ? [entry['id']] : [],
      );
      return { models };
    },
  };
}
