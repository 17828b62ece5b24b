// The one table of error codes: HTTP status, whether a retry can help, log level.
// Every deliberate failure is an AppError with one of these codes.

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'conflict_error'
  | 'tool_execution_error'
  | 'rate_limit_error'
  | 'internal_error'
  | 'upstream_error'
  | 'overloaded_error'
  | 'timeout_error';

export interface ErrorRow {
  readonly http: number;
  readonly type: ErrorType;
  /** A later identical request may succeed; such answers carry Retry-After. */
  readonly retryable: boolean;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
}

const row = (http: number, type: ErrorType, level: ErrorRow['level'] = 'info', retryable = false): ErrorRow => ({
  http,
  type,
  retryable,
  level,
});
const invalid = (http: number) => row(http, 'invalid_request_error');
const tool = (level: ErrorRow['level'] = 'info') => row(422, 'tool_execution_error', level);

export const errorTable = {
  invalid_json: invalid(400),
  invalid_value: invalid(400),
  too_many_tools: invalid(400),
  context_length_exceeded: invalid(400),
  turn_expired: invalid(400),
  reserved_name: invalid(400),
  invalid_api_key: row(401, 'authentication_error'),
  tool_forbidden: row(403, 'permission_error'),
  model_forbidden: row(403, 'permission_error'),
  insufficient_scope: row(403, 'permission_error'),
  origin_forbidden: row(403, 'permission_error'),
  host_forbidden: row(403, 'permission_error'),
  not_found: invalid(404),
  model_not_found: invalid(404),
  session_not_found: invalid(404),
  run_not_found: invalid(404),
  response_not_found: invalid(404),
  previous_response_not_found: invalid(404),
  approval_not_found: invalid(404),
  file_not_found: invalid(404),
  /** 404 on the tools API; a chat that names one in `tool_choice` answers 400 (thrown with `http: 400`). */
  tool_not_found: invalid(404),
  tool_change_not_found: invalid(404),
  method_not_allowed: invalid(405),
  precondition_failed: invalid(412),
  unsupported_media_type: invalid(415),
  range_not_satisfiable: invalid(416),
  idempotency_mismatch: row(409, 'conflict_error'),
  approval_already_decided: row(409, 'conflict_error'),
  run_in_progress: row(409, 'conflict_error'),
  audit_unprovable: row(409, 'conflict_error'),
  request_too_large: invalid(413),
  workspace_quota_exceeded: invalid(413),
  rate_limit_exceeded: row(429, 'rate_limit_error', 'info', true),
  concurrency_exceeded: row(429, 'rate_limit_error', 'info', true),
  too_many_approvals: row(429, 'rate_limit_error', 'info', true),
  budget_exceeded: row(429, 'rate_limit_error', 'info', true),
  internal_error: row(500, 'internal_error', 'error'),
  model_error: row(502, 'upstream_error', 'warn'),
  model_bad_response: row(502, 'upstream_error', 'warn'),
  model_stream_cut: row(502, 'upstream_error', 'warn'),
  model_unavailable: row(503, 'overloaded_error', 'warn', true),
  queue_full: row(503, 'overloaded_error', 'warn', true),
  shutting_down: row(503, 'overloaded_error', 'info', true),
  no_worker: row(503, 'overloaded_error', 'warn', true),
  store_unavailable: row(503, 'overloaded_error', 'error', true),
  issuer_unavailable: row(503, 'overloaded_error', 'warn', true),
  workspace_disk_full: row(503, 'overloaded_error', 'error', true),
  workspace_unavailable: row(503, 'overloaded_error', 'error', true),
  model_timeout: row(504, 'timeout_error', 'warn'),
  tool_timeout: row(504, 'timeout_error'),
  tool_failed: tool(),
  tool_crashed: tool('warn'),
  tool_unavailable: tool('warn'),
  tool_outcome_unknown: tool('warn'),
  tool_denied: tool(),
  approval_required: tool(),
  approval_denied: tool(),
  approval_expired: tool(),
  invalid_tool_arguments: tool(),
  invalid_tool_result: tool('warn'),
  result_too_large: tool(),
  path_outside_workspace: tool(),
  isolation_too_low: tool('warn'),
  connection_needed: tool(),
  cancelled: tool('debug'),
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

/** Codes allowed in a tool result's `error.code`. */
export const toolErrorCodes = [
  'tool_failed',
  'tool_timeout',
  'tool_crashed',
  'tool_unavailable',
  'tool_outcome_unknown',
  'tool_denied',
  'tool_forbidden',
  'too_many_approvals',
  'approval_required',
  'approval_denied',
  'approval_expired',
  'invalid_tool_arguments',
  'invalid_tool_result',
  'result_too_large',
  'path_outside_workspace',
  'workspace_quota_exceeded',
  'workspace_disk_full',
  'workspace_unavailable',
  'isolation_too_low',
  'connection_needed',
  'cancelled',
  'tool_not_found',
] as const satisfies readonly ErrorCode[];

export type ToolErrorCode = (typeof toolErrorCodes)[number];

export const isToolErrorCode = (code: string): code is ToolErrorCode =>
  (toolErrorCodes as readonly string[]).includes(code);

export interface TextProblem {
  message: string;
  /** The key as written, such as `rules.0.tool`. */
  key?: string;
  /** From 1, as is the column. */
  line?: number;
  column?: number;
}

export interface AppErrorDetails {
  /** The request field at fault, as a path (`messages[2].content`). */
  param?: string;
  toolName?: string;
  /** What is wrong with a text, place by place. */
  problems?: readonly TextProblem[];
  /** The tool outcome's failure that this error reports: the two count as one. */
  toolError?: object;
  /** Seconds; becomes the Retry-After header. */
  retryAfterSeconds?: number;
  /** Status of the upstream's own answer, shown in the message, never used as ours. */
  upstreamStatus?: number;
  /** Overrides the table's status if two APIs use one code (tool_not_found). */
  http?: number;
  cause?: unknown;
}

/** A registered symbol, because a module of own tools may bring its own copy of this file with another AppError. */
const isAppError = Symbol.for('signalbox:app-error');

/** A failure that its reader may see: the message must be safe to show to the caller. */
export class AppError extends Error {
  static override [Symbol.hasInstance](value: unknown): boolean {
    if (this !== AppError) return Function.prototype[Symbol.hasInstance].call(this, value);
    return typeof value === 'object' && value !== null && isAppError in value;
  }

  readonly [isAppError] = true;
  override readonly name = 'AppError';
  readonly param?: string;
  readonly toolName?: string;
  readonly problems?: readonly TextProblem[];
  readonly toolError?: object;
  readonly retryAfterSeconds?: number;
  readonly upstreamStatus?: number;
  readonly http: number;

  constructor(
    readonly code: ErrorCode,
    message: string,
    details: AppErrorDetails = {},
  ) {
    super(message, { cause: details.cause });
    if (details.param !== undefined) this.param = details.param;
    if (details.toolName !== undefined) this.toolName = details.toolName;
    if (details.problems !== undefined) this.problems = details.problems;
    if (details.toolError !== undefined) this.toolError = details.toolError;
    if (details.retryAfterSeconds !== undefined) this.retryAfterSeconds = details.retryAfterSeconds;
    if (details.upstreamStatus !== undefined) this.upstreamStatus = details.upstreamStatus;
    this.http = details.http ?? errorTable[code].http;
  }

  get row(): ErrorRow {
    return errorTable[this.code];
  }
}

/** Converts anything thrown to an AppError; an unknown error becomes `internal_error`, its cause is only logged. */
export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  // Node's timers and streams wrap the abort reason of the signal in an error of their own.
  if (error instanceof Error && error.name === 'AbortError' && error.cause instanceof AppError) return error.cause;
  return new AppError('internal_error', 'Internal error', { cause: error });
}
