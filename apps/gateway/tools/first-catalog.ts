// The wait of a gateway that has just started for its first worker, and with it for the catalog. Until then it would take the
// names of server tools for tools of the caller. It ends once, when a worker has come or has not come in time.
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

  /** For what depends on the catalog. Undefined if there is nothing to wait for. */
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
      // None has come for as long as calls wait for one, or this gateway stops.
      return;
    }
    await this.catalog.refresh();
  }
}
