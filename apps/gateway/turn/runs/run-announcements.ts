// Notifies followers of a run, on any gateway, that it has progressed. Notifications are combined for a moment, because
// followers poll as well, and a message costs more than most of the events it announces.
import type { Channels } from '#libs/backing/channels.js';
import { channelNames } from '#libs/schemas/tool-job.js';

const gatherMs = 10;

export class RunAnnouncements {
  /** Bounded by the number of runs under way. */
  private readonly pending = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly channels: Pick<Channels, 'publish'>) {}

  announce(runId: string): void {
    this.pending.add(runId);
    this.timer ??= setTimeout(() => this.send(), gatherMs);
  }

  /** Sends all waiting notifications. */
  close(): void {
    clearTimeout(this.timer);
    this.send();
  }

  private send(): void {
    this.timer = undefined;
    for (const runId of this.pending) {
      // A lost notification delays followers by up to a second.
      this.channels.publish(channelNames.runEvents(runId), '{}').catch(() => undefined);
    }
    this.pending.clear();
  }
}
