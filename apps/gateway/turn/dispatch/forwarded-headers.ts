// Seals the caller's headers for a tool server (forward_headers) in the cache while the call runs. Only the job has the key.
import { SealedValues } from '#libs/backing/sealed-values.js';
import type { Cache } from '#libs/backing/cache.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { RunnableCall } from '../call.js';

const cacheMs = 2_000;

export class ForwardedHeaders {
  private readonly values: SealedValues;

  constructor(
    cache: Cache,
    private readonly logger: Logger,
  ) {
    this.values = new SealedValues(cache);
  }

  /** Stores the headers of a call until `forget`, or the deadline of its request. @throws AppError store_unavailable */
  keep({ sealedHeaders, forwarded, context }: RunnableCall): Promise<void> {
    const ttlMs = Math.max(1, context.deadline.at - steadyNow());
    return this.values.put(sealedHeaders!, JSON.stringify(forwarded), ttlMs, AbortSignal.timeout(cacheMs));
  }

  forget({ sealedHeaders }: RunnableCall): void {
    this.values
      .delete(sealedHeaders!, AbortSignal.timeout(cacheMs))
      .catch((error: unknown) =>
        this.logger.debug({ error }, 'forwarded headers could not be removed and remain until they expire'),
      );
  }
}
