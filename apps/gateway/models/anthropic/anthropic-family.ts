// Anthropic's Messages API as a `WireFamily`.
import type { ProviderConfig } from '#libs/config/schema.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { anthropicPropertyNames } from '../conversation/property-names.js';
import { openAiToolNames } from '../conversation/tool-names.js';
import { NativeToolSearch, type ToolSearches } from '../conversation/tool-searches.js';
import { versionPath } from '../wire/version-path.js';
import type { ModelRequest } from '../model-provider.js';
import type { WireFamily, WireRequest, Writing } from '../wire/wire-family.js';
import { claudeTakesToolSearch } from './claude-models.js';
import { readAnthropicError } from './read-anthropic-error.js';
import { AnthropicAnswerReader } from './read-anthropic-event.js';
import { toAnthropicRequest } from './to-anthropic-request.js';

/** The only members that `count_tokens` accepts. */
const countedMembers = new Set(['messages', 'model', 'output_config', 'system', 'thinking', 'tool_choice', 'tools']);

const ownUrl = 'https://api.anthropic.com';

export function anthropicFamily(config: ProviderConfig): WireFamily {
  const version = versionPath(config.base_url, '/v1');
  /** `max_tokens` by model, from the API's list of models. */
  const maxima = new Map<string, number>();
  const native = new NativeToolSearch(config, ownUrl, claudeTakesToolSearch);
  const write = (request: ModelRequest, { provider, names, warnings }: Writing, searches: ToolSearches | undefined) =>
    toAnthropicRequest(request, {
      provider,
      names,
      model: request.model,
      warnings,
      promptCaching: config.prompt_caching,
      listedMaximum: maxima.get(request.model),
      searches,
    });
  const ask = (request: ModelRequest, reading: Writing, searches: ToolSearches | undefined): WireRequest => {
    const body = write(request, reading, searches);
    return {
      path: `${version}/messages`,
      body: JSON.stringify(body),
      reader: new AnthropicAnswerReader({
        ...reading,
        model: request.model,
        continuation: (content) =>
          JSON.stringify({ ...body, messages: [...body.messages, { role: 'assistant', content }] }),
      }),
    };
  };
  return {
    baseUrl: ownUrl,
    toolNames: openAiToolNames,
    propertyNames: () => anthropicPropertyNames,
    toolsOf: () => 'anthropic',
    headers: (apiKey) => ({
      'anthropic-version': '2023-06-01',
      ...(apiKey !== undefined && { 'x-api-key': apiKey }),
    }),
    toRequest(request, reading) {
      const searches = native.of(request);
      const wire = ask(request, reading, searches);
      if (searches === undefined) return wire;
      return {
        ...wire,
        instead: (error) => (native.isRefused(request.model, error) ? ask(request, reading, undefined) : undefined),
      };
    },
    toCount(request, reading) {
      const counted = Object.entries(write(request, reading, native.of(request))).filter(([name]) =>
        countedMembers.has(name),
      );
      return {
        path: `${version}/messages/count_tokens`,
        body: JSON.stringify(Object.fromEntries(counted)),
        answer: 'input_tokens',
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
