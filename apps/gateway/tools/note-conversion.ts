// Writes an audit note with the arguments that a model sent, if they were converted. The call's own row has the converted
// arguments.
import type { AuditNotes } from '#libs/audit/audit-notes.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';

/** @throws AppError store_unavailable */
export function noteConversion(
  notes: Pick<AuditNotes, 'write'>,
  { name, server, tool, definitionHash }: CatalogTool,
  sent: JsonObject,
  { principal, requestId, traceparent, keyId, ip, callId, sessionId }: CallContext,
): Promise<void> {
  return notes.write({
    kind: 'arguments_converted',
    state: 'converted',
    success: true,
    principal,
    requestId,
    traceparent,
    keyId,
    ip,
    callId,
    sessionId,
    name,
    server,
    tool,
    definitionHash,
    arguments: sent,
  });
}
