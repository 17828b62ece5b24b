// Reopens the notification stream of a server of 2026-07-28 while the client is connected: the stream ends with its
// connection, and the SDK does not reopen it. Notifications sent in between are lost.
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, McpSubscription } from '@modelcontextprotocol/client';
import { GrowingPause } from '#libs/concurrency/growing-pause.js';

/** A stream that ends at once each time is requested less and less often. */
export const listenPauseMs = { least: 1_000, most: 60_000 };
const ackTimeoutMs = 30_000;

/** `onBack` is called when the stream is open again. Never rejects. */
export async function keepListening(client: Client, ended: AbortSignal, onBack: () => void): Promise<void> {
  let subscription = client.autoOpenedSubscription;
  const pause = new GrowingPause(listenPauseMs);
  while (subscription !== undefined) {
    await subscription.closed;
    let again: McpSubscription | undefined;
    while (again === undefined) {
      await delay(pause.next(), undefined, { signal: ended, ref: false }).catch(() => undefined);
      if (ended.aborted) return;
      const asked = client.listen(subscription.honoredFilter, { timeout: ackTimeoutMs, signal: ended });
      again = await asked.catch(() => undefined);
    }
    subscription = again;
    onBack();
  }
}
