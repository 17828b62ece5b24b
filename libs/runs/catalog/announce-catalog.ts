// Tells gateways that tools, or the workers that run them, have changed.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { channelNames } from '#libs/schemas/tool-job.js';

const publishMs = 2_000;

/** Never rejects: gateways that miss the message find the change at their next poll. */
export async function announceCatalog(parts: { channels: Pick<Channels, 'publish'>; logger: Logger }): Promise<void> {
  try {
    await parts.channels.publish(channelNames.catalog, '{"version":1}', AbortSignal.timeout(publishMs));
  } catch (error) {
    parts.logger.warn({ error }, 'a change of the catalog could not be announced');
  }
}
