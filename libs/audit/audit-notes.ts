// Audit rows for events that the store does not keep elsewhere: calls of unknown tools, arguments before their conversion,
// changes of the policy, refused attempts, replays of runs.
import type { Database } from '#libs/postgres/open-database.js';
import { storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { uuidv7 } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { auditArguments, traceIdOf } from './call-audit.js';

export interface AuditNote {
  kind:
    | 'tool_call'
    | 'model_call'
    | 'arguments_converted'
    | 'resource_read'
    | 'prompt_get'
    | 'policy_change'
    | 'sign_in_failed'
    | 'replay';
  state: string;
  success: boolean;
  errorCode?: string;
  principal?: string;
  requestId?: string;
  traceparent?: string | undefined;
  keyId?: string | undefined;
  ip?: string | undefined;
  callId?: string;
  sessionId?: string;
  runId?: string;
  name?: string;
  server?: string;
  tool?: string;
  definitionHash?: string;
  arguments?: JsonObject;
  worker?: string;
}

/** A call of an unknown tool has an empty server and tool, like a chat's. */
const insert = `/* audit.note */ insert into audit_events (id, at, kind, state, success, error_code, principal, request_id, trace_id,
    key_id, ip, call_id, session_id, name, definition_hash, run_id, arguments, arguments_digest, worker, server, tool)
  values ($1::uuid, clock_timestamp(), $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
    coalesce($19, case $2 when 'tool_call' then '' end), coalesce($20, case $2 when 'tool_call' then '' end))`;

export class AuditNotes {
  private readonly audit: boolean;

  constructor(
    private readonly database: Database,
    { audit }: { audit: boolean },
  ) {
    this.audit = audit;
  }

  /** @throws AppError store_unavailable */
  async write(note: AuditNote): Promise<void> {
    if (!this.audit) return;
    const shown = note.arguments === undefined ? undefined : auditArguments(note.arguments);
    await this.database.query(insert, [
      uuidv7(),
      note.kind,
      note.state,
      note.success,
      note.errorCode ?? null,
      storedText(note.principal ?? ''),
      storedText(note.requestId ?? ''),
      traceIdOf(note.traceparent),
      ...[note.keyId, note.ip, note.callId, note.sessionId, note.name, note.definitionHash, note.runId].map(
        storedTextOrNull,
      ),
      shown?.arguments ?? null,
      shown?.argumentsDigest ?? null,
      note.worker ?? null,
      storedTextOrNull(note.server),
      storedTextOrNull(note.tool),
    ]);
  }
}
