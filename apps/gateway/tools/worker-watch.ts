// Which workers are there, answered from memory. A store that is away changes nothing of whether there is any.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { processExpiryMs, type ProcessRegistry } from '#libs/runs/process-registry.js';
import { channelNames } from '#libs/schemas/tool-job.js';

const POLL_MS = 2_000;

export class WorkerWatch {
  #alive = false;
  /** By id: until when (`performance.now()`) nobody can have given it up, so that its queue is still looked into. */
  #sureUntil = new Map<string, number>();
  #timer?: NodeJS.Timeout;
  #stop?: () => Promise<void>;
  #looking?: Promise<void>;

  constructor(
    private readonly registry: ProcessRegistry,
    private readonly channels: Channels,
    private readonly logger: Logger,
  ) {}

  /** A worker that comes or goes announces its catalog: no need to wait for the next look. */
  async start(): Promise<void> {
    this.#stop = await this.channels.subscribe(channelNames.catalog, () => void this.#look());
    this.#timer = setInterval(() => void this.#look(), POLL_MS);
    this.#timer.unref();
    await this.#look();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#stop?.();
    await this.#looking;
  }

  get hasWorker(): boolean {
    return this.#alive;
  }

  /** Takes jobs from its own queue, for certain: not stopping when last looked, and not to be given up before now. */
  takesJobs(worker: string): boolean {
    return (this.#sureUntil.get(worker) ?? -Infinity) > performance.now();
  }

  #look(): Promise<void> {
    const lookedAt = performance.now();
    this.#looking ??= this.registry
      .alive('worker', processExpiryMs)
      .then(
        (seen) => {
          const workers = seen.filter(({ draining }) => !draining);
          this.#alive = workers.length > 0;
          this.#sureUntil = new Map(workers.map(({ id, ageMs }) => [id, lookedAt + processExpiryMs - ageMs]));
        },
        (error: unknown) => this.logger.debug({ error }, 'workers could not be looked up'),
      )
      .finally(() => (this.#looking = undefined));
    return this.#looking;
  }
}
