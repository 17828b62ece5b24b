// What the gateway answers. Written by `npm run docs:generate` from apps/gateway/http/openapi.
import type { JsonObject } from './json.js';

export interface Approval {
  id: string;
  /** `question`: the call runs, and its tool server asks something. */
  kind: 'approval' | 'question';
  state: 'waiting' | 'approved' | 'denied' | 'expired' | 'cancelled';
  tool_call_id: string;
  tool: string;
  server: string;
  arguments: JsonObject;
  /** SHA-256 of the canonical arguments (RFC 8785). */
  arguments_hash: string;
  /** The policy rule that requires the approval. */
  rule: string | null;
  reason: string | null;
  /** What the tool server asks. */
  message: string | null;
  /** JSON schema of the answer to a question. */
  schema: JsonObject | null;
  principal: string;
  session_id: string;
  run_id: string | null;
  created_at: string;
  expires_at: string;
  decided_at: string | null;
  decided_by: string | null;
  decision_reason: string | null;
  edited: boolean;
}

export interface EndedCall {
  success: true;
  content: string;
  blocks?: JsonObject[];
  structured_content?: unknown;
  id: string;
  session_id: string;
  duration_ms: number;
  cached: boolean;
  truncated?: boolean;
}

/** docs/errors.md says what each means. Newer gateways may have more. */
export type ErrorCode =
  | 'invalid_json'
  | 'invalid_value'
  | 'too_many_tools'
  | 'context_length_exceeded'
  | 'turn_expired'
  | 'reserved_name'
  | 'invalid_api_key'
  | 'tool_forbidden'
  | 'model_forbidden'
  | 'insufficient_scope'
  | 'origin_forbidden'
  | 'host_forbidden'
  | 'not_found'
  | 'model_not_found'
  | 'session_not_found'
  | 'run_not_found'
  | 'response_not_found'
  | 'previous_response_not_found'
  | 'approval_not_found'
  | 'file_not_found'
  | 'tool_not_found'
  | 'tool_change_not_found'
  | 'method_not_allowed'
  | 'precondition_failed'
  | 'unsupported_media_type'
  | 'range_not_satisfiable'
  | 'idempotency_mismatch'
  | 'approval_already_decided'
  | 'request_too_large'
  | 'workspace_quota_exceeded'
  | 'rate_limit_exceeded'
  | 'concurrency_exceeded'
  | 'too_many_approvals'
  | 'budget_exceeded'
  | 'internal_error'
  | 'model_error'
  | 'model_bad_response'
  | 'model_stream_cut'
  | 'model_unavailable'
  | 'queue_full'
  | 'shutting_down'
  | 'no_worker'
  | 'store_unavailable'
  | 'issuer_unavailable'
  | 'workspace_disk_full'
  | 'workspace_unavailable'
  | 'model_timeout'
  | 'tool_timeout'
  | 'tool_failed'
  | 'tool_crashed'
  | 'tool_unavailable'
  | 'tool_outcome_unknown'
  | 'tool_denied'
  | 'approval_required'
  | 'approval_denied'
  | 'approval_expired'
  | 'invalid_tool_arguments'
  | 'invalid_tool_result'
  | 'result_too_large'
  | 'path_outside_workspace'
  | 'isolation_too_low'
  | 'cancelled';

export interface FileEntry {
  path: string;
  type: 'file' | 'directory' | 'link' | 'other';
  size: number;
  modified_at: string;
  /** Of files. */
  etag?: string;
}

export interface FileList {
  session_id: string;
  files: FileEntry[];
  /** There are more than are listed. */
  truncated: boolean;
}

export interface Me {
  /** `open`: this gateway needs no key */
  signed_in: 'open' | 'key' | 'jwt' | null;
  principal: string | null;
  key: {
    id: string;
    name: string | null;
  } | null;
  scopes: ('chat' | 'tools' | 'files' | 'admin')[];
  /** How one can sign in */
  sign_in: {
    /** No request needs a key */
    open: boolean;
    /** API keys are accepted */
    keys: boolean;
    /** Where a browser can sign in */
    oidc?: {
      issuer: string;
      client_id: string;
    };
  };
}

export interface Model {
  id: string;
  object: 'model';
  created: number;
  owned_by: string;
}

export interface RequiredApproval {
  id: string;
  /** `question`: a tool server asks something. */
  kind: 'approval' | 'question';
  tool_call_id: string;
  tool: string;
  arguments: JsonObject;
  /** The rule of the policy that asks; `default:…` if none matched. */
  rule?: string;
  reason?: string;
  /** Of a question. */
  message?: string;
  /** Of a question: what its answer looks like. */
  schema?: JsonObject;
  expires_at: string;
}

export interface Run {
  id: string;
  state: 'running' | 'waiting' | 'done' | 'failed' | 'cancelled' | 'interrupted';
  session_id: string | null;
  /** Epoch seconds. */
  created: number;
  rounds: number;
  usage: Usage;
  tool_execution?: ToolExecution;
  error?: {
    code: string;
    message: string;
    type: string;
  };
}

export interface Session {
  id: string;
  object: 'session';
  created_at: string;
  expires_at: string;
  workspace_path: string;
  metadata: JsonObject;
  usage: {
    bytes: number;
    files: number;
  };
  limits: {
    bytes: number;
    files: number;
    depth: number;
  };
}

export interface Tool {
  type: 'function';
  function: {
    name: string;
    description: string;
    parameters: JsonObject;
  };
  server: string;
  annotations: JsonObject;
  requires_approval: boolean;
  available: boolean;
  title?: string;
  output_schema?: JsonObject;
  metadata?: JsonObject;
}

export interface ToolExecution {
  executed: boolean;
  tools_called: string[];
  session_id: string;
  workspace_path: string;
  /** The number of model calls. */
  rounds: number;
  /** The limit that ended the use of tools. */
  stopped_by: 'max_rounds' | 'max_calls' | 'max_time' | 'budget' | 'repeated_failure' | null;
  calls: {
    id: string;
    name: string;
    server: string;
    success: boolean;
    duration_ms: number;
    cached: boolean;
    round: number;
  }[];
}

export interface ToolResult {
  success: boolean;
  content: string;
  error?: {
    code: ErrorCode;
    message: string;
  };
  truncated?: boolean;
  cached?: boolean;
  duration_ms: number;
}

export interface UploadedFile {
  path: string;
  size: number;
  etag: string;
  created: boolean;
}

export interface Usage {
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
}

/** What was left out of a request, or changed, so that the model could be asked. */
export interface Warning {
  message: string;
  /** The member of the request that it is about. */
  param?: string;
}
