// Notes in the audit that the arguments of a call were converted: what the model sent, beside the call's own row, which has
// what ran.
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
