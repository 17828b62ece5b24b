// Every id that leaves this system is generated here: providers repeat theirs.
import { randomFillSync } from 'node:crypto';

/** Random bytes are fetched in bulk: fetching them per id would dominate the cost of ids. No byte is used twice. */
const pool = Buffer.alloc(4_096);
let used = pool.length;

function randomBytes(count: number): Buffer {
  if (used + count > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += count;
  return Buffer.from(pool.subarray(used - count, used));
}

const random = (bytes: number) => randomBytes(bytes).toString('hex');

/**
 * `call_` + 128 bits. The first digit says whether the run store keeps the call (8–f) or only the caller does (0–7).
 * It distinguishes a follow-up whose turn is no longer stored from one that never was.
 */
export function mintCallId(kept: boolean): string {
  const bytes = randomBytes(16);
  bytes[0] = kept ? bytes[0]! | 0x80 : bytes[0]! & 0x7f;
  return `call_${bytes.toString('hex')}`;
}

const mintedCallId = /^call_[0-9a-f]{32}$/;
export const isMintedCallId = (id: string): boolean => mintedCallId.test(id);
export const isKeptCallId = (id: string): boolean => isMintedCallId(id) && id[5]! >= '8';

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
export const mintRunId = (): string => `run_${uuidv7().replaceAll('-', '')}`;

/** RFC 9562 version 7. */
export function uuidv7(now = Date.now()): string {
  const bytes = randomBytes(16);
  bytes.writeUIntBE(now, 0, 6);
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export const sessionIdPattern = /^[A-Za-z0-9_-]{1,128}$/;
