// Sends along what a server is to be sent of the caller's request (forward_headers). A job carries no secret: it names
// where the values are, sealed, for as long as the request may last.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { SealedValues, mintSealedReference, type SealedReference } from '#libs/backing/sealed-values.js';
import type { Cache } from '#libs/backing/cache.js';
import type { Logger } from '#libs/logging/logger.js';
import type { PlannedCall } from '#libs/runs/run-store.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { RunnableCall, ToolProgress, ToolRunner } from './tool-runner.js';

export interface PlanningToolRunner extends ToolRunner {
  planCall(tool: CatalogTool, args: JsonObject, context: CallContext): PlannedCall;
}

const cacheMs = 2_000;

export class ForwardingToolRunner implements PlanningToolRunner {
  private readonly values: SealedValues;
  /** A call is planned and run with one context. */
  private readonly references = new WeakMap<CallContext, SealedReference>();

  constructor(
    private readonly runner: PlanningToolRunner,
    cache: Cache,
    private readonly logger: Logger,
  ) {
    this.values = new SealedValues(cache);
  }

  hasWorker(): boolean {
    return this.runner.hasWorker();
  }

  planCall(tool: CatalogTool, args: JsonObject, context: CallContext): PlannedCall {
    return this.runner.planCall(tool, args, this.withReference(tool, context));
  }

  async run(
    call: RunnableCall,
    context: CallContext,
    onProgress: (progress: ToolProgress) => void,
  ): Promise<ToolOutcome> {
    const given = this.withReference(call.tool, context);
    const { sealedHeaders } = given;
    if (sealedHeaders === undefined) return this.runner.run(call, context, onProgress);
    const text = JSON.stringify(forwardedHeaders(call.tool, context));
    const ttlMs = Math.max(1, context.deadline - steadyNow());
    await this.values.put(sealedHeaders, text, ttlMs, AbortSignal.timeout(cacheMs));
    try {
      return await this.runner.run(call, given, onProgress);
    } finally {
      this.values
        .delete(sealedHeaders, AbortSignal.timeout(cacheMs))
        .catch((error: unknown) => this.logger.debug({ error }, 'forwarded headers end by their time'));
    }
  }

  private withReference(tool: CatalogTool, context: CallContext): CallContext {
    if (Object.keys(forwardedHeaders(tool, context)).length === 0) return context;
    const known = this.references.get(context) ?? mintSealedReference();
    this.references.set(context, known);
    return { ...context, sealedHeaders: known };
  }
}

/** By their names in small letters; those that the request has. */
export function forwardedHeaders(
  { forwardHeaders = [] }: Pick<CatalogTool, 'forwardHeaders'>,
  { header }: Pick<CallContext, 'header'>,
): Record<string, string> {
  return Object.fromEntries(
    forwardHeaders.flatMap((name) => {
      const value = header?.(name);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
