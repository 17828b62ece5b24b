// Gathers what was used and writes the sums: at once with a round or an end of a run that is written anyway, else a quarter of
// a second later. What could not be written is written later; only a process that dies loses what it has not written.
import type { Logger } from '#libs/logging/logger.js';
import { storedText } from '#libs/postgres/stored-text.js';
import type { StoreWrites } from '#libs/runs/store-writes.js';

export interface Used {
  keyId: string | undefined;
  principal: string;
  /** `provider/model`; empty: of tool calls, and of a turn whose model never answered. */
  model: string;
  /** `server/tool`; empty: of the turn itself. */
  tool: string;
  requests: number;
  calls: number;
  promptTokens: number;
  completionTokens: number;
  nanoUsd: number;
}

export interface UsageMeterParts {
  writes: Pick<StoreWrites, 'submit'>;
  logger: Logger;
  onDropped: () => void;
  /** Sums that wait to be written; what would need another is not counted. */
  maxSums?: number;
}

const gatherMs = 250;
const againMs = 2_000;
const maxNameLength = 256;
/** Gateways choose one of these: two that write the same row wait for each other's commits. */
const shards = 16;

export class UsageMeter {
  private readonly shard = Math.floor(Math.random() * shards);
  private readonly writing = new Set<Promise<void>>();
  private sums = new Map<string, Used>();
  private timer: NodeJS.Timeout | undefined;
  private soon = false;
  /** Said once, not for every sum. */
  private failing = false;
  private closed = false;

  constructor(private readonly parts: UsageMeterParts) {}

  add(used: Used): void {
    const key = `${used.keyId ?? ''}\n${used.principal}\n${used.model}\n${used.tool}`;
    const sum = this.sums.get(key);
    if (sum !== undefined) {
      sum.requests += used.requests;
      sum.calls += used.calls;
      sum.promptTokens += used.promptTokens;
      sum.completionTokens += used.completionTokens;
      sum.nanoUsd += used.nanoUsd;
      return;
    }
    if (this.sums.size >= (this.parts.maxSums ?? 10_000)) return this.parts.onDropped();
    this.sums.set(key, { ...used });
    this.schedule(gatherMs);
  }

  /** Does not wait for more: other gateways are to know at once what was spent of a budget. */
  flushSoon(): void {
    if (this.soon || this.sums.size === 0) return;
    this.soon = true;
    setImmediate(() => {
      this.soon = false;
      void this.flush();
    });
  }

  /** Resolves when all that was added by now is written, or could not be. Never rejects. */
  async flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { sums } = this;
    if (sums.size > 0) {
      this.sums = new Map();
      for (const used of sums.values()) this.write(used);
    }
    await Promise.all(this.writing);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.flush();
  }

  private write(used: Used): void {
    const written = this.parts.writes
      .submit('usage', this.rowOf(used))
      .then(() => void (this.failing = false))
      .catch((error: unknown) => {
        if (!this.failing) this.parts.logger.warn({ error }, 'usage could not be written yet');
        this.failing = true;
        if (this.closed) return;
        this.add(used);
        this.schedule(againMs);
      })
      .finally(() => this.writing.delete(written));
    this.writing.add(written);
  }

  private schedule(ms: number): void {
    if (this.timer !== undefined && ms <= gatherMs) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.flush(), ms);
    this.timer.unref();
  }

  private rowOf(used: Used) {
    return {
      key_id: storedText(used.keyId ?? ''),
      principal: storedText(used.principal),
      model: storedText(used.model.slice(0, maxNameLength)),
      tool: storedText(used.tool.slice(0, maxNameLength)),
      shard: this.shard,
      requests: used.requests,
      calls: used.calls,
      prompt_tokens: used.promptTokens,
      completion_tokens: used.completionTokens,
      cost_nano_usd: used.nanoUsd,
    };
  }
}
