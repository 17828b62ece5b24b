// Tells all gateways which resources have changed, as the tool servers of this worker say. Several changes of one resource in a short
// time are one. A lost message is a lost notification.
import type { Channels } from '#libs/backing/channels.js';
import { Batch } from '#libs/concurrency/batch.js';
import type { Logger } from '#libs/logging/logger.js';
import { channelNames, type InstanceOwner, type ResourceUpdate } from '#libs/schemas/tool-job.js';
import { storeUnavailable } from '#libs/store-error/store-error.js';
import type { ToolConnection } from '../mcp/servers/connection.js';

const gatherMs = 100;
const maxWaiting = 1_000;
const publishMs = 2_000;
const envelopeBytes = 64;

export class ResourceUpdates {
  private readonly watched = new WeakSet<ToolConnection>();
  private readonly waiting = new Set<string>();
  private readonly batch: Batch<string>;

  constructor(
    private readonly channels: Channels,
    private readonly logger: Logger,
  ) {
    this.batch = new Batch({
      flush: (updates) => this.publish(updates),
      schedule: (flush) => setTimeout(flush, gatherMs).unref(),
      oneByOne: true,
      maxSize: channels.maxMessageBytes - envelopeBytes,
      sizeOf: (update) => Buffer.byteLength(update) + 1,
      maxWaiting,
      refusal: () => storeUnavailable('Too many changes of resources wait to be announced'),
    });
  }

  /** Only those whose instance of the server it is are told. */
  watch(server: string, connection: ToolConnection, owner: InstanceOwner): void {
    if (this.watched.has(connection)) return;
    this.watched.add(connection);
    connection.onResourceUpdated((uri) => this.add({ server, uri, ...owner }));
  }

  private add(update: ResourceUpdate): void {
    const text = JSON.stringify(update);
    if (this.waiting.has(text)) return;
    this.waiting.add(text);
    this.batch.submit(text).catch((error: unknown) => {
      this.waiting.delete(text);
      this.logger.warn({ error }, 'a change of a resource could not be announced');
    });
  }

  private publish(updates: readonly string[]): Promise<void> {
    for (const update of updates) this.waiting.delete(update);
    const message = `{"version":1,"updates":[${updates.join(',')}]}`;
    return this.channels.publish(channelNames.resourceUpdates, message, AbortSignal.timeout(publishMs));
  }
}
