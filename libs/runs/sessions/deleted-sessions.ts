// Every process keeps the sessions of the last few seconds in memory, and a worker runs servers for some. A session that another
// process deletes is forgotten at once, and its servers end. Otherwise its name would lead to a deleted directory, and files
// written there would be lost.
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import type { Channels } from '#libs/backing/channels.js';
import { GrowingPause } from '#libs/concurrency/growing-pause.js';
import type { Logger } from '#libs/logging/logger.js';
import { parseJson } from '#libs/schemas/json.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import type { SessionLeases } from './session-leases.js';
import type { StoredSession } from './session-store.js';

export type SessionKey = Pick<StoredSession, 'principal' | 'id'>;
export type DeletedSession = SessionKey & { directory?: string | undefined };

/** How long the deleting process waits for the message to be sent: the client's next request may reach another gateway. */
const publishMs = 1_000;
/** Servers end within some seconds; a stuck worker is not waited for. */
const endMs = 10_000;
const pauseMs = { least: 10, most: 250 };

/** Earlier versions send no directory. */
const message = z.object({
  version: z.literal(1),
  principal: z.string(),
  id: z.string(),
  directory: z.string().optional(),
});

interface PublishParts {
  channels: Pick<Channels, 'publish'>;
  leases: Pick<SessionLeases, 'isTaken'>;
  logger: Logger;
  endMs?: number;
}

/**
 * Resolves when no worker has servers of the session any more, so that its directory can be removed. Never rejects: a
 * process that misses the message forgets the session within some seconds.
 */
export function announceDeleted(parts: PublishParts) {
  return async ({ principal, id, directory }: DeletedSession): Promise<void> => {
    const { channels, logger } = parts;
    try {
      const text = JSON.stringify({ version: 1, principal, id, directory } satisfies z.input<typeof message>);
      await channels.publish(channelNames.deletedSessions, text, AbortSignal.timeout(publishMs));
      await untilFreed({ principal, sessionId: id }, parts);
    } catch (error) {
      logger.warn({ error, sessionId: id }, 'a deleted session may still be in use elsewhere');
    }
  };
}

async function untilFreed(session: { principal: string; sessionId: string }, parts: PublishParts): Promise<void> {
  const until = performance.now() + (parts.endMs ?? endMs);
  const pauses = new GrowingPause(pauseMs);
  while (await parts.leases.isTaken(session)) {
    if (performance.now() > until) throw new Error('its worker has not freed it in time');
    await pause(pauses.next());
  }
}

/** Returns a function that stops listening. The listener must not throw. */
export function listenForDeleted(
  channels: Pick<Channels, 'subscribe'>,
  forget: (session: DeletedSession) => void,
): Promise<() => Promise<void>> {
  return channels.subscribe(channelNames.deletedSessions, (text) => {
    const { data } = message.safeParse(parseJson(text));
    if (data !== undefined) forget(data);
  });
}
