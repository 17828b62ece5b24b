// The wait of a gateway that has just started for its first worker, and with it for the catalog. Until then it would take the
// names of server tools for tools of the caller. It ends once, when a worker has come or has not come in time.
import { unlessAborted } from '#libs/concurrency/unless-aborted.js';

export interface FirstCatalogParts {
  /** Reads what workers have published. Never rejects. */
  refresh: () => Promise<void>;
  /**
   * Resolves once there is a worker, rejects after the time that calls wait for one. A worker publishes its builtin tools
   * before it is seen.
   */
  untilWorker: (signal: AbortSignal) => Promise<void>;
}

export class FirstCatalog {
  private readonly stopped = new AbortController();
  private begun: Promise<void> | undefined;

  constructor(private readonly parts: FirstCatalogParts) {}

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

  private async look(): Promise<void> {
    const { refresh, untilWorker } = this.parts;
    const seen = await untilWorker(this.stopped.signal).then(
      () => true,
      () => false,
    );
    if (seen) await refresh();
  }
}
