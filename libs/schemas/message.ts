// Chat messages in OpenAI's wire shape: callers send them, the loop appends them, adapters translate them.
import type { ContentBlock } from './content-block.js';
import type { JsonObject } from './json.js';

/** `text`, `image_url`, `input_audio`, `file`, `refusal` and later parts, as the caller sent them. */
export type ContentPart = { type: string } & JsonObject;
export type MessageContent = string | ContentPart[];

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
  /** Google needs this returned with the call: `{google: {thought_signature}}`. Other vendors add other members. */
  extra_content?: JsonObject;
}

export interface SystemMessage {
  role: 'system' | 'developer';
  content: MessageContent;
  name?: string;
}

export interface UserMessage {
  role: 'user';
  content: MessageContent;
  name?: string;
}

export interface AssistantMessage {
  role: 'assistant';
  content: MessageContent | null;
  tool_calls?: ToolCall[];
  reasoning_content?: string;
  refusal?: string | null;
  name?: string;
  /** Signatures, response ids, reasoning to replay; only the adapter that made the state can read it. */
  provider_state?: ProviderState;
}

export interface ToolMessage {
  role: 'tool';
  tool_call_id: string;
  content: MessageContent;
  /** Set by the loop for its own results, so that families with an error flag can say so. */
  is_error?: boolean;
  /** The result as the tool returned it, for providers that accept more than text. `content` is its text. */
  blocks?: ContentBlock[];
}

export type ChatMessage = SystemMessage | UserMessage | AssistantMessage | ToolMessage;

/** State that is stored with its round, and returned only to the provider that made it. */
export interface ProviderState {
  provider: string;
  state: JsonObject;
}

/** The text of a content: its text parts, joined. */
export function messageText(content: MessageContent | null | undefined): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  return content.map((part) => (typeof part['text'] === 'string' ? part['text'] : '')).join('');
}

/** Content as the caller's API wrote it, beside the text for other families. A symbol, because JSON leaves symbols out. */
const original = Symbol('original');

/** `value` with its original. */
export function withOriginal<Value extends object>(value: Value, form: JsonObject | JsonObject[]): Value {
  return Object.assign(value, { [original]: form });
}

export function originalOf(value: object): JsonObject | JsonObject[] | undefined {
  return (value as { [original]?: JsonObject | JsonObject[] })[original];
}
