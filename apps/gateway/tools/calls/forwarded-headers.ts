// The headers of a caller that a tool's server is sent (forward_headers): kept sealed in the cache while the call runs, with
// the key in its job alone.
import { SealedValues } from '#libs/backing/sealed-values.js';
import type { Cache } from '#libs/backing/cache.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { ServerCall } from './server-call.js';

const cacheMs = 2_000;

export class ForwardedHeaders {
  private readonly values: SealedValues;

  constructor(
    cache: Cache,
    private readonly logger: Logger,
  ) {
    this.values = new SealedValues(cache);
  }

  /** Of a call that has some. @throws AppError store_unavailable if they cannot be kept */
  async keepWhile(call: ServerCall, run: () => Promise<ToolOutcome>): Promise<ToolOutcome> {
    const reference = call.sealedHeaders!;
    const ttlMs = Math.max(1, call.context.deadline - steadyNow());
    await this.values.put(reference, JSON.stringify(call.forwarded), ttlMs, AbortSignal.timeout(cacheMs));
    try {
      return await run();
    } finally {
      this.values
        .delete(reference, AbortSignal.timeout(cacheMs))
        .catch((error: unknown) => this.logger.debug({ error }, 'forwarded headers stay until their time is over'));
    }
  }
}
