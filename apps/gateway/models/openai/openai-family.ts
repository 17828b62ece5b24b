// OpenAI's two APIs, chat completions and Responses, and servers compatible with either, as a `WireFamily`. Which one is
// asked is configured, or follows from the model.
import type { ProviderConfig } from '#libs/config/schema.js';
import type { AppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { openAiToolNames } from '../conversation/tool-names.js';
import type { ModelRequest } from '../model-provider.js';
import { ResponsesAnswerReader } from '../openai-responses/read-responses-event.js';
import { toResponsesRequest } from '../openai-responses/to-responses-request.js';
import type { Reading, WireFamily, WireRequest } from '../wire/wire-family.js';
import { wantsResponses } from './openai-models.js';
import { OpenAiAnswerReader } from './read-openai-chunk.js';
import { readOpenAiError } from './read-openai-error.js';
import { toOpenAiRequest } from './to-openai-request.js';

/** At the limit the list is cleared, and the server is asked again. */
const mostRemembered = 1_000;

export function openAiFamily(config: ProviderConfig): WireFamily {
  const { wire } = config;
  /** Models that the server has refused to answer for over the Responses API, because it has no such path. */
  const overChat = new Set<string>();
  return {
    baseUrl: 'https://api.openai.com/v1',
    toolNames: openAiToolNames,
    headers: (apiKey): Record<string, string> => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    toRequest(request, reading) {
      if (wire === 'responses') return responsesRequest(request, reading);
      const asksResponses = wire === undefined && wantsResponses(request.model) && !overChat.has(request.model);
      // Only chat completions have several choices.
      if (!asksResponses || Number(request.parameters['n'] ?? 1) > 1) return chatRequest(request, reading, config);
      return {
        ...responsesRequest(request, reading),
        instead(error) {
          if (!isNoPath(error)) return undefined;
          if (overChat.size >= mostRemembered) overChat.clear();
          overChat.add(request.model);
          return chatRequest(request, reading, config);
        },
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

function chatRequest(request: ModelRequest, reading: Reading, config: ProviderConfig): WireRequest {
  const { provider, names } = reading;
  const { reasoning_replay: reasoningReplay, call_ids: callIds } = config;
  const choices = request.parameters['n'];
  return {
    path: '/chat/completions',
    body: toOpenAiRequest(request, { provider, names, reasoningReplay, callIds }),
    reader: new OpenAiAnswerReader({
      ...reading,
      model: request.model,
      ...(typeof choices === 'number' && { choices }),
      storeReasoning: reasoningReplay !== 'never',
    }),
  };
}

function responsesRequest(request: ModelRequest, reading: Reading): WireRequest {
  const { provider, names } = reading;
  return {
    path: '/responses',
    body: toResponsesRequest(request, { provider, names }),
    reader: new ResponsesAnswerReader({ ...reading, model: request.model }),
  };
}

/** A missing path, not a missing model. */
const isNoPath = ({ upstreamStatus: status, code }: AppError) =>
  (status === 404 || status === 405) && code !== 'model_not_found';
