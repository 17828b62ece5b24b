// Resolves a requested name to providers and models, from the configuration and the known lists of the upstreams. Pure.
import type { Config, ProviderConfig } from '#libs/config/schema.js';
import { AppError } from '#libs/schemas/errors.js';

/** Without `model`: the first model that the provider lists. */
export interface Target {
  provider: string;
  model?: string;
}

export interface KnownModels {
  /** In configuration order. If empty, there is only the offline model. */
  providers: readonly string[];
  offline: string;
  config: Config['models'];
  /** The last known list of an upstream without a configured list. */
  discovered(provider: string): readonly string[];
}

const maxNameLength = 256;
const maxAliasDepth = 8;
/** For clients that must name a model. An alias of this name is the operator's own. */
const defaultName = 'default';
/** A name from older documentation. Without a configured Ollama, it means the default model. */
const exampleModel = 'llama3.2';

/** The name that a request or an alias gives; undefined for the default model. */
export function namedModel(requested: string | undefined, aliases: Config['models']['aliases']): string | undefined {
  return requested === '' || (requested === defaultName && !Object.hasOwn(aliases, defaultName))
    ? undefined
    : requested;
}

/** @throws AppError model_not_found, invalid_value */
export function resolveModel(requested: string | undefined, known: KnownModels): Target[] {
  const name = namedModel(requested, known.config.aliases);
  if (name === undefined) return defaultTargets(known, 0);
  if (name.length > maxNameLength || /[\u0000-\u0020\u007f]/.test(name)) {
    throw new AppError('invalid_value', `model must be at most ${maxNameLength} characters without spaces`, {
      param: 'model',
    });
  }
  return byName(name, known, 0);
}

function defaultTargets(known: KnownModels, depth: number): Target[] {
  const { config, providers, offline } = known;
  if (config.default !== undefined) return byName(config.default, known, depth + 1);
  const first = providers[0];
  return [first === undefined ? { provider: offline } : { provider: first }];
}

/** A path segment that is empty, `.` or `..`. */
const noSegment = /(?:^|\/)\.{0,2}(?:\/|$)/;

function byName(name: string, known: KnownModels, depth: number): Target[] {
  const { config, providers } = known;
  if (depth > maxAliasDepth) throw new AppError('model_not_found', 'The model alias leads back to itself');
  const alias = Object.hasOwn(config.aliases, name) ? config.aliases[name] : undefined;
  if (alias !== undefined) return [alias].flat().flatMap((target) => byName(target, known, depth + 1));
  if (name === defaultName && name !== config.default) return defaultTargets(known, depth + 1);
  // Always, so that the examples of the documentation work everywhere.
  if (name === known.offline) return [{ provider: known.offline }];
  if (noSegment.test(name)) throw notFound(name);

  const slash = name.indexOf('/');
  const prefix = slash === -1 ? undefined : name.slice(0, slash);
  if (prefix !== undefined && providers.includes(prefix)) {
    const model = name.slice(slash + 1);
    const list = config.providers[prefix]?.models;
    if (list !== undefined && !list.includes(model)) throw notFound(name);
    return [{ provider: prefix, model }];
  }
  const lister = providers.find((provider) => lists(provider, name, known));
  if (lister !== undefined) return [{ provider: lister, model: name }];
  if (prefix === known.offline) return [{ provider: known.offline, model: name.slice(slash + 1) }];
  if (providers.length === 0) {
    if (prefix !== undefined) throw notFound(name);
    return [{ provider: known.offline, model: name }];
  }
  if (name === exampleModel && !providers.includes('ollama') && name !== config.default) {
    return defaultTargets(known, depth + 1);
  }
  return [{ provider: openProvider(name, known), model: name }];
}

function lists(provider: string, name: string, known: KnownModels): boolean {
  const list = known.config.providers[provider]?.models ?? known.discovered(provider);
  // Ollama lists `llama3.2:latest` but also accepts `llama3.2`.
  return list.includes(name) || list.includes(`${name}:latest`);
}

/** The provider for a name in no list: the only one without a list, else the default one if it has no list. */
function openProvider(name: string, known: KnownModels): string {
  const { config, providers } = known;
  const open = providers.filter((provider) => {
    const configured = config.providers[provider];
    return configured?.models === undefined && configured?.kind !== 'offline';
  });
  if (open.length === 1) return open[0]!;
  const byDefault = config.default?.split('/')[0] ?? providers[0];
  if (byDefault !== undefined && open.includes(byDefault)) return byDefault;
  throw notFound(name);
}

const notForChat = /embed|whisper|tts|dall-e|image|moderation|audio|realtime|transcribe|babbage|davinci|sora|rerank/i;

/** The default model of a provider. OpenAI lists many in no useful order; others list their main model first. */
export function firstChatModel(
  provider: Partial<Pick<ProviderConfig, 'models' | 'base_url'>> | undefined,
): string | undefined {
  const listed = provider?.models?.find((model) => !notForChat.test(model)) ?? provider?.models?.[0];
  if (listed !== undefined || provider?.base_url === undefined) return listed;
  return new URL(provider.base_url).host === 'api.openai.com' ? 'gpt-5.2' : undefined;
}

const notFound = (name: string) => new AppError('model_not_found', `Model '${name}' not found`, { param: 'model' });
