// Generates every id that callers see, because providers repeat their ids.
import { randomFillSync } from 'node:crypto';

/** Random bytes are fetched in bulk: fetching them per id would dominate the cost of ids. No byte is used twice. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

/** Reserves `count` unused bytes of the pool; returns the index of the first. */
function take(count: number): number {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return used - count;
}

const hex = (at: number, count: number) => pool.toString('hex', at, at + count);
const random = (count: number) => hex(take(count), count);

/**
 * `call_` + 128 bits. The first digit says whether the run store keeps the call (8–f) or only the caller does (0–7).
 * So a call whose turn is not stored any more differs from a call whose turn was never stored.
 */
export function mintCallId(stored: boolean): string {
  const at = take(16);
  pool[at] = stored ? pool[at]! | 0x80 : pool[at]! & 0x7f;
  return `call_${hex(at, 16)}`;
}

const mintedCallId = /^call_[0-9a-f]{32}$/;
export const isMintedCallId = (id: string): boolean => mintedCallId.test(id);
export const isStoredCallId = (id: string): boolean => isMintedCallId(id) && id[5]! >= '8';

export const mintApprovalId = (): string => `appr_${random(12)}`;
export const mintSessionId = (): string => `sess_${random(12)}`;
export const mintRequestId = (): string => `req_${random(12)}`;
export const mintCompletionId = (runId: string): string => `chatcmpl-${runId.slice(4)}`;
export const mintResponseId = (runId: string): string => `resp_${runId.slice(4)}`;
/** Undefined if it is not a response id. */
export const runIdOfResponse = (responseId: string): string | undefined =>
  /^resp_[0-9a-f]{32}$/.test(responseId) ? `run_${responseId.slice(5)}` : undefined;
export const mintMessageId = (runId: string): string => `msg_${runId.slice(4)}`;

/** Time-ordered (UUIDv7 layout), so that index pages stay warm; `run_` + 32 hex digits. */
export const mintRunId = (): string => `run_${timeOrdered(Date.now())}`;

/** RFC 9562 version 7. */
export function uuidv7(now = Date.now()): string {
  const id = timeOrdered(now);
  return `${id.slice(0, 8)}-${id.slice(8, 12)}-${id.slice(12, 16)}-${id.slice(16, 20)}-${id.slice(20)}`;
}

/** The digits of a UUIDv7. */
function timeOrdered(now: number): string {
  const at = take(16);
  pool.writeUIntBE(now, at, 6);
  pool[at + 6] = (pool[at + 6]! & 0x0f) | 0x70;
  pool[at + 8] = (pool[at + 8]! & 0x3f) | 0x80;
  return hex(at, 16);
}

export const sessionIdPattern = /^[A-Za-z0-9_-]{1,128}$/;
