// A server of 2026-07-28 tells news on a stream that was asked for: it ends with its connection, and the SDK does not ask
// again. This does, for as long as the client is connected. What was told while nobody listened is lost.
import { setTimeout as delay } from 'node:timers/promises';
import type { Client, McpSubscription } from '@modelcontextprotocol/client';
import { GrowingPause } from '#libs/concurrency/growing-pause.js';

/** A stream that ends at once each time is asked for less and less often. */
export const listenPauseMs = { least: 1_000, most: 60_000 };
const ackTimeoutMs = 30_000;

/** `onBack` is told when the stream is there again. Never rejects. */
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
