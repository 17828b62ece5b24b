// Notifies followers of a run, on any gateway, of new events. Notifications are combined for a moment, because followers poll as
// well, and a message costs more than most events.
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

  /** Sends all pending notifications. */
  close(): void {
    clearTimeout(this.timer);
    this.send();
  }

  private send(): void {
    this.timer = undefined;
    for (const runId of this.pending) {
      // Without this notification followers poll, up to a second later.
      this.channels.publish(channelNames.runEvents(runId), '{}').catch(() => undefined);
    }
    this.pending.clear();
  }
}
