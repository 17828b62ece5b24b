// Keeps the size of all workspaces known without ever looking at all of them at once: some of them at a time, and the sum
// when every one has had its turn. What a tool writes meanwhile is in the next sum.
import type { Logger } from '#libs/logging/logger.js';
import type { Workspaces } from '#libs/workspace/workspaces.js';

export interface WorkspaceMeterOptions {
  workspaces: Pick<Workspaces, 'directories' | 'measure'>;
  logger: Logger;
  /** After so long a look begins no further workspace, ms. */
  budgetMs?: number;
}

/** Between two looks. */
const everyMs = 10_000;

export class WorkspaceMeter {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private readonly stop = new AbortController();
  /** Of the round under way: what is left of it, and what has been counted. */
  private left: string[] = [];
  private sum = 0;
  private lastSum: number | undefined;

  constructor(private readonly options: WorkspaceMeterOptions) {}

  /** As the last complete round found it. @throws Error before there was one. */
  get bytes(): number {
    if (this.lastSum === undefined) throw new Error('the workspaces have not been counted yet');
    return this.lastSum;
  }

  start(): void {
    this.timer ??= setInterval(() => void this.look(), everyMs);
    this.timer.unref();
    void this.look();
  }

  /** Counts for as long as the budget lasts; while one is under way, that one. Never throws. */
  look(): Promise<void> {
    this.running ??= this.lookOnce()
      .catch((error: unknown) => {
        if (this.stop.signal.aborted) return;
        this.options.logger.warn({ error }, 'the workspaces could not be counted');
      })
      .finally(() => (this.running = undefined));
    return this.running;
  }

  /** Resolves when nothing is looked at any more. */
  async close(): Promise<void> {
    clearInterval(this.timer);
    this.stop.abort();
    await this.running;
  }

  private async lookOnce(): Promise<void> {
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
