// Processes learn at once that somebody has connected to a tool server, or is not any more: connections with the old tokens end, and
// servers whose tools could not be listed are listed. A lost message costs a minute.
import { z } from 'zod';
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { parseJson } from '#libs/schemas/json.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import type { ConnectionKey } from './connection-store.js';

const publishMs = 2_000;
const message = z.object({ version: z.literal(1), principal: z.string(), server: z.string() });

/** Never rejects. */
export async function announceConnection(
  { principal, server }: ConnectionKey,
  { channels, logger }: { channels: Pick<Channels, 'publish'>; logger: Logger },
): Promise<void> {
  const text = JSON.stringify({ version: 1, principal, server } satisfies z.input<typeof message>);
  try {
    await channels.publish(channelNames.connections, text, AbortSignal.timeout(publishMs));
  } catch (error) {
    logger.warn({ error, metadata: { server } }, 'a changed connection could not be announced');
  }
}

/** Returns a function that stops listening. The listener must not throw. */
export function listenForConnections(
  channels: Pick<Channels, 'subscribe'>,
  listener: (key: ConnectionKey) => void,
): Promise<() => Promise<void>> {
  return channels.subscribe(channelNames.connections, (text) => {
    const { data } = message.safeParse(parseJson(text));
    if (data !== undefined) listener(data);
  });
}
