// Tells all gateways which resources have changed, as the tool servers of this worker say. Several changes of one resource in a short
// time are one. A lost message is a lost notification.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { channelNames, type ResourceUpdate } from '#libs/schemas/tool-job.js';
import type { ToolConnection } from '../mcp/servers/connection.js';

const gatherMs = 100;
const maxWaiting = 1_000;
const publishMs = 2_000;

export class ResourceUpdates {
  private readonly watched = new WeakSet<ToolConnection>();
  private readonly waiting = new Map<string, ResourceUpdate>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly channels: Channels,
    private readonly logger: Logger,
  ) {}

  watch(server: string, connection: ToolConnection): void {
    if (this.watched.has(connection)) return;
    this.watched.add(connection);
    connection.onResourceUpdated((uri) => this.add({ server, uri }));
  }

  close(): void {
    clearTimeout(this.timer);
    this.waiting.clear();
  }

  private add(update: ResourceUpdate): void {
    if (this.waiting.size >= maxWaiting) return;
    this.waiting.set(JSON.stringify(update), update);
    this.timer ??= setTimeout(() => void this.flush(), gatherMs);
  }

  private async flush(): Promise<void> {
    this.timer = undefined;
    const texts = [...this.waiting.keys()];
    this.waiting.clear();
    const room = this.channels.maxMessageBytes - 64;
    let piece: string[] = [];
    let bytes = 0;
    try {
      for (const text of texts) {
        const size = Buffer.byteLength(text) + 1;
        if (piece.length > 0 && bytes + size > room) {
          await this.publish(piece);
          piece = [];
          bytes = 0;
        }
        piece.push(text);
        bytes += size;
      }
      if (piece.length > 0) await this.publish(piece);
    } catch (error) {
      this.logger.warn({ error }, 'changes of resources could not be announced');
    }
  }

  private publish(updates: readonly string[]): Promise<void> {
    const message = `{"version":1,"updates":[${updates.join(',')}]}`;
    return this.channels.publish(channelNames.resourceUpdates, message, AbortSignal.timeout(publishMs));
  }
}
