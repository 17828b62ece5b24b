// Makes requests of a gateway that has just started wait for the first worker and its catalog: without the catalog, names of
// server tools would be taken for tools of the caller. The wait ends once, when a worker has come or has not come in time.
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';
import type { QueuedToolRunner } from '../turn/dispatch/queued-tool-runner.js';
import type { MemoryToolCatalog } from './memory-tool-catalog.js';

export class FirstCatalog {
  private readonly stopped = new AbortController();
  private begun: Promise<void> | undefined;

  constructor(
    private readonly catalog: Pick<MemoryToolCatalog, 'refresh'>,
    private readonly runner: Pick<QueuedToolRunner, 'untilWorker'>,
  ) {}

  /** Resolves at the end of the wait. */
  async start(): Promise<void> {
    this.begun = this.look();
    await this.begun;
    this.begun = undefined;
  }

  /** Waits for the catalog. Undefined if the wait is over. */
  wait(signal: AbortSignal): Promise<void> | undefined {
    return this.begun && unlessAborted(this.begun, signal);
  }

  close(): void {
    this.stopped.abort();
  }

  /** A worker publishes its builtin tools before it is seen. */
  private async look(): Promise<void> {
    try {
      await this.runner.untilWorker(
        { timeoutMs: Infinity },
        { signal: this.stopped.signal, deadline: { at: Infinity } },
      );
    } catch {
      // No worker has come in time, or this gateway stops.
      return;
    }
    await this.catalog.refresh();
  }
}
