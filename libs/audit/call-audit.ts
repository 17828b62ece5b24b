// Arguments and outcomes of calls as the audit stores them: without secrets, clamped, with a digest of the whole. Pure;
// the journal decides who writes the row, and when.
import { createHash } from 'node:crypto';
import type { ContentBlock } from '#libs/schemas/content-block.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { redact } from './redact.js';

/** Maximum size of arguments, and of a result, in UTF-8. */
export const maxAuditBytes = 16 * 1024;

export interface ArgumentsAudit {
  /** Redacted JSON; clamped JSON ends with a mark. */
  arguments: string;
  /** SHA-256 (hex) of the original JSON text. */
  argumentsDigest: string;
}

export interface OutcomeAudit {
  result: string;
  resultDigest: string;
  success: boolean;
  errorCode: string | null;
  durationMs: number;
  queueWaitMs: number | null;
  cached: boolean;
}

/** `text`: the arguments as JSON. */
export function auditArguments(args: JsonObject, text = JSON.stringify(args)): ArgumentsAudit {
  return { arguments: clamp(JSON.stringify(redact(args))), argumentsDigest: digest(text) };
}

export function auditOutcome(outcome: ToolOutcome): OutcomeAudit {
  const { blocks, structuredContent, error } = outcome;
  const whole = { blocks, structuredContent, error };
  const shown: JsonObject = { blocks: blocks.map(withoutBytes) };
  if (structuredContent !== undefined) shown['structuredContent'] = structuredContent;
  if (error !== undefined) shown['error'] = error;
  return {
    result: clamp(JSON.stringify(redact(shown))),
    resultDigest: digest(JSON.stringify(whole)),
    success: outcome.state === 'completed',
    errorCode: error?.code ?? null,
    durationMs: outcome.durationMs,
    queueWaitMs: outcome.queueWaitMs ?? null,
    cached: outcome.cached ?? false,
  };
}

/** The trace of a W3C `traceparent`; null for none or a malformed one. */
export function traceIdOf(traceparent: string | undefined): string | null {
  return /^[\da-f]{2}-([\da-f]{32})-[\da-f]{16}-[\da-f]{2}/.exec(traceparent ?? '')?.[1] ?? null;
}

/** Replaces the data of images, audio and files by the size: nobody reads base64. */
function withoutBytes(block: ContentBlock): Json {
  const size = (text: string) => `[${Math.floor((text.length * 3) / 4)} bytes]`;
  if (block.type === 'image' || block.type === 'audio') return { ...block, data: size(block.data) };
  if (block.type === 'resource' && block.resource.blob !== undefined) {
    return { ...block, resource: { ...block.resource, blob: size(block.resource.blob) } };
  }
  return block;
}

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

function clamp(text: string): string {
  if (text.length * 3 <= maxAuditBytes) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= maxAuditBytes) return text;
  const mark = `… [clamped, ${bytes.length} bytes]`;
  let end = maxAuditBytes - Buffer.byteLength(mark);
  // Do not cut within a character: continuation bytes are 10xxxxxx.
  while (end > 0 && (bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end) + mark;
}
