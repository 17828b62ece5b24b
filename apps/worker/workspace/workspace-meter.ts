// Measures the size of all workspaces, one after another, for a hundredth of the time. The sum is updated when all were counted.
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from '#libs/logging/logger.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';

export interface WorkspaceMeterOptions {
  workspaces: Pick<Workspaces, 'directories' | 'measure'>;
  logger: Logger;
}

/** A pause is this many times as long as the count before it; rounds are at least `everyMs` apart. */
const pauseFactor = 99;
const everyMs = 10_000;

export class WorkspaceMeter {
  private running: Promise<void> | undefined;
  private readonly stop = new AbortController();
  private lastSum: number | undefined;

  constructor(private readonly options: WorkspaceMeterOptions) {}

  /** The result of the last complete count. @throws Error before the first one */
  get bytes(): number {
    if (this.lastSum === undefined) throw new Error('the workspaces have not been counted yet');
    return this.lastSum;
  }

  start(): void {
    this.running ??= this.countOn();
  }

  /** Counts all workspaces once. @throws Error if they cannot be listed; the reason of a stop */
  async count(): Promise<void> {
    const { workspaces, logger } = this.options;
    const { signal } = this.stop;
    let sum = 0;
    for (const name of await workspaces.directories()) {
      const startedAt = performance.now();
      try {
        sum += (await workspaces.measure(name, signal)).bytes;
      } catch (error) {
        signal.throwIfAborted();
        logger.debug({ error, metadata: { directory: name } }, 'a workspace could not be counted');
      }
      await delay((performance.now() - startedAt) * pauseFactor, undefined, { signal, ref: false });
    }
    this.lastSum = sum;
  }

  async close(): Promise<void> {
    this.stop.abort();
    await this.running;
  }

  private async countOn(): Promise<void> {
    const { signal } = this.stop;
    while (!signal.aborted) {
      await this.count().catch((error: unknown) => {
        if (!signal.aborted) this.options.logger.warn({ error }, 'the workspaces could not be counted');
      });
      await delay(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
