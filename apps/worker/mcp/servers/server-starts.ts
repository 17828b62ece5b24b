// Limits how many programs of tool servers start at once in a worker. A start costs as much as hundreds of calls, so many at
// once would delay jobs, replies and heartbeats. Further starts wait in order, for a limited time.
import { FairSlots } from '#libs/concurrency/fair-slots.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError } from '#libs/schemas/errors.js';

export interface ServerStartsOptions {
  limit: number;
  onRefused?: (server: string) => void;
  waitMs?: number;
  /** A start that takes longer no longer counts, since it is probably waiting for something. */
  holdMs?: number;
}

const maxWaiting = 1_000;

/** A start had to wait too long. The wait is no failure of the server. */
export class StartRefused extends AppError {}

export class ServerStarts {
  private readonly slots: FairSlots;
  private readonly waitingByServer = new Map<string, number>();

  constructor(private readonly options: ServerStartsOptions) {
    this.slots = new FairSlots(options.limit, maxWaiting, 'starts');
  }

  waiting(server: string): number {
    return this.waitingByServer.get(server) ?? 0;
  }

  /** @throws StartRefused after too long a wait, the signal's reason, errors of `start` */
  async run<T>(server: string, signal: AbortSignal, start: () => Promise<T>): Promise<T> {
    const giveBack = await this.waitForSlot(server, signal);
    const timer = setTimeout(giveBack, this.options.holdMs ?? 5_000);
    try {
      return await start();
    } finally {
      clearTimeout(timer);
      giveBack();
    }
  }

  private async waitForSlot(server: string, signal: AbortSignal): Promise<() => void> {
    const { onRefused, waitMs = 30_000 } = this.options;
    this.count(server, 1);
    try {
      return await this.slots.take('', { signal, deadline: steadyNow() + waitMs });
    } catch (error) {
      if (signal.aborted) throw error;
      onRefused?.(server);
      throw new StartRefused(
        'tool_unavailable',
        `The tool server '${server}' was not started: too many others are starting`,
        {
          cause: error,
        },
      );
    } finally {
      this.count(server, -1);
    }
  }

  private count(server: string, by: number): void {
    const count = this.waiting(server) + by;
    if (count === 0) this.waitingByServer.delete(server);
    else this.waitingByServer.set(server, count);
  }
}
