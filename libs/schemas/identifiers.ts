// Every id that leaves this system is minted here: providers repeat theirs.
import { randomBytes } from 'node:crypto';

const random = (bytes: number) => randomBytes(bytes).toString('hex');

export const mintCallId = (): string => `call_${random(16)}`;
export const mintSessionId = (): string => `sess_${random(12)}`;
export const mintRequestId = (): string => `req_${random(12)}`;
export const mintCompletionId = (runId: string): string => `chatcmpl-${runId.slice(4)}`;

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
