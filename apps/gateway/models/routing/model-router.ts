// Resolves model names to providers, lists the models, and calls the candidates in order. The next candidate is tried only
// while nothing was sent to the caller.
import type { Flow } from '#libs/concurrency/flow.js';
import type { CircuitState } from '#libs/concurrency/circuit-breaker.js';
import { abortAfter } from '#libs/concurrency/abort-after.js';
import type { Config } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { CallHistory } from './call-history.js';
import { createProviders, wireFamily } from './create-provider.js';
import { ModelDiscovery } from './model-discovery.js';
import type { AttemptObserver, EndedCandidate } from './model-attempt.js';
import type { AliasReport, ModelsReport, ProviderReport } from './models-report.js';
import type {
  ModelCall,
  ModelProvider,
  ModelRequest,
  ModelRoute,
  ModelRouter,
  ModelsHealth,
  RoutedModelEvent,
} from '../model-provider.js';
import { listsNothing, providerAccess } from '../wire/provider-failures.js';
import type { ModelCallMeasure } from './measure-model-calls.js';
import { misnamedModels } from './check-models.js';
import { nameOfCandidate, RoutedCall, type RoutedCallParts } from './routed-call.js';
import { firstChatModel, namedModel, resolveModel, type KnownModels, type Target } from './resolve-model.js';

export interface ModelRouterOptions {
  logger: Logger;
  /** Used if no provider is configured. Closed with the router. */
  offline: ModelProvider;
  measure?: ModelCallMeasure;
  /** Called for every retry and fallback. */
  onAttempt?: AttemptObserver;
  /** Called with the first state of each provider's circuit breaker, and with every change. */
  onCircuit?: (provider: string, state: CircuitState) => void;
}

/** How long a report of health waits for the first answer of a provider. */
const firstAnswerMs = 200;

/** @throws Error if the configuration cannot be served */
export function createModelRouter(config: Config['models'], options: ModelRouterOptions): ModelRouter {
  return new ConfiguredModelRouter(config, options);
}

class ConfiguredModelRouter implements ModelRouter {
  private readonly providers: Map<string, ModelProvider>;
  private readonly discovery: ModelDiscovery;
  private readonly calls: RoutedCallParts;
  private readonly known: KnownModels;
  /** Errors of providers whose last call was refused for its key. Some list their models to anyone. */
  private readonly refused = new Map<string, string>();
  private readonly history = new CallHistory();

  constructor(
    private readonly config: Config['models'],
    private readonly options: ModelRouterOptions,
  ) {
    const { logger, offline, onAttempt, onCircuit } = options;
    const observe: AttemptObserver = (attempt) => {
      const { requestId, error, ...metadata } = attempt;
      logger.warn({ requestId, error, metadata }, `model call failed, ${attempt.next} follows`);
      onAttempt?.(attempt);
    };
    this.calls = {
      firstModel: (provider, call) => this.firstModel(provider, call),
      onEnd: (ended) => this.noteEnd(ended),
      onFallback: (from, to, error) => this.history.fallback(from, to, error),
      onAttempt: observe,
    };
    this.discovery = new ModelDiscovery(logger);
    this.providers = createProviders(config, {
      logger,
      offline,
      onAttempt: observe,
      onCircuit: (provider, state) => {
        this.history.circuit(provider, state);
        onCircuit?.(provider, state);
      },
    });
    this.known = {
      providers: [...this.providers.keys()],
      offline: offline.name,
      config,
      discovered: (provider) => this.discovery.lastKnown(provider),
    };
    for (const message of this.misnamed()) logger.warn({}, message);
    this.discoverModels();
  }

  named(requested: string | undefined): string | undefined {
    return namedModel(requested, this.config.aliases);
  }

  resolve(requested: string | undefined): ModelRoute {
    const targets = resolveModel(requested, this.known);
    return { candidates: targets.map((target) => this.candidate(target)) };
  }

  async list(signal: AbortSignal): Promise<{ id: string; owned_by: string }[]> {
    const { offline } = this.options;
    const found = new Map<string, string>();
    for (const alias of Object.keys(this.config.aliases)) found.set(alias, 'signalbox');
    const lists = await Promise.all(
      [...this.providers].map(async ([name, provider]) => ({
        name,
        models: await this.modelsOf(name, provider, signal),
      })),
    );
    for (const { name, models } of lists) for (const model of models) found.set(`${name}/${model}`, name);
    // Last: clients that take the first model of the list want a real one.
    if (!found.has(offline.name)) found.set(offline.name, offline.name);
    return [...found].map(([id, owned_by]) => ({ id, owned_by }));
  }

  async health(signal: AbortSignal): Promise<ModelsHealth> {
    const soon = AbortSignal.any([signal, abortAfter(firstAnswerMs)]);
    const remote = [...this.providers].filter(([name]) => this.config.providers[name]?.kind !== 'offline');
    await Promise.all(remote.map(([name, provider]) => this.discovery.look(name, provider, soon)));
    const away = [...this.providers.keys()].flatMap((name) => this.problemOf(name) ?? []);
    return { model: this.defaultModel(), problems: [...this.misnamed(), ...away] };
  }

  async report(signal: AbortSignal): Promise<ModelsReport> {
    const { model } = await this.health(signal);
    const { offline } = this.options;
    const providers = [...this.providers.keys()].map((name) => this.providerReport(name));
    const isListed = [...this.providers.values()].some(({ name }) => name === offline.name);
    return {
      model,
      problems: this.misnamed(),
      countedSince: this.history.since,
      providers: isListed ? providers : [...providers, this.providerReport(offline.name)],
      aliases: Object.keys(this.config.aliases).map((name) => this.aliasReport(name)),
    };
  }

  private providerReport(name: string): ProviderReport {
    const config = this.config.providers[name];
    const kind = config?.kind ?? 'offline';
    const common = {
      name,
      kind,
      tools: config?.tools ?? 'native',
      ...this.history.of(this.providers.get(name)?.name ?? name),
    };
    if (config === undefined || kind === 'offline') {
      const models = { source: 'built_in' as const, names: config?.models ?? [this.options.offline.name] };
      return { ...common, access: undefined, problem: undefined, models: { ...models, listedAt: undefined } };
    }
    const names = config.models ?? this.discovery.lastKnown(name);
    const source = config.models === undefined ? 'provider' : 'configuration';
    const listedAt = config.models === undefined ? this.discovery.listedAt(name) : undefined;
    const access = providerAccess(name, config, config.base_url ?? wireFamily(kind, config).baseUrl);
    return { ...common, access, problem: this.problemOf(name), models: { source, names, listedAt } };
  }

  private aliasReport(name: string): AliasReport {
    try {
      const targets = this.resolve(name).candidates.map(nameOfCandidate);
      return { name, targets, problem: undefined, fallbacks: this.history.fallbacks(targets) };
    } catch (error) {
      const targets = [this.config.aliases[name] ?? []].flat();
      return { name, targets, problem: toAppError(error).message, fallbacks: [] };
    }
  }

  private problemOf(name: string): string | undefined {
    return this.discovery.problem(name)?.message ?? this.refused.get(name);
  }

  private misnamed(): string[] {
    const { config, offline, discovered } = this.known;
    return misnamedModels(config, offline, discovered).map(({ setting, message }) => `${setting}: ${message}`);
  }

  call(
    route: ModelRoute,
    request: Omit<ModelRequest, 'model'>,
    call: ModelCall,
    take: (batch: readonly RoutedModelEvent[]) => Flow,
  ): Promise<void> {
    return new RoutedCall(this.calls, route.candidates, call, take).run(request, this.options.measure);
  }

  async close(): Promise<void> {
    this.discovery.close();
    await Promise.all([...new Set([...this.providers.values(), this.options.offline])].map((one) => one.close()));
  }

  private candidate({ provider, model }: Target): ModelRoute['candidates'][number] {
    const found = this.providers.get(provider) ?? this.options.offline;
    const first = model ?? firstChatModel(this.config.providers[provider]) ?? '';
    return { provider: found, model: first === '' && found === this.options.offline ? found.name : first };
  }

  async countTokens(route: ModelRoute, request: Omit<ModelRequest, 'model'>, call: ModelCall): Promise<number> {
    const { provider, model: named } = route.candidates[0]!;
    const [model, noModel] = named === '' ? await this.firstModel(provider, call) : [named];
    if (noModel !== undefined) throw noModel;
    return provider.countTokens({ ...request, model }, call);
  }

  /** The default model of a provider that the caller named without a model, or why none is known. */
  private async firstModel(provider: ModelProvider, call: ModelCall): Promise<[string, AppError?]> {
    const { name } = provider;
    try {
      const first = firstChatModel({ models: [...(await this.discovery.models(name, provider, call.signal))] });
      if (first !== undefined) return [first];
    } catch (error) {
      return ['', toAppError(error)];
    }
    return [
      '',
      this.discovery.problem(name) ?? new AppError('model_not_found', listsNothing(name), { param: 'model' }),
    ];
  }

  private noteEnd(ended: EndedCandidate): void {
    const { provider, error } = ended;
    this.history.ended(ended);
    if (error?.upstreamStatus === 401) this.refused.set(provider, error.message);
    else if (error === undefined && this.refused.size > 0) this.refused.delete(provider);
  }

  /** The default model as far as known: only the provider's name while its list is unread. */
  private defaultModel(): string {
    try {
      const { provider, model } = this.resolve(undefined).candidates[0]!;
      const first = model === '' ? firstChatModel({ models: [...this.discovery.lastKnown(provider.name)] }) : model;
      return first === undefined || first === provider.name ? provider.name : `${provider.name}/${first}`;
    } catch {
      return this.config.default ?? 'none';
    }
  }

  private modelsOf(name: string, provider: ModelProvider, signal: AbortSignal): Promise<readonly string[]> {
    const configured = this.config.providers[name]?.models;
    return configured === undefined ? this.discovery.models(name, provider, signal) : Promise.resolve(configured);
  }

  /** With several providers without a configured list, bare names need their lists. Asks in the background. */
  private discoverModels(): void {
    const open = [...this.providers].filter(([name]) => this.config.providers[name]?.models === undefined);
    if (open.length < 2) return;
    for (const [name, provider] of open) void this.discovery.models(name, provider, new AbortController().signal);
  }
}
