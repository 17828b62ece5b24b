// Tells whoever follows a run, here or on another gateway, that it has gone on. What happens within a moment is told
// together: followers look by themselves too, and a message of its own costs more than most of what it tells of.
import type { Channels } from '#libs/backing/channels.js';
import { channelNames } from '#libs/schemas/tool-job.js';

const gatherMs = 10;

export class RunAnnouncements {
  /** At most the runs that are under way. */
  private readonly waiting = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly channels: Pick<Channels, 'publish'>) {}

  announce(runId: string): void {
    this.waiting.add(runId);
    this.timer ??= setTimeout(() => this.tell(), gatherMs);
  }

  /** What still waits is told now. */
  close(): void {
    clearTimeout(this.timer);
    this.tell();
  }

  private tell(): void {
    this.timer = undefined;
    for (const runId of this.waiting) {
      // An announcement that is lost costs its followers a second.
      this.channels.publish(channelNames.runEvents(runId), '{}').catch(() => undefined);
    }
    this.waiting.clear();
  }
}
