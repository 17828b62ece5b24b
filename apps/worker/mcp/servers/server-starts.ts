// How many programs of tool servers start at once in a worker. A start costs as much of the machine as hundreds of calls:
// fifty at once leave nothing to whoever queues, answers and beats. Who comes later waits in order, for a time.
import { FairSlots } from '#libs/concurrency/fair-slots.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { AppError } from '#libs/schemas/errors.js';

export interface ServerStartsOptions {
  /** Programs that start at once. */
  limit: number;
  onRefused?: (server: string) => void;
  /** How long a start may wait for its turn. */
  waitMs?: number;
  /** One that takes longer mostly waits for something itself: it keeps nobody else from starting. */
  holdMs?: number;
}

/** More are refused at once. */
const maxWaiting = 1_000;

/** There was no turn for it: this says nothing about the server. */
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

  /** @throws StartRefused when its turn does not come in time; the signal's reason; what `start` throws. */
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
