// Ends connections with tool servers that have not been configured for as long as runs are kept: their tokens are forgotten, and revoked
// where the issuer can still be asked. A server that comes back earlier keeps its connections.
import type { ConnectionKey, ConnectionStore } from '#libs/connections/connection-store.js';
import type { Logger } from '#libs/logging/logger.js';

export interface UnusedConnectionsParts {
  store: Pick<ConnectionStore, 'markUnused' | 'unused'>;
  /** Names of all servers with `auth`, as they are configured now. */
  configured: () => readonly string[];
  /** Removes a connection, and gives back its tokens. */
  end: (key: ConnectionKey, signal: AbortSignal) => Promise<unknown>;
  /** `runs.retention_days` */
  keptMs: number;
  logger: Logger;
}

const sweepMs = 600_000;
/** Each asks an issuer, which may take seconds. The next sweep goes on. */
const maxEnded = 100;

export class UnusedConnections {
  private readonly closed = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> = Promise.resolve();

  constructor(private readonly parts: UnusedConnectionsParts) {}

  start(): void {
    const sweep = () => {
      this.sweeping = this.sweep().catch((error: unknown) => {
        if (!this.closed.signal.aborted) this.parts.logger.warn({ error }, 'unused connections could not be ended');
      });
    };
    sweep();
    this.timer = setInterval(sweep, sweepMs).unref();
  }

  /** @throws AppError store_unavailable; the signal's reason */
  async sweep(): Promise<void> {
    const { store, configured, end, keptMs, logger } = this.parts;
    const { signal } = this.closed;
    await store.markUnused(configured());
    for (const key of await store.unused(keptMs, maxEnded)) {
      signal.throwIfAborted();
      if (configured().includes(key.server)) continue;
      await end(key, signal);
      logger.info(
        { metadata: { server: key.server } },
        'a connection with a server that is configured no more was ended',
      );
    }
  }

  async close(): Promise<void> {
    this.closed.abort(new Error('the gateway is stopping'));
    clearInterval(this.timer);
    await this.sweeping;
  }
}
