// The types of the OpenAI responses that we send. A type test compares them with the official SDK.
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolExecution } from '#libs/schemas/turn-event.js';
import type { Warning } from '#libs/schemas/warning.js';

type ItemStatus = 'in_progress' | 'completed' | 'incomplete';

export interface WireOutputText {
  type: 'output_text';
  text: string;
  annotations: never[];
  logprobs: never[];
}
export interface WireRefusal {
  type: 'refusal';
  refusal: string;
}
export interface WireMessageItem {
  type: 'message';
  id: string;
  role: 'assistant';
  status: ItemStatus;
  content: (WireOutputText | WireRefusal)[];
}
export interface WireSummary {
  type: 'summary_text';
  text: string;
}
export interface WireReasoning {
  type: 'reasoning';
  id: string;
  summary: WireSummary[];
}
export interface WireFunctionCall {
  type: 'function_call';
  id: string;
  call_id: string;
  name: string;
  namespace?: string;
  arguments: string;
  status: ItemStatus;
}
export interface WireCustomCall {
  type: 'custom_tool_call';
  id: string;
  call_id: string;
  name: string;
  namespace?: string;
  input: string;
  status: ItemStatus;
}
/** A server call. */
export interface WireMcpCall {
  type: 'mcp_call';
  id: string;
  server_label: string;
  name: string;
  arguments: string;
  status: ItemStatus | 'failed';
  output: string | null;
  error: { type: 'mcp_tool_execution_error'; content: { type: 'text'; text: string }[] } | null;
  approval_request_id: null;
}
export interface WireMcpListTools {
  type: 'mcp_list_tools';
  id: string;
  server_label: string;
  tools: { name: string; description: string; input_schema: JsonObject; annotations: JsonObject }[];
}
export type WireItem =
  WireMessageItem | WireReasoning | WireFunctionCall | WireCustomCall | WireMcpCall | WireMcpListTools;

export interface WireResponseUsage {
  input_tokens: number;
  input_tokens_details: { cached_tokens: number; cache_write_tokens: number };
  output_tokens: number;
  output_tokens_details: { reasoning_tokens: number };
  total_tokens: number;
}

export interface WireResponse {
  id: string;
  object: 'response';
  /** Epoch seconds. */
  created_at: number;
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed' | 'cancelled';
  model: string;
  output: WireItem[];
  error: { code: 'server_error'; message: string } | null;
  incomplete_details: { reason: 'max_output_tokens' | 'content_filter' } | null;
  usage?: WireResponseUsage;
  /** Our extensions. */
  tool_execution?: ToolExecution;
  warnings?: Warning[];
  /** Members repeated from the request. */
  [echoed: string]: unknown;
}

interface OfItem {
  item_id: string;
  output_index: number;
}
type OfText = OfItem & { content_index: 0 };
type OfSummary = OfItem & { summary_index: 0 };

/** Without `sequence_number`, which the stream adds. */
export type WireResponseEvent =
  | {
      type:
        'response.created' | 'response.in_progress' | 'response.completed' | 'response.incomplete' | 'response.failed';
      response: WireResponse;
    }
  | { type: 'response.output_item.added' | 'response.output_item.done'; output_index: number; item: WireItem }
  | (OfText & {
      type: 'response.content_part.added' | 'response.content_part.done';
      part: WireOutputText | WireRefusal;
    })
  | (OfText & { type: 'response.output_text.delta'; delta: string; logprobs: never[] })
  | (OfText & { type: 'response.output_text.done'; text: string; logprobs: never[] })
  | (OfText & { type: 'response.refusal.delta'; delta: string })
  | (OfText & { type: 'response.refusal.done'; refusal: string })
  | (OfSummary & {
      type: 'response.reasoning_summary_part.added' | 'response.reasoning_summary_part.done';
      part: WireSummary;
    })
  | (OfSummary & { type: 'response.reasoning_summary_text.delta'; delta: string })
  | (OfSummary & { type: 'response.reasoning_summary_text.done'; text: string })
  | (OfItem & { type: 'response.function_call_arguments.delta'; delta: string })
  | (OfItem & { type: 'response.function_call_arguments.done'; name: string; arguments: string })
  | (OfItem & { type: 'response.custom_tool_call_input.delta'; delta: string })
  | (OfItem & { type: 'response.custom_tool_call_input.done'; input: string })
  | (OfItem & { type: 'response.mcp_call_arguments.delta'; delta: string })
  | (OfItem & { type: 'response.mcp_call_arguments.done'; arguments: string })
  | (OfItem & { type: 'response.mcp_call.in_progress' | 'response.mcp_call.completed' | 'response.mcp_call.failed' })
  | (OfItem & { type: 'response.mcp_list_tools.in_progress' | 'response.mcp_list_tools.completed' });

/** The last event of a failed stream. `error` is our extension: it makes every SDK throw. */
export interface WireErrorEvent {
  type: 'error';
  sequence_number: number;
  code: string;
  message: string;
  param: string | null;
  error: JsonObject;
}
