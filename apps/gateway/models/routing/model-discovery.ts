// Caches for a minute which models each upstream lists, with one request at a time. A failed request is no error: the
// last known list, or an empty one, is used.
import { abortAfter } from '#libs/concurrency/abort-after.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { ModelProvider } from '../model-provider.js';

const freshMs = 60_000;
const answerMs = 3_000;

interface Listing {
  models: readonly string[];
  until: number;
}

export class ModelDiscovery {
  private readonly known = new Map<string, Listing>();
  private readonly asking = new Map<string, Promise<readonly string[]>>();
  private readonly closing = new AbortController();

  constructor(private readonly logger: Logger) {}

  /** From the cache, however old. */
  lastKnown(provider: string): readonly string[] {
    return this.known.get(provider)?.models ?? [];
  }

  /** Asks the upstream if the cache is older than a minute. Rejects only if `signal` aborts. */
  async models(name: string, provider: ModelProvider, signal: AbortSignal): Promise<readonly string[]> {
    const known = this.known.get(name);
    if (known !== undefined && known.until > steadyNow()) return known.models;
    let asking = this.asking.get(name);
    if (asking === undefined) {
      asking = this.ask(name, provider).finally(() => this.asking.delete(name));
      this.asking.set(name, asking);
    }
    // Several callers share the request, so one caller's signal does not abort it.
    return Promise.race([asking, aborted(signal)]);
  }

  close(): void {
    this.closing.abort();
  }

  private async ask(name: string, provider: ModelProvider): Promise<readonly string[]> {
    try {
      const models = await provider.listModels(AbortSignal.any([this.closing.signal, abortAfter(answerMs)]));
      this.known.set(name, { models, until: steadyNow() + freshMs });
      return models;
    } catch (error) {
      this.logger.debug({ error, metadata: { provider: name } }, 'a model provider did not list its models');
      const models = this.lastKnown(name);
      this.known.set(name, { models, until: steadyNow() + freshMs / 10 });
      return models;
    }
  }
}

async function aborted(signal: AbortSignal): Promise<never> {
  signal.throwIfAborted();
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}
