// Every process knows the sessions of the last few seconds from memory. One that is deleted in another process is
// forgotten at once: else its name would lead into a directory that is gone, and what is written there would be lost.
import { z } from 'zod';
import type { Channels } from '#libs/backing/channels.js';
import type { Logger } from '#libs/logging/logger.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import type { Session } from './session-store.js';

export type SessionName = Pick<Session, 'principal' | 'id'>;

/** Who deletes waits for it: its next request may come to another gateway. */
const tellMs = 1_000;

const message = z.object({ version: z.literal(1), principal: z.string(), id: z.string() });

/** Never rejects: whoever is not told forgets the session within some seconds. */
export function tellOfDeleted(channels: Pick<Channels, 'publish'>, logger: Logger) {
  return async ({ principal, id }: SessionName): Promise<void> => {
    try {
      const text = JSON.stringify({ version: 1, principal, id } satisfies z.input<typeof message>);
      await channels.publish(channelNames.deletedSessions, text, AbortSignal.timeout(tellMs));
    } catch (error) {
      logger.warn({ error, sessionId: id }, 'the others were not told of a deleted session');
    }
  };
}

/** Returns what ends the listening. */
export function listenForDeleted(
  channels: Pick<Channels, 'subscribe'>,
  sessions: { forget(session: SessionName): void },
): Promise<() => Promise<void>> {
  return channels.subscribe(channelNames.deletedSessions, (text) => {
    const { data } = message.safeParse(parsed(text));
    if (data !== undefined) sessions.forget(data);
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
