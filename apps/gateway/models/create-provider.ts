// The one place that knows which family a `kind` is. Adding a family is adding a folder and a case here.
import type { Config, ProviderConfig } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import type { AttemptObserver } from './model-attempt.js';
import type { ModelProvider } from './model-provider.js';
import { anthropicFamily } from './anthropic/anthropic-family.js';
import { geminiFamily } from './gemini/gemini-family.js';
import { openAiFamily } from './openai/openai-family.js';
import type { WireFamily } from './wire-family.js';
import { WireProvider } from './wire-provider.js';

export interface ProviderParts {
  logger: Logger;
  offline: ModelProvider;
  onAttempt?: AttemptObserver;
}

/** @throws Error when the configuration cannot be served. */
export function createProvider(name: string, config: ProviderConfig, parts: ProviderParts): ModelProvider {
  if (config.tools === 'prompted') {
    throw new Error(`models.providers.${name}.tools: "prompted" is not supported; use "native" or "none"`);
  }
  if (config.kind === 'offline') return parts.offline;
  return new WireProvider(name, config, wireFamily(config.kind, config, parts.logger), parts.onAttempt);
}

export function wireFamily(
  kind: Exclude<ProviderConfig['kind'], 'offline'>,
  config: ProviderConfig,
  logger: Logger,
): WireFamily {
  switch (kind) {
    case 'openai':
      return openAiFamily(config);
    case 'anthropic':
      return anthropicFamily(config);
    case 'gemini':
      return geminiFamily(config, logger);
  }
}

export function createProviders(config: Config['models'], parts: ProviderParts): Map<string, ModelProvider> {
  const providers = new Map<string, ModelProvider>();
  for (const [name, provider] of Object.entries(config.providers)) {
    providers.set(name, createProvider(name, provider, parts));
  }
  return providers;
}
