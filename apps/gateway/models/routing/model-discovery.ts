// Caches for a minute which models each upstream lists, with one request at a time. A failed request is no error: the
// last known list, or an empty one, is used, and the reason is kept and logged once.
import { abortAfter } from '#libs/concurrency/abort-after.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import type { ModelProvider } from '../model-provider.js';

const freshMs = 60_000;
/** Above the longest time that a provider takes for its list. */
const answerMs = 4_000;

interface Listing {
  models: readonly string[];
  /** When the upstream gave them. */
  listedAt?: Date | undefined;
  /** Why the last request for the list failed. */
  problem?: AppError;
  until: number;
}

export class ModelDiscovery {
  private readonly known = new Map<string, Listing>();
  private readonly asking = new Map<string, Promise<readonly string[]>>();
  private readonly closing = new AbortController();

  constructor(private readonly logger: Logger) {}

  /** The cached list, however old. */
  lastKnown(provider: string): readonly string[] {
    return this.known.get(provider)?.models ?? [];
  }

  listedAt(provider: string): Date | undefined {
    return this.known.get(provider)?.listedAt;
  }

  problem(provider: string): AppError | undefined {
    return this.known.get(provider)?.problem;
  }

  /** Starts a request if the cache is old. Waits for the very first answer only, and until the signal aborts. */
  async look(name: string, provider: ModelProvider, signal: AbortSignal): Promise<void> {
    const asked = this.models(name, provider, signal).catch(() => undefined);
    if (!this.known.has(name)) await asked;
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
    return unlessAborted(asking, signal);
  }

  close(): void {
    this.closing.abort();
  }

  private async ask(name: string, provider: ModelProvider): Promise<readonly string[]> {
    try {
      const models = await provider.listModels(AbortSignal.any([this.closing.signal, abortAfter(answerMs)]));
      this.note(name, { models, listedAt: new Date(), until: steadyNow() + freshMs });
      return models;
    } catch (thrown) {
      const error = toAppError(thrown);
      const models = this.lastKnown(name);
      const listedAt = this.listedAt(name);
      this.note(name, { models, listedAt, problem: error, until: steadyNow() + freshMs / 10 });
      return models;
    }
  }

  private note(provider: string, listing: Listing): void {
    const { logger } = this;
    const before = this.problem(provider)?.message;
    this.known.set(provider, listing);
    if (this.closing.signal.aborted || listing.problem?.message === before) return;
    if (listing.problem === undefined) logger.info({ metadata: { provider } }, 'a model provider is reachable again');
    else logger.warn({ metadata: { provider } }, listing.problem.message);
  }
}
