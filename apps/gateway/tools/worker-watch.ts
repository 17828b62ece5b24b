// Whether a worker is there, answered from memory. A store that is away changes nothing of what was last known.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import type { ProcessRegistry } from '#libs/runs/process-registry.js';
import { channelNames } from '#libs/schemas/tool-job.js';

const POLL_MS = 2_000;
/** Three missed heartbeats: what the leases call dead. */
const SEEN_WITHIN_MS = 6_000;

export class WorkerWatch {
  #alive = false;
  #timer?: NodeJS.Timeout;
  #stop?: () => Promise<void>;
  #looking?: Promise<void>;

  constructor(
    private readonly registry: ProcessRegistry,
    private readonly channels: Channels,
    private readonly logger: Logger,
  ) {}

  /** A worker that comes announces its catalog: no need to wait for the next look. */
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

  #look(): Promise<void> {
    this.#looking ??= this.registry
      .alive('worker', SEEN_WITHIN_MS)
      .then(
        (workers) => {
          this.#alive = workers.length > 0;
        },
        (error: unknown) => this.logger.debug({ error }, 'workers could not be looked up'),
      )
      .finally(() => (this.#looking = undefined));
    return this.#looking;
  }
}
