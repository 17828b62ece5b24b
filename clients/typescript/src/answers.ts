// What the gateway answers. Written by `npm run docs:generate` from apps/gateway/http/openapi.
import type { JsonObject } from './json.js';

export interface ApiKey {
  id: string;
  /** `rotating`: replaced, and valid until its grace is over; `expiring`: it ends within a week. */
  state: 'active' | 'rotating' | 'expiring' | 'expired' | 'revoked';
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
  /** `sign_in`: the call has not begun, its caller has to sign in at the tool server. `question`: the call runs, and its tool server asks something. */
  kind: 'approval' | 'sign_in' | 'question';
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
  /** Of a sign-in: what it must cover; often empty. */
  scopes?: string[];
  /** Of a sign-in, for its principal alone: where to sign in, in a browser. */
  authorization_url?: string | null;
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

export interface BegunSignIn {
  /** What the user opens in a browser. */
  authorization_url: string;
  expires_at: string;
}

export interface BudgetUse {
  /** Null: there is no budget. */
  limit_usd: number | null;
  spent_usd: number;
  /** What will have been spent at the end of the day or month (UTC) at its rate so far. */
  forecast_usd: number;
  state: 'none' | 'within' | 'would_run_out' | 'used_up';
  /** When a budget that `would_run_out` is used up at that rate. */
  runs_out_at: string | null;
}

export interface CompletedArgument {
  values: string[];
  total?: number;
  hasMore?: boolean;
}

export interface Connection {
  server: string;
  kind: 'oauth' | 'client_credentials' | 'token_exchange' | 'headers';
  /** `needed`: there is none; `expired`: its tokens were refused or have ended; `error`: the key that sealed it is not configured. */
  state: 'connected' | 'needed' | 'expired' | 'error';
  scopes: string[];
  connected_at: string | null;
  /** When it ends; absent if it is renewed. */
  expires_at?: string;
  /** As the issuer names the user. */
  account?: string;
  /** What the server has asked for in addition. */
  wanted_scopes?: string[];
  /** Of `headers`: the headers that need a value. */
  names?: string[];
}

export interface DraftedRule {
  /** The policy in force with the rule in its place, as YAML. */
  policy: string;
  rule: PolicyRule;
  /** The rule that it comes before; null: it is the last. */
  before: string | null;
  /** Paths of arguments that the rule leaves open. */
  left_out: string[];
}

export interface EndedCall {
  success: true;
  content: string;
  blocks?: JsonObject[];
  structured_content?: unknown;
  /** Of a tool with an app. */
  meta?: JsonObject;
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
  | 'run_in_progress'
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
  | 'connection_needed'
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

export interface FilledPrompt {
  description?: string;
  messages: {
    role: 'user' | 'assistant';
    content: JsonObject;
  }[];
}

export interface KeyBudget {
  /** Null: a caller without a key. */
  key: string | null;
  principal: string;
  name: string | null;
  prefix: string | null;
  day: BudgetUse;
  month: BudgetUse;
}

export interface ListedKey {
  id: string;
  /** `rotating`: replaced, and valid until its grace is over; `expiring`: it ends within a week. */
  state: 'active' | 'rotating' | 'expiring' | 'expired' | 'revoked';
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
  /** With what the keys before it have spent; the budget is its own or the configured one. */
  spending: {
    day: BudgetUse;
    month: BudgetUse;
  };
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
  /** The run that this one replays; null for any other run. */
  replay_of: string | null;
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

export interface ModelAlias {
  name: string;
  /** `provider/model`, in the order in which they are tried. */
  targets: string[];
  /** Why it leads to no model. */
  problem: string | null;
  fallbacks: {
    from: string;
    to: string;
    count: number;
    last_at: string;
    code: string;
    /** Why, the last time. */
    message: string;
  }[];
}

export interface ModelCallFigures {
  /** Calls that ended, without those that their callers left. */
  calls: number;
  failed: number;
  /** How many failed with each code, the most frequent first. */
  errors: {
    code: string;
    count: number;
  }[];
  /** Half of the answers took at most this long, to within a fifth; null without answers. */
  p50_ms: number | null;
  p95_ms: number | null;
  /** The same until the first part of streamed answers. */
  first_token_p50_ms: number | null;
  first_token_p95_ms: number | null;
}

export interface ModelProvider {
  name: string;
  /** `offline`: the model inside, which needs no address. */
  kind: 'openai' | 'anthropic' | 'gemini' | 'offline';
  /** Scheme, host and port. */
  address: string | null;
  /** Whether a key or headers are sent. */
  has_key: boolean;
  /** The variable or setting that the key is from, or would be from. */
  key_from: string | null;
  address_from: string | null;
  tools: 'native' | 'prompted' | 'none';
  /** Why it cannot be used, and what to do. */
  problem: string | null;
  /** `open`: it failed repeatedly and is not called for a while. */
  circuit: {
    state: 'closed' | 'open' | 'half_open';
    since: string;
  } | null;
  models: {
    /** Where the names are from. */
    source: 'configuration' | 'provider' | 'built_in';
    count: number;
    /** The first 500. */
    names: string[];
    /** When the provider last gave its list. */
    listed_at: string | null;
  };
  last_hour: ModelCallFigures;
  last_day: ModelCallFigures;
  /** The last 24 hours, oldest first, the present one last. */
  hours: {
    hour: string;
    calls: number;
    failed: number;
    p95_ms: number | null;
  }[];
  /** The last failed call, also if others have succeeded since. */
  last_error: {
    at: string;
    model: string;
    code: string;
    message: string;
    /** What the provider answered; null without an answer. */
    upstream_status: number | null;
  } | null;
}

export interface ModelsHealth {
  at: string;
  /** The gateway that answers. Providers and aliases are as this one has seen them. */
  gateway: string;
  /** How many gateways run. */
  gateways: number;
  /** When this gateway began to count calls. */
  counted_since: string;
  /** The model of requests that name none. */
  default_model: string;
  /** Names in the configuration that lead to no model. */
  problems: string[];
  /** In the order of the configuration, the offline model last. */
  providers: ModelProvider[];
  aliases: ModelAlias[];
  /** Models that were used in the last 30 days, or that the configuration names. */
  models: PricedModel[];
}

export interface OfferedPrompt {
  /** The name to get it by; its server is in front where two servers have the same name. */
  name: string;
  server: string;
  title?: string;
  description?: string;
  arguments?: {
    name: string;
    description?: string;
    required?: boolean;
  }[];
}

export interface OfferedResource {
  /** The name to read it by; it begins with `signalbox://` where two servers have the same URI. */
  uri: string;
  server: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
}

export interface OfferedTemplate {
  uriTemplate: string;
  server: string;
  name: string;
  title?: string;
  description?: string;
  mimeType?: string;
}

export interface Overview {
  at: string;
  /** False: of the caller alone. */
  everybody: boolean;
  waiting: {
    approvals: number;
    /** Calls that wait until their caller has signed in at a tool server. */
    sign_ins: number;
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

export interface Policy {
  /** Where the rules are written: the main configuration file, or the one that `policy.file` names. */
  source: {
    kind: 'config' | 'file';
    name: string;
  };
  /** For calls that no rule matches. */
  default: 'by_origin' | 'allow';
  /** In order: the first that matches decides. */
  rules: UsedPolicyRule[];
  /** The defaults that decided calls. */
  defaults: UsedRuleName[];
  /** Names in the audit that are no rule now: earlier rules, and `request`. */
  others: UsedRuleName[];
  since: string;
  /** The rules as YAML, as they would be written where they are; without comments. */
  text: string;
}

export interface PolicyExplanation {
  tool: string;
  principal: string;
  roles: string[];
  key_id: string | null;
  /** Whether the key allows the tool at all; if not, the policy is not asked. */
  key_allows: boolean;
  decision: {
    effect: 'allow' | 'deny' | 'require_approval';
    rule: string;
    reason?: string;
  } | null;
  /** The rules up to the one that decides. Without the scope admin only those for this caller and tool. */
  tried: {
    rule: string;
    matched: boolean;
    /** Why it does not match. */
    because?: string;
    differs?: 'tool' | 'caller' | 'arguments';
  }[];
  /** Why the tool would refuse these arguments before the policy is asked; they are judged as they are. */
  arguments_problem: string | null;
}

export interface PolicyRule {
  name: string;
  role?: string | string[];
  user?: string | string[];
  key?: string | string[];
  tool?: string | string[];
  resource?: string | string[];
  prompt?: string | string[];
  arguments?: {
    path: string;
    equals?: string | number | boolean | null;
    in?: (string | number | boolean | null)[];
    prefix?: string;
    regex?: string;
  }[];
  effect: 'allow' | 'deny' | 'require_approval';
  reason?: string;
}

export interface PricedModel {
  /** `provider/model`. */
  model: string;
  /** Of the last 30 days, by all gateways. */
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  cost_usd: number;
  /** USD per million tokens; null: unknown, so that the model costs nothing. */
  price: {
    input: number;
    output: number;
    /** Null: as input. */
    cached_input: number | null;
    /** Null: as input. */
    cache_write: number | null;
  } | null;
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

export interface RequiredSignIn {
  id: string;
  server: string;
  /** To be opened in a browser by whoever the call is for. */
  authorization_url: string;
  expires_at: string;
  tool_call_id: string;
  tool: string;
}

export interface ResourceContents {
  contents: {
    uri: string;
    mimeType?: string;
    text?: string;
    blob?: string;
  }[];
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
  /** The run that this one replays; null for any other run. */
  replay_of: string | null;
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

export interface Setting {
  /** As in signalbox.yaml: `server.port`. */
  key: string;
  /** The first part of the key. */
  group: string;
  /** Null: not set. A secret is `set` or `not set`; addresses are without credentials, paths without directories. */
  value: unknown;
  secret: boolean;
  /** `env_file`: a variable in .env. */
  origin: 'default' | 'file' | 'env_file' | 'environment';
  /** The variable, or the file and its line. */
  source: string | null;
  /** The variable that sets it. */
  variable: string | null;
  default: unknown;
  meaning: string;
}

export interface Settings {
  /** The gateway that answers. */
  gateway: string;
  settings: Setting[];
  warnings: {
    setting: string | null;
    code: 'misnamed_model' | 'needs_restart' | 'not_applied';
    message: string;
  }[];
  versions: {
    signalbox: string;
    node: string;
    postgresql: string;
    /** Null: the queue is in PostgreSQL. */
    redis: string | null;
    /** Revisions of the protocol at `/mcp`, the newest first. */
    mcp: string[];
  };
  health: {
    status: string;
    checks: {
      name: string;
      status: 'ok' | 'degraded' | 'down';
      reason: string | null;
    }[];
  };
}

export interface ShownApp {
  object: 'app';
  call_id: string;
  session_id: string;
  /** As its server knows it. */
  tool: {
    name: string;
    description: string;
    inputSchema: JsonObject;
  };
  arguments: JsonObject;
  result: {
    content: JsonObject[];
    structuredContent?: unknown;
    isError?: boolean;
    _meta?: JsonObject;
  };
  html: string;
  /** The address, below that of the gateway, of an empty page that takes the HTML by postMessage. */
  frame: string;
  /** Names of the tools that the app may call: its server's, and the gateway's. */
  tools: JsonObject;
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
    decided_by: string | null;
    decision_reason: string | null;
    created_at: string;
    expires_at: string;
    decided_at: string | null;
    reason: string | null;
    edited: boolean;
  } | null;
  /** The sign-ins of its caller at the tool server that it waited for, in order. */
  sign_ins?: WaitOfCall[];
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
  /** Of the request that made the call; null if it had none. */
  trace_id: string | null;
  /** Where that trace can be looked at; null without `telemetry.trace_url`. */
  trace_url: string | null;
  /** Of a call of a replay: whether the recorded run has the same call, a call of that tool with other arguments, or neither. */
  replayed: 'same' | 'other_arguments' | 'none' | null;
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

export type SimulationEvent =
  | {
      type: 'progress';
      calls: number;
      /** How far back it has read. */
      at: string;
    }
  | {
      type: 'call';
      kind: 'changed';
      /** The row of the audit. */
      id: string;
      call_id: string | null;
      at: string;
      principal: string;
      key_id: string | null;
      server: string;
      tool: string;
      was: 'allow' | 'require_approval' | 'refused';
      now: 'allow' | 'deny' | 'require_approval';
      rule: string;
    }
  | {
      type: 'call';
      kind: 'same';
      /** The row of the audit. */
      id: string;
      call_id: string | null;
      at: string;
      principal: string;
      key_id: string | null;
      server: string;
      tool: string;
      now: 'allow' | 'deny' | 'require_approval';
      rule: string;
    }
  | {
      type: 'call';
      kind: 'unknown';
      /** The row of the audit. */
      id: string;
      call_id: string | null;
      at: string;
      principal: string;
      key_id: string | null;
      server: string;
      tool: string;
      because: string;
    }
  | {
      type: 'done';
      calls: number;
      counts: {
        same: number;
        changed: number;
        unknown: number;
        undecided: number;
      };
      /** How many calls were listed; the sums have all. */
      listed: number;
      changes: {
        server: string;
        tool: string;
        was: 'allow' | 'require_approval' | 'refused';
        now: 'allow' | 'deny' | 'require_approval';
        rule: string;
        calls: number;
      }[];
      rules: {
        rule: string;
        effect: 'allow' | 'deny' | 'require_approval';
        calls: number;
        changed: number;
      }[];
      unknown: {
        because: string;
        calls: number;
      }[];
      since: string;
      until: string;
    };

export interface Tool {
  type: 'function';
  function: {
    name: string;
    description: string;
    parameters: JsonObject;
  };
  server: string;
  /** The named sets that have the tool. */
  toolsets?: string[];
  annotations: JsonObject;
  requires_approval: boolean;
  available: boolean;
  title?: string;
  output_schema?: JsonObject;
  metadata?: JsonObject;
  /** Of a tool with an app: whether it has a page, and whether models may call the tool. */
  app?: {
    shows_results: boolean;
    for_models: boolean;
  };
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
  kind: 'tool' | 'prompt' | 'instructions';
  server: string;
  /** The name of the tool or prompt; empty for instructions. */
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
  /** Of a call outside of chats, of a tool with an app. */
  meta?: JsonObject;
  /** Of a call outside of chats. */
  session_id?: string;
}

export interface ToolServer {
  name: string;
  state: 'starting' | 'ready' | 'needs_sign_in' | 'unavailable' | 'refused';
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
  /** About how many tokens of a model call the definitions of its tools take together. */
  tokens: number;
  workers: {
    id: string;
    state: 'starting' | 'ready' | 'needs_sign_in' | 'unavailable' | 'refused';
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
  state: 'starting' | 'ready' | 'needs_sign_in' | 'unavailable' | 'refused';
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

export interface UnusedKeyRights {
  /** Null: callers without a key. */
  key_id: string | null;
  prefix: string | null;
  name: string | null;
  owner: string;
  created_at: string | null;
  /** Tools of the catalog that the key and the policy allow, at least with an approval. */
  allowed: number;
  /** Those that were called. */
  used: string[];
  unused: string[];
  unused_count: number;
  /** A rule that takes these rights away, as YAML; for the first rules of the policy. */
  rule: string | null;
  /** Or the tools of a new key in its place. */
  tools: {
    allow: string[];
  } | null;
}

export interface UnusedRights {
  since: string;
  data: UnusedKeyRights[];
  /** Rules that allow or ask, and decided no call. */
  rules: string[];
  has_more: boolean;
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
  /** Tokens of models without a price; what they cost is not in `cost_usd`. */
  unpriced_tokens: number;
  key?: string | null;
  key_owner?: string | null;
  key_name?: string | null;
  principal?: string;
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
  /** Tokens of models without a price; what they cost is not in `cost_usd`. */
  unpriced_tokens: number;
}

export interface UsedPolicyRule {
  name: string;
  role?: string | string[];
  user?: string | string[];
  key?: string | string[];
  tool?: string | string[];
  resource?: string | string[];
  prompt?: string | string[];
  arguments?: {
    path: string;
    equals?: string | number | boolean | null;
    in?: (string | number | boolean | null)[];
    prefix?: string;
    regex?: string;
  }[];
  effect: 'allow' | 'deny' | 'require_approval';
  reason?: string;
  /** Set for `tools.requires_approval` of that server, which comes after all rules. */
  server: string | null;
  /** Calls that it decided since `since`; at most 100,000 are counted. */
  hits: number;
  /** As long as the audit is kept. */
  last_hit_at: string | null;
}

export interface UsedRuleName {
  rule: string;
  /** Calls that it decided since `since`; at most 100,000 are counted. */
  hits: number;
  /** As long as the audit is kept. */
  last_hit_at: string | null;
}

export interface WaitOfCall {
  id: string;
  state: string;
  decided_by: string | null;
  decision_reason: string | null;
  created_at: string;
  expires_at: string;
  decided_at: string | null;
}

/** What was left out of a request, or changed, so that the model could be asked. */
export interface Warning {
  message: string;
  /** The member of the request that it is about. */
  param?: string;
}
