// The one place that knows which family a `kind` is. Adding a family is adding a folder and a case here.
import type { Config, ProviderConfig } from '#libs/config/schema.js';
import { type CircuitParts, guardProvider } from './guarded-provider.js';
import type { AttemptObserver } from './model-attempt.js';
import type { ModelProvider } from './model-provider.js';
import { OpenAiProvider } from './openai/openai-provider.js';
import { PromptedProvider } from './prompted/prompted-provider.js';

export interface ProviderParts extends CircuitParts {
  offline: ModelProvider;
  onAttempt?: AttemptObserver;
}

/** Undefined: the family is not built in; said in the log. */
export function createProvider(name: string, config: ProviderConfig, parts: ProviderParts): ModelProvider | undefined {
  const { kind, tools } = config;
  const family = createFamily(name, config, parts);
  // The offline model calls tools in its own way, and never fails: there is nothing to prompt or to guard.
  if (family === undefined || (kind === 'offline' && tools !== 'none')) return family;
  const provider = kind === 'offline' ? family : guardProvider(family, config.circuit, parts);
  return tools === 'native' ? provider : new PromptedProvider(provider, tools);
}

function createFamily(name: string, config: ProviderConfig, parts: ProviderParts): ModelProvider | undefined {
  switch (config.kind) {
    case 'openai':
      return new OpenAiProvider(name, config, parts.onAttempt);
    case 'offline':
      return parts.offline;
    case 'anthropic':
    case 'gemini':
      parts.logger.error(
        { metadata: { provider: name, kind: config.kind } },
        `Model provider '${name}' is left out: kind ${config.kind} is not supported`,
      );
      return undefined;
  }
}

export function createProviders(config: Config['models'], parts: ProviderParts): Map<string, ModelProvider> {
  const providers = new Map<string, ModelProvider>();
  for (const [name, provider] of Object.entries(config.providers)) {
    const created = createProvider(name, provider, parts);
    if (created !== undefined) providers.set(name, created);
  }
  return providers;
}
