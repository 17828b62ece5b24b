// Cached results of tools, where the operator has set a time for them. Equal calls at the same time run once. Failures are
// never cached, and a cache that is away costs nothing but the run.
import type { Cache } from '#libs/backing/cache.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { textOrEmpty } from '#libs/schemas/json.js';
import { toolOutcomeSchema, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { RunnableCall } from '../call.js';

export interface CachedResultsParts {
  cache: Cache;
  journal: Pick<Journal, 'end'>;
  /** Changes with the file, or undefined for one that cannot be read: of the session of the call. */
  fileIdentity: (context: CallContext, path: string) => Promise<string | undefined>;
  onLookup: (outcome: 'hit' | 'miss' | 'skipped') => void;
  logger: Logger;
}

type Run = () => Promise<ToolOutcome>;

const cacheMs = 500;

export class CachedResults {
  /** Equal calls that wait for one run, by key. */
  private readonly running = new Map<string, Promise<ToolOutcome | undefined>>();

  constructor(private readonly parts: CachedResultsParts) {}

  /** A cached result for the call, or else that of `run`, which is cached if the tool's results are. */
  answer(call: RunnableCall, run: Run): Promise<ToolOutcome> {
    const { cacheTtlMs } = call.tool;
    return cacheTtlMs === undefined ? run() : this.answerCacheable(call, cacheTtlMs, run);
  }

  private async answerCacheable(call: RunnableCall, ttlMs: number, run: Run): Promise<ToolOutcome> {
    const { onLookup } = this.parts;
    const file = await this.fileOf(call);
    if (file === undefined) return run();
    const key = keyOf(call, file);
    if (call.context.noCache === true) {
      onLookup('skipped');
      return this.runAndCache(key, ttlMs, run);
    }
    const earlier = this.running.get(key);
    const flight = earlier === undefined ? this.begin(key) : undefined;
    try {
      const startedAt = performance.now();
      const cached = earlier === undefined ? await this.read(key) : await outcomeOf(earlier, call.context.signal);
      flight?.share(cached);
      const ended =
        cached && (await this.end({ ...cached, cached: true, durationMs: performance.now() - startedAt }, call));
      onLookup(ended === undefined ? 'miss' : 'hit');
      if (ended !== undefined) return ended;
      const outcome = await this.runAndCache(key, ttlMs, run);
      flight?.share(cacheable(outcome));
      return outcome;
    } finally {
      flight?.end();
    }
  }

  /** From now on equal calls wait for this one; `tell` counts once it has something to tell. */
  private begin(key: string): { share: (outcome: ToolOutcome | undefined) => void; end: () => void } {
    let resolve!: (outcome: ToolOutcome | undefined) => void;
    this.running.set(key, new Promise((resolved) => (resolve = resolved)));
    return {
      share: (outcome) => void (outcome === undefined || resolve(outcome)),
      end: () => {
        this.running.delete(key);
        resolve(undefined);
      },
    };
  }

  /** Part of the key, so that a changed file has results of its own. Undefined: what it reads cannot be known. */
  private async fileOf({ tool: { readsFile }, arguments: args, context }: RunnableCall): Promise<string | undefined> {
    if (readsFile === undefined) return '';
    try {
      return await this.parts.fileIdentity(context, textOrEmpty(args[readsFile]));
    } catch {
      // The tool says what is wrong with its file.
      return undefined;
    }
  }

  private async read(key: string): Promise<ToolOutcome | undefined> {
    try {
      const text = await this.parts.cache.get(key, AbortSignal.timeout(cacheMs));
      const read = toolOutcomeSchema.safeParse(text === undefined ? undefined : JSON.parse(text));
      return read.success ? read.data : undefined;
    } catch (error) {
      this.parts.logger.warn({ error }, 'kept results of tools cannot be read');
      return undefined;
    }
  }

  /** The outcome of a planned call, written like any other. Undefined: somebody has begun or ended the call. */
  private async end(outcome: ToolOutcome, { id, context, audit }: RunnableCall): Promise<ToolOutcome | undefined> {
    if (context.signal.aborted) return undefined;
    const ended = await this.parts.journal.end({ ...audit, callId: id, outcome });
    return ended ? outcome : undefined;
  }

  private async runAndCache(key: string, ttlMs: number, run: Run): Promise<ToolOutcome> {
    const outcome = await run();
    if (cacheable(outcome) !== undefined) {
      const { durationMs: _itsOwn, queueWaitMs: _too, ...stable } = outcome;
      const text = JSON.stringify({ ...stable, durationMs: 0 });
      this.parts.cache
        .set(key, text, ttlMs, AbortSignal.timeout(cacheMs))
        .catch((error: unknown) => this.parts.logger.warn({ error }, 'the result of a tool could not be cached'));
    }
    return outcome;
  }
}

/** Of an equal call that runs here now; its failure is no answer to anyone else. */
function outcomeOf(running: Promise<ToolOutcome | undefined>, signal: AbortSignal): Promise<ToolOutcome | undefined> {
  return unlessAborted(running, signal).catch(() => undefined);
}

/** What was shortened names a file of its own session. */
function cacheable(outcome: ToolOutcome): ToolOutcome | undefined {
  return outcome.state === 'completed' && outcome.truncated !== true ? outcome : undefined;
}

/** Of one principal, with the headers that the server is sent; of one session too, where the result depends on it. */
function keyOf({ tool, arguments: args, context, forwarded = {} }: RunnableCall, file: string): string {
  const session = tool.stateful === true || tool.cachePerSession === true ? context.sessionId : null;
  const caller = [context.principal, session, forwarded, file];
  return `tool-result:${canonicalHash([tool.server, tool.tool, tool.definitionHash, args, ...caller])}`;
}
