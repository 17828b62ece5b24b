// The physical channels of NOTIFY, and what one of its payloads holds.
import { createHash } from 'node:crypto';

/** A NOTIFY payload is shorter than 8,000 bytes. */
export const notifyLimits = { messageBytes: 7_400, payloadBytes: 7_999 };

/**
 * A session's list of channels is searched for every message, so thousands of them would slow the server, and one for
 * all would wake every process for every message.
 */
export const shardCount = 64;

export function shardOf(channel: string): string {
  const [first] = createHash('sha256').update(channel).digest();
  return `signalbox_${first! % shardCount}`;
}
