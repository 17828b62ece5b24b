// OpenAI's two APIs, chat completions and Responses, and servers compatible with either, as a `WireFamily`. Which one is
// asked is configured, or follows from the model.
import type { ProviderConfig } from '#libs/config/schema.js';
import type { AppError } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { anthropicPropertyNames } from '../conversation/property-names.js';
import { providerToolsOf } from '../conversation/provider-tools.js';
import { openAiToolNames } from '../conversation/tool-names.js';
import { NativeToolSearch, type ToolSearches } from '../conversation/tool-searches.js';
import type { ModelRequest } from '../model-provider.js';
import { ResponsesAnswerReader } from '../openai-responses/read-responses-event.js';
import { toResponsesRequest } from '../openai-responses/to-responses-request.js';
import type { WireFamily, WireRequest, Writing } from '../wire/wire-family.js';
import { openAiTakesToolSearch, wantsResponses } from './openai-models.js';
import { OpenAiAnswerReader } from './read-openai-chunk.js';
import { servedModel, type ServedModel } from './compatible/known-servers.js';
import { readOpenAiError } from './read-openai-error.js';
import { toOpenAiRequest } from './to-openai-request.js';

/** Models of each kind. At the limit the list is cleared and learnt again. */
const mostRemembered = 1_000;

const ownUrl = 'https://api.openai.com/v1';

export function openAiFamily(config: ProviderConfig): WireFamily {
  const { wire } = config;
  /** Models that the server has refused to answer for over the Responses API, because it has no such path. */
  const overChat = new Set<string>();
  const asksResponses = ({ model, parameters }: ModelRequest): boolean => {
    if (wire !== undefined) return wire === 'responses';
    // Only chat completions have several choices.
    return wantsResponses(model) && !overChat.has(model) && Number(parameters['n'] ?? 1) <= 1;
  };
  const native = new NativeToolSearch(config, ownUrl, openAiTakesToolSearch);
  /** Facts from a model's name, the same for all its requests. */
  const served = new Map<string, ServedModel>();
  const overChatCompletions = (request: ModelRequest, writing: Writing): WireRequest => {
    const { model } = request;
    const known = served.get(model) ?? servedModel(config, writing.provider, model);
    if (served.size >= mostRemembered) served.clear();
    served.set(model, known);
    return chatRequest(request, writing, { config, served: known });
  };
  return {
    baseUrl: ownUrl,
    toolNames: openAiToolNames,
    toolsOf: (request) => (asksResponses(request) ? 'openai' : undefined),
    // Claude, at Anthropic's compatible address and elsewhere.
    propertyNames: (model) => (/claude/i.test(model) ? anthropicPropertyNames : undefined),
    headers: (apiKey): Record<string, string> => (apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    toRequest(request, writing) {
      if (!asksResponses(request)) return overChatCompletions(request, writing);
      const searches = native.of(request);
      return {
        ...responsesRequest(request, writing, searches),
        instead(error) {
          if (searches !== undefined && native.isRefused(request.model, error))
            return responsesRequest(request, writing, undefined);
          if (wire === 'responses' || !isNoPath(error)) return undefined;
          if (overChat.size >= mostRemembered) overChat.clear();
          overChat.add(request.model);
          writing.warnings.clear();
          providerToolsOf(request.providerTools ?? [], undefined, writing.warnings);
          return overChatCompletions(request, writing);
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

function chatRequest(
  request: ModelRequest,
  writing: Writing,
  { config, served }: { config: ProviderConfig; served: ServedModel },
): WireRequest {
  const { model, parameters } = request;
  const { provider, names, warnings } = writing;
  const { reasoning_replay: reasoningReplay, call_ids: callIds } = config;
  const choices = parameters['n'];
  return {
    path: '/chat/completions',
    body: toOpenAiRequest(request, { provider, names, model, warnings, reasoningReplay, callIds, served }),
    reader: new OpenAiAnswerReader({
      provider,
      errors: writing.errors,
      names,
      model,
      choices: typeof choices === 'number' ? choices : 1,
      storeReasoning: reasoningReplay !== 'never',
    }),
  };
}

function responsesRequest(request: ModelRequest, writing: Writing, searches: ToolSearches | undefined): WireRequest {
  const { model } = request;
  const { provider, names, warnings } = writing;
  const search = searches && names.toWire(searches.name);
  return {
    path: '/responses',
    body: toResponsesRequest(request, { provider, names, model, warnings, searches }),
    reader: new ResponsesAnswerReader({ ...writing, model, search }),
  };
}

/** A missing path, not a missing model. */
const isNoPath = ({ upstreamStatus: status, code }: AppError) =>
  (status === 404 || status === 405) && code !== 'model_not_found';
