// The types of the Anthropic messages that we send (https://platform.claude.com/docs/en/api/messages). A type test compares
// them with the official SDK.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolExecution } from '#libs/schemas/turn-event.js';
import type { Warning } from '#libs/schemas/warning.js';

export interface WireText {
  type: 'text';
  text: string;
  citations: null;
}
export interface WireThinking {
  type: 'thinking';
  thinking: string;
  signature: string;
}
export interface WireToolUse {
  type: 'tool_use';
  id: string;
  name: string;
  input: JsonObject;
}
/** A server call. */
export interface WireMcpToolUse {
  type: 'mcp_tool_use';
  id: string;
  name: string;
  server_name: string;
  input: JsonObject;
}
export interface WireMcpToolResult {
  type: 'mcp_tool_result';
  tool_use_id: string;
  is_error: boolean;
  content: WireText[];
}
export type WireBlock = WireText | WireThinking | WireToolUse | WireMcpToolUse | WireMcpToolResult;

export type WireStopReason = 'end_turn' | 'max_tokens' | 'tool_use' | 'refusal';

export interface WireUsage {
  input_tokens: number;
  output_tokens: number;
  cache_creation_input_tokens: number;
  cache_read_input_tokens: number;
}

export interface WireMessage {
  id: string;
  type: 'message';
  role: 'assistant';
  model: string;
  content: WireBlock[];
  stop_reason: WireStopReason | null;
  stop_sequence: null;
  stop_details: null;
  container: null;
  usage: WireUsage;
  /** Our extensions. */
  tool_execution?: ToolExecution;
  warnings?: Warning[];
}

export type WireDelta =
  | { type: 'text_delta'; text: string }
  | { type: 'thinking_delta'; thinking: string }
  | { type: 'input_json_delta'; partial_json: string };

export type WireEvent =
  | { type: 'message_start'; message: WireMessage }
  | { type: 'content_block_start'; index: number; content_block: WireBlock }
  | { type: 'content_block_delta'; index: number; delta: WireDelta }
  | { type: 'content_block_stop'; index: number }
  | {
      type: 'message_delta';
      delta: { stop_reason: WireStopReason; stop_sequence: null; stop_details: null; container: null };
      usage: WireUsage;
      tool_execution?: ToolExecution;
      warnings?: Warning[];
    }
  | { type: 'message_stop' };

export type WireErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'not_found_error'
  | 'rate_limit_error'
  | 'timeout_error'
  | 'api_error'
  | 'overloaded_error'
  | 'conflict_error'
  | 'request_too_large';

export interface WireError {
  type: 'error';
  error: {
    type: WireErrorType;
    message: string;
    code: string;
    param?: string;
    tool_name?: string;
    details?: { error_code: 'thread_unsupported_request'; unsupported: string[] };
  };
  request_id: string;
}
