// Requests, answers and events of `/api/chat/completions`, as they are on the wire. docs/api.md describes them; a test
// compares them with the gateway's own.
import type { RequiredApproval, RequiredSignIn, ToolExecution, ToolResult, Usage, Warning } from './answers.js';
import type { Json, JsonObject } from './json.js';

export type { Json, JsonObject };

export type ContentPart = { type: string } & Record<string, unknown>;
/** A part of a user's content: the gateway reads the resource, or gets the prompt, and puts it in place. */
export type OfferPart =
  | { type: 'mcp_resource'; uri: string; server?: string }
  | { type: 'mcp_prompt'; name: string; server?: string; arguments?: Record<string, string> };

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

export type Message =
  | { role: 'system' | 'developer' | 'user'; content: string | ContentPart[]; name?: string }
  | { role: 'assistant'; content: string | ContentPart[] | null; tool_calls?: ToolCall[]; name?: string }
  | { role: 'tool'; content: string | ContentPart[]; tool_call_id: string };

export interface ToolFilter {
  tool_names?: string[];
  read_only?: boolean;
}

export interface FunctionTool {
  type: 'function';
  function: { name: string; description?: string; parameters?: Record<string, unknown>; strict?: boolean };
}

/** The tools of a server, which run on the gateway's side. */
export interface McpServerTools {
  type: 'mcp';
  /** A configured server; `*`: all of them. */
  server_label: string;
  allowed_tools?: string[];
  require_approval?: 'always' | 'never' | { always?: ToolFilter; never?: ToolFilter };
}

export type RequestTool = FunctionTool | McpServerTools;

/** In `tool_choice`: a tool of a server, or any tool of a server. */
export interface NamedMcpTool {
  type: 'mcp';
  server_label: string;
  name?: string;
}

export type NamedTool = { type: 'function'; function: { name: string } } | NamedMcpTool;

/** Members that Signalbox adds to the requests of all chat APIs. */
export interface GatewayFields {
  /** The session whose files the tools work on. Default: a new one when a tool runs. */
  session_id?: string;
  /** `manual`: all calls are returned to the caller. */
  tool_mode?: 'auto' | 'manual';
  /** How the caller is asked to approve a call. Default: `hold` for streams, else `return`. */
  approval?: 'hold' | 'return';
  /** Whether the turn ends when its caller disconnects. */
  on_disconnect?: 'cancel' | 'detach';
  max_tool_rounds?: number;
  priority?: 'interactive' | 'batch';
}

export interface ChatRequest extends GatewayFields {
  messages: Message[];
  model?: string;
  tools?: RequestTool[];
  tool_choice?:
    | 'auto'
    | 'none'
    | 'required'
    | NamedTool
    | { type: 'allowed_tools'; allowed_tools: { mode: 'auto' | 'required'; tools: NamedTool[] } };
  parallel_tool_calls?: boolean;
  n?: number;
  temperature?: number;
  top_p?: number;
  max_tokens?: number;
  max_completion_tokens?: number;
  presence_penalty?: number;
  frequency_penalty?: number;
  stop?: string | string[];
  seed?: number;
  logprobs?: boolean;
  top_logprobs?: number;
  logit_bias?: Record<string, number>;
  response_format?: { type: string } & Record<string, unknown>;
  reasoning_effort?: string;
  metadata?: Record<string, unknown>;
  user?: string;
}

export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter';

/** Members that Signalbox adds to the answers of all chat APIs. */
export interface GatewayAnswer {
  /** Present if a tool ran on the gateway's side. */
  tool_execution?: ToolExecution;
  warnings?: Warning[];
}

export interface ChatCompletion extends GatewayAnswer {
  id: string;
  object: 'chat.completion';
  created: number;
  model: string;
  choices: {
    index: number;
    message: { role: 'assistant'; content: string | null; reasoning_content?: string; tool_calls?: ToolCall[] };
    finish_reason: FinishReason;
  }[];
  usage: Usage;
}

/** A piece of a call: `id`, `type` and `name` are in its first piece only. */
export interface ToolCallDelta {
  index: number;
  id?: string;
  type?: 'function';
  function: { name?: string; arguments: string };
}

/** A decision that the turn waits for, as shown by a call of `approval_request`. */
export type ApprovalRequest = Omit<RequiredApproval, 'kind' | 'arguments'> &
  Partial<Pick<RequiredApproval, 'kind' | 'arguments'>>;

/** A sign-in that the turn waits for, as shown by a call of `sign_in_request`. */
export type SignInRequest = Omit<RequiredSignIn, 'tool'>;

/** With `choices`, each event is also a chunk as OpenAI sends it. */
export interface Chunk {
  id: string;
  object: 'chat.completion.chunk';
  created: number;
  model: string;
  choices: {
    index: number;
    delta: { role?: string; content?: string; reasoning_content?: string; tool_calls?: ToolCallDelta[] };
    finish_reason: FinishReason | null;
  }[];
}

/** The events of the gateway. Later versions may send more types: ignore those that you do not know. */
export type GatewayEvent = Chunk &
  (
    | { type: 'start'; run_id: string; session_id?: string }
    | { type: 'content'; delta: { content: string } }
    | { type: 'reasoning'; delta: { reasoning_content: string } }
    /** `index` counts all calls of the turn. */
    | { type: 'tool_call'; delta: { tool_calls: ToolCallDelta[] } }
    | {
        type: 'tool_progress';
        tool_call_id: string;
        status: 'queued' | 'running' | 'waiting_approval';
        progress?: number;
        total?: number;
        message?: string;
      }
    | { type: 'tool_result'; tool_call_id: string; result: ToolResult }
    | { type: 'approval_required'; approval: RequiredApproval }
    /** Whoever the call is for opens `authorization_url` in a browser; then the turn goes on by itself. */
    | { type: 'sign_in_required'; sign_in: RequiredSignIn }
    | RewindEvent
    | ({ type: 'done'; finish_reason: FinishReason; usage: Usage } & GatewayAnswer)
  );

/**
 * After the death of a gateway: the events with numbers above `to` do not count any more. Another gateway asks the model again
 * for the message that broke off, and repeats the results of calls that have run.
 */
export interface RewindEvent {
  type: 'rewind';
  to: number;
}

/** `n`: the number of the event in its run. */
export type ChatEvent = (Exclude<GatewayEvent, RewindEvent> & { n: number }) | RewindEvent;
