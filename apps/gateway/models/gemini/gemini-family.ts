// Gemini's generateContent as a `WireFamily`.
import type { ProviderConfig } from '#libs/config/schema.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { geminiToolNames } from '../conversation/tool-names.js';
import { versionPath } from '../wire/version-path.js';
import type { WireFamily } from '../wire/wire-family.js';
import { readGeminiError } from './read-gemini-error.js';
import { GeminiAnswerReader } from './read-gemini-chunk.js';
import { toGeminiRequest } from './to-gemini-request.js';

export function geminiFamily(config: ProviderConfig): WireFamily {
  const version = versionPath(config.base_url, '/v1beta');
  return {
    baseUrl: 'https://generativelanguage.googleapis.com',
    toolNames: geminiToolNames,
    // In a header, because URLs are logged.
    headers: (apiKey): Record<string, string> => (apiKey === undefined ? {} : { 'x-goog-api-key': apiKey }),
    toRequest(request, reading) {
      const body = toGeminiRequest(request, reading);
      const method = request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      return {
        path: `${version}/${modelPath(request.model)}:${method}`,
        body,
        reader: new GeminiAnswerReader({ ...reading, model: request.model, body }),
      };
    },
    toCount(request, reading) {
      const path = modelPath(request.model);
      const written = JSON.parse(toGeminiRequest(request, reading)) as JsonObject;
      return {
        path: `${version}/${path}:countTokens`,
        body: JSON.stringify({ generateContentRequest: { model: path, ...written } }),
        answer: 'totalTokens',
      };
    },
    readError: readGeminiError,
    modelsPath: `${version}/models?pageSize=1000`,
    readModels({ models, nextPageToken: token }) {
      const listed = Array.isArray(models) ? models.filter(isJsonObject) : [];
      const names = listed.flatMap(({ name, supportedGenerationMethods: methods }) => {
        const answers = !Array.isArray(methods) || methods.includes('generateContent');
        return typeof name === 'string' && answers ? [name.replace(/^models\//, '')] : [];
      });
      if (typeof token !== 'string' || token === '') return { models: names };
      return { models: names, nextPath: `${version}/models?pageSize=1000&pageToken=${encodeURIComponent(token)}` };
    },
  };
}

/** `tunedModels/x` is already a path. */
function modelPath(model: string): string {
  const path = model.includes('/') ? model : `models/${model}`;
  return path.split('/').map(encodeURIComponent).join('/');
}
