// Gemini's generateContent as a `WireFamily`.
import type { ProviderConfig } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import { geminiPropertyNames } from '../conversation/property-names.js';
import { geminiToolNames } from '../conversation/tool-names.js';
import { versionPath } from '../wire/version-path.js';
import type { WireFamily } from '../wire/wire-family.js';
import { readGeminiError } from './read-gemini-error.js';
import { GeminiAnswerReader } from './read-gemini-chunk.js';
import { toGeminiRequest } from './to-gemini-request.js';
import type { ReportLost } from './to-gemini-tools.js';

/** Tools whose lost keywords were logged. At the limit the list is cleared, and they are logged again. */
const mostReported = 1_000;

export function geminiFamily(config: ProviderConfig, logger: Logger): WireFamily {
  const version = versionPath(config.base_url, '/v1beta');
  const reported = new Set<string>();
  const report: ReportLost = (tool, keywords) => {
    const key = `${tool}\n${keywords.join()}`;
    if (reported.has(key)) return;
    if (reported.size >= mostReported) reported.clear();
    reported.add(key);
    logger.info({ metadata: { tool, keywords } }, 'left out keywords of a schema that Gemini does not support');
  };
  return {
    baseUrl: 'https://generativelanguage.googleapis.com',
    toolNames: geminiToolNames,
    propertyNames: () => geminiPropertyNames,
    // In a header, because URLs are logged.
    headers: (apiKey): Record<string, string> => (apiKey === undefined ? {} : { 'x-goog-api-key': apiKey }),
    toRequest(request, reading) {
      const { provider, names } = reading;
      const body = toGeminiRequest(request, { provider, names, report });
      const method = request.stream ? 'streamGenerateContent?alt=sse' : 'generateContent';
      return {
        path: `${version}/${modelPath(request.model)}:${method}`,
        body,
        reader: new GeminiAnswerReader({ ...reading, model: request.model, body }),
      };
    },
    toCount(request, { provider, names }) {
      const path = modelPath(request.model);
      const written = JSON.parse(toGeminiRequest(request, { provider, names, report })) as JsonObject;
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
