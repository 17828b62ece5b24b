// What the gateway answers. Written by `npm run docs:generate` from apps/gateway/http/openapi.
import type { JsonObject } from './json.js';

export interface ApiKey {
  id: string;
  prefix: string;
  name: string | null;
  owner: string;
  roles: string[];
  scopes: ('chat' | 'tools' | 'files' | 'admin')[];
  tools: {
    /** `server/tool`, where `*` matches any text. */
    allow?: string[];
    /** `server/tool`, where `*` matches any text. */
    deny?: string[];
  };
  limits: {
    requests_per_minute?: number;
    tokens_per_minute?: number;
    turns?: number;
  };
  budgets: {
    day_usd?: number;
    month_usd?: number;
  };
  models: string[] | null;
  created_at: string;
  expires_at: string | null;
  last_used_at: string | null;
  revoked_at: string | null;
  replaced_by: string | null;
}

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

export interface AuditProgress {
  type: 'progress';
  /** How many have been read. */
  rows: number;
  total: number;
  /** Of the last row that was read. */
  chain: number | null;
}

export interface AuditProof {
  /** The version of this format. */
  signalbox_audit_proof: number;
  signed: boolean;
  row: AuditRow;
  /** The bytes of what the row says, of which its hash is made (docs/audit.md). */
  content: string;
  /** The SHA-256 of the content of each later row of its chain, up to the checkpoint; at most 10,000. */
  rows_after: string[];
  checkpoint: {
    /** The text whose SHA-256 is the hash of the checkpoint. */
    content: string;
    /** Ed25519 over the hash of the checkpoint; null where no key is set. */
    signature: string | null;
  };
  /** The key of the signature (SPKI), if it is that of this gateway. */
  public_key: string | null;
}

export interface AuditRow {
  id: string;
  at: string;
  kind: string;
  call_id: string | null;
  request_id: string;
  trace_id: string | null;
  principal: string;
  key_id: string | null;
  ip: string | null;
  session_id: string | null;
  run_id: string | null;
  round: number | null;
  model: string | null;
  server: string | null;
  tool: string | null;
  name: string | null;
  definition_hash: string | null;
  /** Redacted, and shortened to 16 KiB. */
  arguments: string | null;
  /** Redacted, and shortened to 16 KiB. */
  result: string | null;
  /** SHA-256 of the complete arguments. */
  arguments_digest: string | null;
  /** SHA-256 of the complete result. */
  result_digest: string | null;
  success: boolean;
  state: string | null;
  error_code: string | null;
  duration_ms: number | null;
  queue_wait_ms: number | null;
  attempt: number | null;
  cached: boolean | null;
  isolation: string | null;
  policy_rule: string | null;
  approval_id: string | null;
  approver: string | null;
  worker: string | null;
  /** Null for a row that Signalbox did not write, as are the three that follow. */
  chain: number | null;
  /** Its place in the chain, from 1 on. */
  position: number | null;
  /** Of the row before it in its chain; empty for the first. */
  previous_hash: string | null;
  hash: string | null;
}

export interface AuditVerification {
  type: 'result';
  intact: boolean;
  /** How many were read. */
  rows: number;
  /** How many were read. */
  checkpoints: number;
  /** `unchecked`: this gateway has no `audit.signing_key`. */
  signatures: 'verified' | 'unchecked';
  /** Problems with rows that were found; no more than 10,000 are counted. */
  broken_rows: number;
  first_broken: {
    id: string;
    at: string;
    chain: number | null;
    position: number | null;
    /** `removed` and `cut_off` are about the rows before or after this one. */
    damage: 'changed' | 'removed' | 'inserted' | 'exchanged' | 'cut_off';
    problem: string;
  } | null;
  /** Of checkpoints and of whole chains, at most 20. */
  problems: string[];
  last_checkpoint: {
    number: string;
    at: string;
    hash: string;
  } | null;
  last_signed_checkpoint: {
    number: string;
    at: string;
    hash: string;
  } | null;
  /** How many rows the last signed checkpoint, or without one the last, does not cover. */
  rows_after_checkpoint: number;
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
  | 'audit_unprovable'
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

export interface ListedRun {
  id: string;
  /** `waiting`: a call of the run waits for a person. */
  state: 'running' | 'waiting' | 'done' | 'failed' | 'cancelled' | 'interrupted';
  created_at: string;
  /** Until now, if the run has not ended. */
  duration_ms: number;
  /** As the caller named it, or the default model. */
  model: string | null;
  principal: string;
  session_id: string | null;
  rounds: number;
  calls: number;
  /** The tools that were called, as `server/tool`. */
  tools: string[];
  usage: Usage;
  /** By the prices of today; null if a model has no price. */
  cost_usd: number | null;
  /** The limit that ended the use of tools. */
  stopped_by: 'max_rounds' | 'max_calls' | 'max_time' | 'budget' | 'repeated_failure' | null;
  error?: {
    code: string;
    message: string;
    type: string;
  };
  /** What the time went to. Of calls that ran together, the last one to end counts. */
  spent_ms: {
    model: number;
    queue: number;
    tool: number;
    person: number;
  };
}

export interface Me {
  /** `open`: this gateway needs no key. */
  signed_in: 'open' | 'key' | 'jwt' | null;
  principal: string | null;
  key: {
    id: string;
    name: string | null;
  } | null;
  scopes: ('chat' | 'tools' | 'files' | 'admin')[];
  /** How one can sign in. */
  sign_in: {
    /** No request needs a key. */
    open: boolean;
    /** API keys are accepted. */
    keys: boolean;
    /** Where a browser can sign in. */
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

export interface Overview {
  at: string;
  /** False: of the caller alone. */
  everybody: boolean;
  waiting: {
    approvals: number;
    questions: number;
    /** Null unless the caller is an administrator, as the members below. */
    tool_changes: number | null;
  };
  problems: Problem[];
  running_turns: number;
  queue: {
    waiting: number;
    active: number;
    oldest_age_ms: number;
  } | null;
  workers: {
    ready: number;
    draining: number;
    gone: number;
  } | null;
  /** The last 24 hours, oldest first, the present one last. */
  hours: OverviewHour[];
}

export interface OverviewHour {
  /** When the hour began. */
  hour: string;
  requests: number;
  /** 95 of 100 turns took at most this long, to within a fifth; null without turns. */
  p95_ms: number | null;
  tool_calls: number;
  tool_failures: number;
  cost_usd: number;
}

export interface Problem {
  /** What is wrong; further members say where. */
  code: string;
  severity: 'error' | 'warning';
  /** The same as a sentence. */
  message: string;
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

export interface RunDetails {
  id: string;
  state: 'running' | 'waiting' | 'done' | 'failed' | 'cancelled' | 'interrupted';
  created_at: string;
  /** Until now, if the run has not ended. */
  duration_ms: number;
  /** As the caller named it, or the default model. */
  model: string | null;
  principal: string;
  session_id: string | null;
  rounds: number;
  calls: number;
  /** The tools that were called, as `server/tool`. */
  tools: string[];
  usage: Usage;
  /** By the prices of today; null if a model has no price. */
  cost_usd: number | null;
  /** The limit that ended the use of tools. */
  stopped_by: 'max_rounds' | 'max_calls' | 'max_time' | 'budget' | 'repeated_failure' | null;
  error?: {
    code: string;
    message: string;
    type: string;
  };
  /** What the time went to. Of calls that ran together, the last one to end counts. */
  spent_ms: {
    model: number;
    queue: number;
    tool: number;
    person: number;
  };
  /** Epoch seconds. */
  created: number;
  tool_execution?: ToolExecution;
  /** The request as it was read, without its messages. */
  request?: JsonObject;
  /** The conversation that the models were sent, in order. */
  messages?: JsonObject[];
  round_list?: ShownRound[];
  call_list?: ShownCall[];
  event_list?: ShownEvent[];
}

export interface Session {
  id: string;
  object: 'session';
  /** Its owner. */
  principal: string;
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

export interface ShownCall {
  id: string;
  round: number;
  /** `client`: the caller runs it. */
  kind: 'server' | 'client';
  /** The name that the model called. */
  name: string;
  server: string;
  tool: string;
  state: 'planned' | 'parked' | 'dispatched' | 'completed' | 'failed' | 'cancelled' | 'denied' | 'indeterminate';
  arguments: JsonObject;
  result: {
    success: boolean;
    content: string;
    duration_ms: number;
  } | null;
  /** Null for calls that the policy was not asked about. */
  policy: {
    verdict: 'allow' | 'require_approval' | 'deny';
    rule: string | null;
  } | null;
  approval: {
    id: string;
    state: string;
    reason: string | null;
    decided_by: string | null;
    decision_reason: string | null;
    edited: boolean;
    created_at: string;
    expires_at: string;
    decided_at: string | null;
  } | null;
  /** What its tool server asked people meanwhile. */
  questions: number;
  person_wait_ms: number;
  queue_wait_ms: number | null;
  duration_ms: number | null;
  attempts: number;
  worker: string | null;
  isolation: string | null;
  cached: boolean;
  truncated: boolean;
  planned_at: string;
  started_at: string | null;
  ended_at: string | null;
  /** The row of the audit; null if there is none. */
  audit_id: string | null;
}

export interface ShownEvent {
  /** The number of its last piece. */
  n: number;
  type: string;
}

export interface ShownRound {
  round: number;
  provider: string;
  model: string;
  /** How many of `messages` the model was sent. */
  sent: number;
  /** What the model answered, as an assistant message. */
  message: JsonObject;
  finish_reason: string;
  usage: Usage;
  cost_usd: number | null;
  started_at: string;
  ended_at: string;
}

export interface ShownWorker {
  id: string;
  /** `gone`: it stopped without saying so. */
  state: 'ready' | 'draining' | 'gone';
  started_at: string;
  seen_ms_ago: number;
  /** The levels of its tool servers. */
  isolation: string[];
  servers: ToolServerReport[];
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
  /** About how many tokens of a model call the definition takes. */
  tokens: number;
  /** What the policy says to the caller; `depends`: other arguments may get another answer. */
  verdict?: {
    effect: 'allow' | 'require_approval' | 'deny';
    rule: string;
    depends: boolean;
  };
  last_30_days?: {
    calls: number;
    failures: number;
  };
}

export interface ToolChange {
  server: string;
  tool: string;
  change: 'cosmetic' | 'wording' | 'contract' | 'new' | 'removed';
  state: 'pending' | 'rejected';
  changed_at: string;
  id: string;
  hash: string | null;
  approved: {
    hash: string;
    definition: JsonObject;
  } | null;
  held: {
    hash: string;
    definition: JsonObject;
  } | null;
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
  /** Of a call outside of chats, if the result is not only text. */
  blocks?: JsonObject[];
  /** Of a call outside of chats. */
  structured_content?: unknown;
  /** Of a call outside of chats. */
  session_id?: string;
}

export interface ToolServer {
  name: string;
  state: 'starting' | 'ready' | 'unavailable' | 'refused';
  isolation?: string;
  reason?: string;
  /** How many programs or connections, by their state. */
  instances?: JsonObject;
  /** How many of its instances ended by themselves since the worker started. */
  restarts?: number;
  /** The last lines that it wrote to stderr, without known secrets. */
  stderr?: string[];
  paths?: {
    read: string[];
    write: string[];
  };
  /** What its isolation keeps it from. */
  forbids?: string[];
  /** What it may reach. */
  network?: string;
  /** The version of MCP that it speaks. */
  protocol?: string;
  left_out?: string[];
  tools: number;
  workers: {
    id: string;
    state: 'starting' | 'ready' | 'unavailable' | 'refused';
    isolation?: string;
    reason?: string;
    /** How many programs or connections, by their state. */
    instances?: JsonObject;
    /** How many of its instances ended by themselves since the worker started. */
    restarts?: number;
    /** The last lines that it wrote to stderr, without known secrets. */
    stderr?: string[];
  }[];
}

export interface ToolServerReport {
  name: string;
  state: 'starting' | 'ready' | 'unavailable' | 'refused';
  isolation?: string;
  reason?: string;
  /** How many programs or connections, by their state. */
  instances?: JsonObject;
  /** How many of its instances ended by themselves since the worker started. */
  restarts?: number;
  /** The last lines that it wrote to stderr, without known secrets. */
  stderr?: string[];
  paths?: {
    read: string[];
    write: string[];
  };
  /** What its isolation keeps it from. */
  forbids?: string[];
  /** What it may reach. */
  network?: string;
  /** The version of MCP that it speaks. */
  protocol?: string;
  left_out?: string[];
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

export interface UsageRow {
  requests: number;
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost_usd: number;
  key?: string | null;
  model?: string | null;
  tool?: string | null;
  day?: string;
}

export interface UsageSum {
  requests: number;
  calls: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost_usd: number;
}

/** What was left out of a request, or changed, so that the model could be asked. */
export interface Warning {
  message: string;
  /** The member of the request that it is about. */
  param?: string;
}
