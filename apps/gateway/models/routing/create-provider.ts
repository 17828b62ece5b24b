// Chooses the family for each `kind`. A new family needs a folder and a case here.
import type { Config, ProviderConfig } from '#libs/config/schema.js';
import type { ModelProvider } from '../model-provider.js';
import { anthropicFamily } from '../anthropic/anthropic-family.js';
import { geminiFamily } from '../gemini/gemini-family.js';
import { openAiFamily } from '../openai/openai-family.js';
import type { WireFamily } from '../wire/wire-family.js';
import { type WireParts, WireProvider } from '../wire/wire-provider.js';
import { PromptedProvider } from '../prompted/prompted-provider.js';

export interface ProviderParts extends WireParts {
  offline: ModelProvider;
}

export function createProvider(name: string, config: ProviderConfig, parts: ProviderParts): ModelProvider {
  const { kind, tools } = config;
  // The offline model has native tool use and needs no retries or circuit breaker.
  if (kind === 'offline') return tools === 'none' ? new PromptedProvider(parts.offline, tools) : parts.offline;
  const family = wireFamily(kind, config);
  const provider = new WireProvider(name, config, family, parts);
  return tools === 'native' ? provider : new PromptedProvider(provider, tools);
}

export function wireFamily(kind: Exclude<ProviderConfig['kind'], 'offline'>, config: ProviderConfig): WireFamily {
  switch (kind) {
    case 'openai':
      return openAiFamily(config);
    case 'anthropic':
      return anthropicFamily(config);
    case 'gemini':
      return geminiFamily(config);
  }
}

export function createProviders(config: Config['models'], parts: ProviderParts): Map<string, ModelProvider> {
  const providers = new Map<string, ModelProvider>();
  for (const [name, provider] of Object.entries(config.providers)) {
    providers.set(name, createProvider(name, provider, parts));
  }
  return providers;
}
