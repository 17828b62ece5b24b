// The ids of the request that a line is about, the same in every line of gateway and worker.
import { traceIdOf } from '#libs/audit/call-audit.js';
import type { LogFields } from './logger.js';

/** The ids in a request's context, a model call or a tool's job. */
export interface LoggedRequest {
  requestId: string;
  principal?: string | undefined;
  runId?: string | undefined;
  sessionId?: string | undefined;
  /** W3C. */
  traceparent?: string | undefined;
}

export function requestFields(request: LoggedRequest): LogFields {
  const { requestId, principal, runId, sessionId, traceparent } = request;
  const fields: LogFields = { requestId };
  if (runId !== undefined) fields.runId = runId;
  if (sessionId !== undefined) fields.sessionId = sessionId;
  if (principal !== undefined) fields.userId = principal;
  const traceId = traceparent === undefined ? null : traceIdOf(traceparent);
  if (traceId !== null) fields.traceId = traceId;
  return fields;
}
