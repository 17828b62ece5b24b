// Exports the audit as NDJSON or CSV while it is read, with at most a page in memory.
import type { AuditEvent } from '#libs/postgres/prisma-client/client.js';
import type { Json } from '#libs/schemas/json.js';
import { auditMembers, shownAuditEvent } from './audit-log.js';

export const auditFormats = ['ndjson', 'csv'] as const;
export type AuditFormat = (typeof auditFormats)[number];

export const auditMediaTypes: Record<AuditFormat, string> = {
  ndjson: 'application/x-ndjson; charset=utf-8',
  csv: 'text/csv; charset=utf-8; header=present',
};

/** Maximum characters of lines that are sent together. */
const maxChunk = 65_536;

export async function* exportAudit(rows: AsyncIterable<AuditEvent>, format: AuditFormat): AsyncGenerator<string> {
  let chunk = format === 'csv' ? `${auditMembers.join(',')}\r\n` : '';
  for await (const row of rows) {
    const shown = shownAuditEvent(row);
    chunk +=
      format === 'csv'
        ? `${auditMembers.map((name) => csvField(shown[name])).join(',')}\r\n`
        : `${JSON.stringify(shown)}\n`;
    if (chunk.length < maxChunk) continue;
    yield chunk;
    chunk = '';
  }
  if (chunk !== '') yield chunk;
}

/** RFC 4180. A text that a spreadsheet would take for a formula gets an apostrophe in front. */
export function csvField(value: Json = null): string {
  if (value === null) return '';
  if (typeof value !== 'string') return JSON.stringify(value);
  const text = /^\s*[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n']/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
