// Gateways learn at once that keys have changed. A lost message costs half a second: then they look by themselves.
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { channelNames } from '#libs/schemas/tool-job.js';

const publishMs = 2_000;

/** Resolves when gateways that listen are told, so that a key whose maker has an answer is in force on them. Never rejects. */
export async function announceKeys(channels: Pick<Channels, 'publish'>, logger: Logger): Promise<void> {
  try {
    await channels.publish(channelNames.keys, 'changed', AbortSignal.timeout(publishMs));
  } catch (error) {
    logger.warn({ error }, 'changed keys could not be announced: gateways find them by themselves');
  }
}
