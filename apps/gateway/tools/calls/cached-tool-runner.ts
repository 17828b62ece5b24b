// Answers from kept results where the operator said that a tool's may be kept; runs the others, and
// equal ones at the same time once. Failures are never kept, and a cache that is away costs nothing but the run.
import type { Cache } from '#libs/backing/cache.js';
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { toolOutcomeSchema, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { auditContext } from './queued-tool-runner.js';
import { forwardedHeaders } from './forwarding-tool-runner.js';
import type { RunnableCall, ToolProgress, ToolRunner } from './tool-runner.js';

export interface CachedRunnerParts {
  runner: ToolRunner;
  cache: Cache;
  journal: Pick<Journal, 'end' | 'get'>;
  onLookup: (outcome: 'hit' | 'miss' | 'skipped') => void;
  logger: Logger;
}

const cacheMs = 500;

export class CachedToolRunner implements ToolRunner {
  /** Equal calls that wait for one run, by key. */
  private readonly running = new Map<string, Promise<ToolOutcome | undefined>>();

  constructor(private readonly parts: CachedRunnerParts) {}

  hasWorker(): boolean {
    return this.parts.runner.hasWorker();
  }

  async run(
    call: RunnableCall,
    context: CallContext,
    onProgress: (progress: ToolProgress) => void,
  ): Promise<ToolOutcome> {
    const { runner, onLookup } = this.parts;
    const ttlMs = call.tool.cacheTtlMs;
    if (ttlMs === undefined) return runner.run(call, context, onProgress);
    const key = keyOf(call, context);
    if (context.noCache === true) {
      onLookup('skipped');
      return this.runAndKeep(key, call, { context, onProgress, ttlMs });
    }
    const earlier = this.running.get(key);
    const flight = earlier === undefined ? this.begin(key) : undefined;
    try {
      const startedAt = performance.now();
      const kept = earlier === undefined ? await this.read(key) : await outcomeOf(earlier, context.signal);
      flight?.tell(kept);
      const ended =
        kept && (await this.end({ ...kept, cached: true, durationMs: performance.now() - startedAt }, context));
      onLookup(ended === undefined ? 'miss' : 'hit');
      if (ended !== undefined) return ended;
      const outcome = await this.runAndKeep(key, call, { context, onProgress, ttlMs });
      flight?.tell(keepable(outcome));
      return outcome;
    } finally {
      flight?.end();
    }
  }

  /** From now on equal calls wait for this one; `tell` counts once it has something to tell. */
  private begin(key: string): { tell: (outcome: ToolOutcome | undefined) => void; end: () => void } {
    let resolve!: (outcome: ToolOutcome | undefined) => void;
    this.running.set(key, new Promise((resolved) => (resolve = resolved)));
    return {
      tell: (outcome) => void (outcome === undefined || resolve(outcome)),
      end: () => {
        this.running.delete(key);
        resolve(undefined);
      },
    };
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

  /** The call was planned: its one outcome is written as any other. Undefined: someone has ended it, or begun it. */
  private async end(outcome: ToolOutcome, context: CallContext): Promise<ToolOutcome | undefined> {
    if (context.signal.aborted) return undefined;
    const ended = await this.parts.journal.end({ ...auditContext(context), callId: context.callId, outcome });
    return ended ? outcome : undefined;
  }

  private async runAndKeep(
    key: string,
    call: RunnableCall,
    how: { context: CallContext; onProgress: (progress: ToolProgress) => void; ttlMs: number },
  ): Promise<ToolOutcome> {
    const outcome = await this.parts.runner.run(call, how.context, how.onProgress);
    if (keepable(outcome) !== undefined) {
      const { durationMs: _itsOwn, queueWaitMs: _too, ...kept } = outcome;
      const text = JSON.stringify({ ...kept, durationMs: 0 });
      this.parts.cache
        .set(key, text, how.ttlMs, AbortSignal.timeout(cacheMs))
        .catch((error: unknown) => this.parts.logger.warn({ error }, 'the result of a tool could not be kept'));
    }
    return outcome;
  }
}

/** Of an equal call that runs here now; its failure is no answer to anyone else. */
function outcomeOf(running: Promise<ToolOutcome | undefined>, signal: AbortSignal): Promise<ToolOutcome | undefined> {
  return unlessAborted(running, signal).catch(() => undefined);
}

/** What was shortened names a file of its own session. */
function keepable(outcome: ToolOutcome): ToolOutcome | undefined {
  return outcome.state === 'completed' && outcome.truncated !== true ? outcome : undefined;
}

/** One principal's, with the headers that the server is sent; one session's too where the result depends on it. */
function keyOf({ tool, arguments: args }: RunnableCall, context: CallContext): string {
  const session = tool.stateful === true || tool.cachePerSession === true ? context.sessionId : null;
  const caller = [context.principal, session, forwardedHeaders(tool, context)];
  return `tool-result:${canonicalHash([tool.server, tool.tool, tool.definitionHash, args, ...caller])}`;
}
