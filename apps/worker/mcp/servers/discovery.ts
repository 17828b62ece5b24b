// Remembers a server's era and transport. Shared by all workers through the cache, so that each server is probed once. A
// worker that finds the value outdated deletes it.
import { isDeepStrictEqual } from 'node:util';
import type { PriorDiscovery } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { Cache } from '#libs/backing/cache.js';
import { canonicalHash } from '#libs/json-schema/canonical-hash.js';
import type { Logger } from '#libs/logging/logger.js';

export type Discovery = PriorDiscovery & {
  /** The discovered transport; absent if it is configured. */
  transport?: 'http' | 'sse';
};

const transport = z.enum(['http', 'sse']).optional();
const discoverySchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('legacy'), transport }),
  // The SDK checks the rest.
  z.object({
    kind: z.literal('modern'),
    discover: z.looseObject({ supportedVersions: z.array(z.string()).min(1), capabilities: z.looseObject({}) }),
    transport,
  }),
]);

/** Undefined if the value is no discovery. */
export const readDiscovery = (value: unknown): Discovery | undefined => discoverySchema.safeParse(value).data;

/** After this time, a server is probed again, in case it was upgraded. */
const lifeMs = 3_600_000;
const cacheMs = 1_000;

/** A slower failure means that the server is unavailable, not that the discovery is outdated. */
const quickMs = 5_000;

/** Connects with the known discovery. If that fails at once, discovers the server again. */
export async function connectKnowing<T>(
  memory: DiscoveryMemory | undefined,
  signal: AbortSignal,
  connect: (known: Discovery | undefined) => Promise<T>,
): Promise<T> {
  const known = await memory?.recall();
  if (known === undefined) return connect(undefined);
  const startedAt = performance.now();
  try {
    return await connect(known);
  } catch (error) {
    memory?.forget();
    if (signal.aborted || performance.now() - startedAt > quickMs) throw error;
    return connect(undefined);
  }
}

export interface DiscoveryKey {
  server: string;
  configHash: string;
  /** Identifies the caller, if the caller's headers are sent to the server. */
  credential?: string;
}

export class DiscoveryMemory {
  private readonly key: string;
  private known: { discovery: Discovery; until: number } | undefined;
  /** The shared value was wrong. It is being deleted, and ignored until then. */
  private distrusted = false;

  /** `cache` shares it with other workers. */
  constructor(
    key: DiscoveryKey,
    private readonly cache: Cache | undefined,
    private readonly logger: Logger,
  ) {
    this.key = `mcp-discovery:${canonicalHash(key)}`;
  }

  /** Never rejects: without a readable value, the server is discovered again. */
  async recall(): Promise<Discovery | undefined> {
    const known = this.local();
    if (known !== undefined || this.distrusted || this.cache === undefined) return known;
    try {
      const text = await this.cache.get(this.key, AbortSignal.timeout(cacheMs));
      const read = readDiscovery(text === undefined ? undefined : JSON.parse(text));
      if (read !== undefined) this.known = { discovery: read, until: performance.now() + lifeMs };
      return read;
    } catch (error) {
      this.report(error);
      return undefined;
    }
  }

  keep(discovery: Discovery): void {
    this.distrusted = false;
    // An unchanged discovery is not stored again, so use does not extend its life.
    if (isDeepStrictEqual(discovery, this.local())) return;
    this.known = { discovery, until: performance.now() + lifeMs };
    this.cache
      ?.set(this.key, JSON.stringify(discovery), lifeMs, AbortSignal.timeout(cacheMs))
      .catch((error: unknown) => this.report(error));
  }

  /** Call it if the discovery was wrong. */
  forget(): void {
    this.distrusted = true;
    this.known = undefined;
    this.cache?.delete(this.key, AbortSignal.timeout(cacheMs)).catch((error: unknown) => this.report(error));
  }

  private local(): Discovery | undefined {
    return this.known !== undefined && performance.now() < this.known.until ? this.known.discovery : undefined;
  }

  private report(error: unknown): void {
    this.logger.debug({ error }, 'the discovery of a tool server could not be shared');
  }
}
