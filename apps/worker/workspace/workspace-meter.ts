// Measures the size of all workspaces, a few at a time. The sum is updated when all were counted.
import type { Logger } from '#libs/logging/logger.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';

export interface WorkspaceMeterOptions {
  workspaces: Pick<Workspaces, 'directories' | 'measure'>;
  logger: Logger;
  /** After this time in ms, a step starts no further workspace. */
  budgetMs?: number;
}

const everyMs = 10_000;

export class WorkspaceMeter {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private readonly stop = new AbortController();
  /** The workspaces of the current count that are left. */
  private left: string[] = [];
  private sum = 0;
  private lastSum: number | undefined;

  constructor(private readonly options: WorkspaceMeterOptions) {}

  /** The result of the last complete count. @throws Error before the first one */
  get bytes(): number {
    if (this.lastSum === undefined) throw new Error('the workspaces have not been counted yet');
    return this.lastSum;
  }

  start(): void {
    this.timer ??= setInterval(() => void this.step(), everyMs);
    this.timer.unref();
    void this.step();
  }

  /** Counts until the budget is used up, or waits for the step under way. Never throws. */
  step(): Promise<void> {
    this.running ??= this.count()
      .catch((error: unknown) => {
        if (this.stop.signal.aborted) return;
        this.options.logger.warn({ error }, 'the workspaces could not be counted');
      })
      .finally(() => (this.running = undefined));
    return this.running;
  }

  /** Resolves when no count is under way. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    this.stop.abort();
    await this.running;
  }

  private async count(): Promise<void> {
    const { workspaces, logger, budgetMs = 100 } = this.options;
    const until = performance.now() + budgetMs;
    if (this.left.length === 0) {
      this.left = await workspaces.directories();
      this.sum = 0;
    }
    for (let name = this.left.pop(); name !== undefined; name = this.left.pop()) {
      try {
        this.sum += (await workspaces.measure(name, this.stop.signal)).bytes;
      } catch (error) {
        this.stop.signal.throwIfAborted();
        logger.debug({ error, metadata: { directory: name } }, 'a workspace could not be counted');
      }
      if (performance.now() >= until) break;
    }
    if (this.left.length === 0) this.lastSum = this.sum;
  }
}
