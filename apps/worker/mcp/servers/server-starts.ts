// Limits how many tool server programs start at once in a worker. A start costs as much as hundreds of calls: fifty at
// once would starve the queue, the answers and the heartbeats. Later ones wait in order, for a limited time.
import { FairSlots } from '#libs/concurrency/fair-slots.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError } from '#libs/schemas/errors.js';

export interface ServerStartsOptions {
  /** Programs that start at once. */
  limit: number;
  onRefused?: (server: string) => void;
  /** How long a start may wait for its turn. */
  waitMs?: number;
  /** A slower start mostly waits for something itself: it no longer blocks others. */
  holdMs?: number;
}

/** Beyond this number starts are refused at once. */
const maxWaiting = 1_000;

/** Its turn did not come in time: this says nothing about the server. */
export class StartRefused extends AppError {}

export class ServerStarts {
  private readonly slots: FairSlots;
  private readonly waitingByServer = new Map<string, number>();

  constructor(private readonly options: ServerStartsOptions) {
    this.slots = new FairSlots(options.limit, maxWaiting, 'starts');
  }

  /** Starts of the server that wait for their turn. */
  waiting(server: string): number {
    return this.waitingByServer.get(server) ?? 0;
  }

  /** @throws StartRefused if its turn does not come in time; the signal's reason; errors of `start`. */
  async run<T>(server: string, signal: AbortSignal, start: () => Promise<T>): Promise<T> {
    const giveBack = await this.turn(server, signal);
    const timer = setTimeout(giveBack, this.options.holdMs ?? 5_000);
    try {
      return await start();
    } finally {
      clearTimeout(timer);
      giveBack();
    }
  }

  private async turn(server: string, signal: AbortSignal): Promise<() => void> {
    const { onRefused, waitMs = 30_000 } = this.options;
    this.count(server, 1);
    try {
      return await this.slots.take('', { signal, deadline: steadyNow() + waitMs });
    } catch (error) {
      if (signal.aborted) throw error;
      onRefused?.(server);
      throw new StartRefused('tool_unavailable', `The tool server '${server}' was not started: too many others start`, {
        cause: error,
      });
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
