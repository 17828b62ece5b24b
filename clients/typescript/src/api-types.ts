// What the other endpoints below `/api` take and return, as it is on the wire.
import type { Json, JsonObject, ToolExecution, Usage } from './chat-types.js';

export interface Run {
  id: string;
  state: 'running' | 'waiting' | 'done' | 'failed' | 'cancelled' | 'interrupted';
  session_id: string | null;
  /** Epoch seconds. */
  created: number;
  rounds: number;
  usage: Usage;
  tool_execution?: ToolExecution;
  error?: { code: string; message: string; type: string };
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
  message: string | null;
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

export type Decision =
  /** `arguments` replace those of the call; for a question they are the answer. */
  { decision: 'approve'; arguments?: JsonObject; reason?: string } | { decision: 'deny'; reason?: string };

export interface Session {
  id: string;
  object: 'session';
  created_at: string;
  expires_at: string;
  workspace_path: string;
  metadata: Record<string, unknown>;
  usage: { bytes: number; files: number };
  limits: { bytes: number; files: number; depth: number };
}

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

export interface UploadedFile {
  path: string;
  size: number;
  etag: string;
  created: boolean;
}

export interface Tool {
  type: 'function';
  function: { name: string; description: string; parameters: JsonObject };
  server: string;
  annotations: JsonObject;
  requires_approval: boolean;
  available: boolean;
  title?: string;
  output_schema?: JsonObject;
  metadata?: JsonObject;
}

export interface ToolCallRequest {
  name: string;
  arguments?: JsonObject;
  session_id?: string;
  timeout_ms?: number;
}

export interface EndedCall {
  success: true;
  content: string;
  blocks?: JsonObject[];
  structured_content?: Exclude<Json, null>;
  id: string;
  session_id: string;
  duration_ms: number;
  cached: boolean;
  truncated?: boolean;
}

/** The call did not run yet: somebody has to decide. */
export interface WaitingCall {
  approval: Approval;
  /** Repeat the call with this key: it runs once it is approved. */
  idempotencyKey: string;
}

export interface Model {
  id: string;
  object: 'model';
  created: number;
  owned_by: string;
}
