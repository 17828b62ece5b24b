// Adds up usage and writes the sums: at once with a round or an end of a run that is written anyway, else a quarter of
// a second later. Sums that may not have been written are written later under the same id, which counts once; only a
// process that dies loses unwritten usage.
import type { Logger } from '#libs/logging/logger.js';
import { storedText } from '#libs/postgres/stored-text.js';
import type { StoreWrites } from '#libs/runs/store-writes.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import { isStoreAway } from '#libs/store-error/store-error.js';

export interface Used {
  keyId: string | undefined;
  principal: string;
  /** `provider/model`; empty for tool calls, and for a turn whose model never answered. */
  model: string;
  /** `server/tool`; empty for the turn itself. */
  tool: string;
  requests: number;
  calls: number;
  /** Calls that failed. */
  failures?: number;
  promptTokens: number;
  completionTokens: number;
  nanoUsd: number;
  /** Tokens of a model without a price: what they cost is not known. */
  unpricedTokens?: number;
}

export interface UsageMeterParts {
  writes: Pick<StoreWrites, 'submit'>;
  logger: Logger;
  onDropped: () => void;
  /** Sums that may wait to be written; usage that would need another sum is not counted. */
  maxSums?: number;
}

/** Sums that are written together, or not at all. */
interface UsageBatch {
  id: string;
  sums: ReturnType<typeof rowOf>[];
}

const gatherMs = 250;
const againMs = 2_000;
const maxNameLength = 256;
/** Gateways choose one of these: two that write the same row wait for each other's commits. */
const shards = 16;

export class UsageMeter {
  private readonly shard = Math.floor(Math.random() * shards);
  private readonly writing = new Set<Promise<void>>();
  /** Batches that may have been written. */
  private readonly unsure: UsageBatch[] = [];
  private readonly sums = new Map<string, Used>();
  private timer: NodeJS.Timeout | undefined;
  private soon = false;
  /** A failure is logged once, not for every sum. */
  private failing = false;
  private closed = false;

  constructor(private readonly parts: UsageMeterParts) {}

  add(used: Used): void {
    const key = `${used.keyId ?? ''}\n${used.principal}\n${used.model}\n${used.tool}`;
    const sum = this.sums.get(key);
    if (sum !== undefined) {
      sum.requests += used.requests;
      sum.calls += used.calls;
      sum.failures = (sum.failures ?? 0) + (used.failures ?? 0);
      sum.promptTokens += used.promptTokens;
      sum.completionTokens += used.completionTokens;
      sum.nanoUsd += used.nanoUsd;
      sum.unpricedTokens = (sum.unpricedTokens ?? 0) + (used.unpricedTokens ?? 0);
      return;
    }
    const unsure = this.unsure.reduce((count, { sums }) => count + sums.length, 0);
    if (this.sums.size + unsure >= (this.parts.maxSums ?? 10_000)) return this.parts.onDropped();
    this.sums.set(key, { ...used });
    this.schedule(gatherMs);
  }

  /** Does not wait for more usage: other gateways should know at once what was spent of a budget. */
  flushSoon(): void {
    if (this.soon || this.sums.size === 0) return;
    this.soon = true;
    setImmediate(() => {
      this.soon = false;
      this.send();
    });
  }

  /** Writes the usage so far together with whatever else is written in this turn of the event loop. */
  send(): void {
    if (this.failing || this.unsure.length > 0) return void this.flush();
    this.stopTimer();
    this.writeSums();
  }

  /** Resolves when all usage so far is written, or could not be. Never rejects. */
  async flush(): Promise<void> {
    this.stopTimer();
    for (const batch of this.unsure.splice(0)) this.write(batch);
    // Sums gather while the store is away, instead of batches.
    if (this.failing) await Promise.all(this.writing);
    if (!this.failing || this.closed) this.writeSums();
    await Promise.all(this.writing);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.flush();
  }

  private writeSums(): void {
    if (this.sums.size === 0) return;
    const sums = [...this.sums.values()].map((used) => rowOf(used, this.shard));
    this.sums.clear();
    this.write({ id: uuidv7(), sums });
  }

  private write(batch: UsageBatch): void {
    const written = this.parts.writes.submit('usage', { ...batch }).then(
      () => {
        this.writing.delete(written);
        this.failing = false;
      },
      (error: unknown) => {
        this.writing.delete(written);
        this.failed(batch, error);
      },
    );
    this.writing.add(written);
  }

  private failed(batch: UsageBatch, error: unknown): void {
    if (!isStoreAway(error)) {
      this.parts.logger.warn({ error }, 'usage was refused by the store');
      for (const _sum of batch.sums) this.parts.onDropped();
      return;
    }
    if (!this.failing) this.parts.logger.warn({ error }, 'usage could not be written yet');
    this.failing = true;
    if (this.closed) return;
    this.unsure.push(batch);
    this.schedule(againMs);
  }

  private stopTimer(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private schedule(ms: number): void {
    if (this.timer !== undefined && ms <= gatherMs) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.flush(), ms).unref();
  }
}

function rowOf(used: Used, shard: number) {
  return {
    key_id: storedText(used.keyId ?? ''),
    principal: storedText(used.principal),
    model: storedText(used.model.slice(0, maxNameLength)),
    tool: storedText(used.tool.slice(0, maxNameLength)),
    shard,
    requests: used.requests,
    calls: used.calls,
    failures: used.failures ?? 0,
    prompt_tokens: used.promptTokens,
    completion_tokens: used.completionTokens,
    cost_nano_usd: used.nanoUsd,
    unpriced_tokens: used.unpricedTokens ?? 0,
  };
}
