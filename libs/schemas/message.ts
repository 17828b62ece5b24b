// Chat messages in OpenAI's wire shape: what callers send, what the loop appends, what adapters translate.
import type { ContentBlock } from './content-block.js';
import type { JsonObject } from './json.js';

/** `text`, `image_url`, `input_audio`, `file`, `refusal` and later parts, as the caller sent them. */
export type ContentPart = { type: string } & JsonObject;
export type MessageContent = string | ContentPart[];

export interface ToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
  /** What Google needs returned with the call: `{google: {thought_signature}}`. Calls may have other members of a vendor. */
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
  /** Opaque to everything but the adapter that made it: signatures, response ids, reasoning to replay. */
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

/** Stored with the round that made it and returned only to the provider that made it. */
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

/** Content as the API wrote it that its caller used, beside its text for everybody else. A symbol, because it is not stored. */
const original = Symbol('original');

/** `value` with its original. */
export function withOriginal<Value extends object>(value: Value, form: JsonObject | JsonObject[]): Value {
  return Object.assign(value, { [original]: form });
}

export function originalOf(value: object): JsonObject | JsonObject[] | undefined {
  return (value as { [original]?: JsonObject | JsonObject[] })[original];
}
