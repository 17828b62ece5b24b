// The one place that knows which family a `kind` is. Adding a family is adding a folder and a case here.
import type { Config, ProviderConfig } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { CircuitBreaker, type CircuitState } from './circuit-breaker.js';
import { GuardedProvider } from './guarded-provider.js';
import type { AttemptObserver } from './model-attempt.js';
import type { ModelProvider } from './model-provider.js';
import { OpenAiProvider } from './openai/openai-provider.js';
import { PromptedProvider } from './prompted/prompted-provider.js';

export interface ProviderParts {
  logger: Logger;
  offline: ModelProvider;
  onAttempt?: AttemptObserver;
  /** Told of every change, and of the state in the beginning. */
  onCircuit?: (provider: string, state: CircuitState) => void;
}

/** Undefined: the family is not built in; said in the log. */
export function createProvider(name: string, config: ProviderConfig, parts: ProviderParts): ModelProvider | undefined {
  const family = createFamily(name, config, parts);
  const { kind, tools } = config;
  // The offline model calls tools in its own way: there is nothing to prompt.
  if (family === undefined || (kind === 'offline' && tools !== 'none')) return family;
  const provider = kind === 'offline' ? family : guard(family, config, parts);
  return tools === 'native' ? provider : new PromptedProvider(provider, tools);
}

function guard(provider: ModelProvider, config: ProviderConfig, parts: ProviderParts): ModelProvider {
  const { failures, cool_down_ms: coolDownMs } = config.circuit;
  const { logger, onCircuit } = parts;
  const onChange = (state: CircuitState) => {
    const line = { metadata: { provider: provider.name, circuit: state } };
    if (state === 'open') logger.warn(line, 'a model provider keeps failing and is not asked for a while');
    else logger.info(line, 'a model provider is asked again');
    onCircuit?.(provider.name, state);
  };
  onCircuit?.(provider.name, 'closed');
  return new GuardedProvider(provider, new CircuitBreaker({ failures, coolDownMs }, onChange));
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
