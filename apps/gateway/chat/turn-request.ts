// One chat turn as every chat API reads it and the loop runs it. OpenAI's wire shapes inside, ours around.
import type { Dialect } from '#libs/schemas/dialect.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { ToolChoice, ToolDefinition } from '#libs/schemas/tool-definition.js';

export type RequestedTool =
  | { type: 'function'; definition: ToolDefinition }
  /** `serverLabel` `*`: every server that the caller may use. */
  | {
      type: 'mcp';
      serverLabel: string;
      allowedTools?: string[];
      deniedTools?: string[];
      /** Calls that need an approval beside those of the policy. Only `never`: all but those. */
      requireApproval?: 'always' | { always?: ToolFilter; never?: ToolFilter };
    };

/** Tools that have one of these names and are, or are not, read-only; absent: both. */
export interface ToolFilter {
  toolNames?: string[];
  readOnly?: boolean;
}

export interface TurnRequest {
  dialect: Dialect;
  model?: string;
  messages: ChatMessage[];
  /** What the model is told before everything else, of this turn only. */
  instructions?: string;
  /** Complete turns before `messages`, as the store told them: not looked up again. */
  history?: ChatMessage[];
  /** Kept as a run though nothing else asks for it, so that later turns and its caller can come back to it. */
  store?: boolean;
  /** Members of the request that its answer repeats. */
  echo?: JsonObject;
  tools: RequestedTool[];
  toolChoice?: ToolChoice;
  parallelToolCalls?: boolean;
  stream: boolean;
  includeUsage: boolean;
  /** Known OpenAI parameters as given. */
  parameters: JsonObject;
  /** Fields that nobody here knows. */
  unknown: Record<string, Json>;
  sessionId?: string;
  /** `auto` and `manual` when the caller said so. */
  toolMode?: 'auto' | 'manual';
  onDisconnect: 'cancel' | 'detach';
  maxToolRounds?: number;
  /** A call that needs an approval holds the turn; absent: it ends the turn, and the caller is asked. */
  approval?: 'hold';
  priority: 'interactive' | 'batch';
}
