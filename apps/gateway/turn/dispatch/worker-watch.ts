// Knows from memory which workers are alive. While the store is away, the last known state holds.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { processExpiryMs, type ProcessRegistry } from '#libs/runs/processes/process-registry.js';
import { channelNames } from '#libs/schemas/tool-job.js';

const pollMs = 2_000;

export class WorkerWatch {
  private alive = false;
  /** By worker id: until when (`performance.now()`) the worker cannot have expired, so that it still reads its queue. */
  private sureUntil = new Map<string, number>();
  private timer?: NodeJS.Timeout;
  private stop?: () => Promise<void>;
  private looking?: Promise<void>;
  /** Functions that end the waits for a worker. */
  private readonly waiting = new Set<() => void>();
  private closed = false;

  constructor(
    private readonly registry: ProcessRegistry,
    private readonly channels: Channels,
    private readonly logger: Logger,
  ) {}

  /** Looks periodically, and whenever a worker that comes or goes announces its catalog. */
  async start(): Promise<void> {
    this.stop = await this.channels.subscribe(channelNames.catalog, () => void this.look());
    this.timer = setInterval(() => void this.look(), pollMs).unref();
    await this.look();
  }

  async close(): Promise<void> {
    this.endWaits();
    clearInterval(this.timer);
    await this.stop?.();
    await this.looking;
  }

  get hasWorker(): boolean {
    return this.alive;
  }

  /** Resolves once a worker is alive, after `ms`, when the signal aborts, or after `endWaits`. */
  untilWorker(ms: number, signal: AbortSignal): Promise<void> {
    if (this.alive || this.closed || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', end);
        this.waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, Math.max(0, ms));
      signal.addEventListener('abort', end, { once: true });
      this.waiting.add(end);
    });
  }

  /** Whether the worker is certain to read its own queue: it was not stopping, and its heartbeat cannot have expired. */
  takesJobs(worker: string): boolean {
    return (this.sureUntil.get(worker) ?? -Infinity) > performance.now();
  }

  /** Ends all waits, and lets none begin. */
  endWaits(): void {
    this.closed = true;
    this.wake();
  }

  private wake(): void {
    for (const end of this.waiting) end();
  }

  private look(): Promise<void> {
    const lookedAt = performance.now();
    this.looking ??= this.registry
      .alive('worker', processExpiryMs)
      .then(
        (seen) => {
          const workers = seen.filter(({ draining }) => !draining);
          this.alive = workers.length > 0;
          if (this.alive) this.wake();
          this.sureUntil = new Map(workers.map(({ id, ageMs }) => [id, lookedAt + processExpiryMs - ageMs]));
        },
        (error: unknown) => this.logger.debug({ error }, 'workers could not be looked up'),
      )
      .finally(() => (this.looking = undefined));
    return this.looking;
  }
}
