// Caches results of tools for which the operator has set a time. Equal calls at the same time run once. Failures are never
// cached, and while the cache is away every call runs.
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
  /** A value that changes with a file of the call's session; undefined if the file cannot be read. */
  fileIdentity: (context: CallContext, path: string) => Promise<string | undefined>;
  onLookup: (outcome: 'hit' | 'miss' | 'skipped') => void;
  logger: Logger;
}

type Run = () => Promise<ToolOutcome>;

const cacheMs = 500;

export class CachedResults {
  /** The run that equal calls wait for, by cache key. */
  private readonly running = new Map<string, Promise<ToolOutcome | undefined>>();

  constructor(private readonly parts: CachedResultsParts) {}

  /** Answers the call with a cached result, or with that of `run`, which is then cached if the tool's results are. */
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

  /** Makes equal calls wait for this one, until `share` gives an outcome or `end` gives none. */
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

  /** The identity of the file that the tool reads, for the cache key; '' if it reads none. Undefined if the file is not known. */
  private async fileOf({ tool: { readsFile }, arguments: args, context }: RunnableCall): Promise<string | undefined> {
    if (readsFile === undefined) return '';
    try {
      return await this.parts.fileIdentity(context, textOrEmpty(args[readsFile]));
    } catch {
      // The tool itself reports the error of its file.
      return undefined;
    }
  }

  private async read(key: string): Promise<ToolOutcome | undefined> {
    try {
      const text = await this.parts.cache.get(key, AbortSignal.timeout(cacheMs));
      const read = toolOutcomeSchema.safeParse(text === undefined ? undefined : JSON.parse(text));
      return read.success ? read.data : undefined;
    } catch (error) {
      this.parts.logger.warn({ error }, 'cached results of tools cannot be read');
      return undefined;
    }
  }

  /** Ends the planned call with a cached outcome. Undefined if somebody else has begun or ended the call. */
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

/** The outcome of an equal call that runs here now. Undefined if that call fails, because its failure answers no other call. */
function outcomeOf(running: Promise<ToolOutcome | undefined>, signal: AbortSignal): Promise<ToolOutcome | undefined> {
  return unlessAborted(running, signal).catch(() => undefined);
}

/** The outcome if it may be cached. A truncated result refers to a file of its own session. */
function cacheable(outcome: ToolOutcome): ToolOutcome | undefined {
  return outcome.state === 'completed' && outcome.truncated !== true ? outcome : undefined;
}

/** Results are shared within one principal, with what its server is told of it; also within one session if they depend on it. */
function keyOf({ tool, arguments: args, context, forwarded = {}, job }: RunnableCall, file: string): string {
  const session = tool.stateful === true || tool.cachePerSession === true ? context.sessionId : null;
  const caller = [context.principal, session, forwarded, job.roles ?? null, file];
  return `tool-result:${canonicalHash([tool.server, tool.tool, tool.definitionHash, args, ...caller])}`;
}
