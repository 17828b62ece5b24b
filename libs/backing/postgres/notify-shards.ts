// The physical channels of NOTIFY, and the limit of their payloads.
import { createHash } from 'node:crypto';

/** A NOTIFY payload is shorter than 8,000 bytes. */
export const notifyLimits = { messageBytes: 7_400, payloadBytes: 7_999 };

/**
 * PostgreSQL searches a session's list of channels for every message, so thousands of channels would slow the server.
 * A single one would wake every process for every message.
 */
export const shardCount = 64;

export function shardOf(channel: string): string {
  const [first] = createHash('sha256').update(channel).digest();
  return `signalbox_${first! % shardCount}`;
}
