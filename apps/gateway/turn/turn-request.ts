// One chat turn, as all chat APIs read it and the loop runs it. Messages have OpenAI's wire format; the rest is our own.
import type { Dialect } from '#libs/schemas/dialect.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { CallerForm, ProviderTool, ToolChoice, ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { Warning } from '#libs/schemas/warning.js';

export type RequestedTool =
  | { type: 'function'; definition: ToolDefinition; form?: CallerForm }
  /** `serverLabel` `*`: every server that the caller may use. */
  | {
      type: 'mcp';
      serverLabel: string;
      allowedTools?: string[];
      deniedTools?: string[];
      /** Calls that need an approval in addition to the policy's. If only `never` is given: all calls except those. */
      requireApproval?: 'always' | { always?: ToolFilter; never?: ToolFilter };
    };

/** Tools with one of these names, filtered by whether they are read-only; without `readOnly`: both. */
export interface ToolFilter {
  toolNames?: string[];
  readOnly?: boolean;
}

/** A tool of a server by its name, or any of them. */
export interface ChosenServer {
  server: string;
  name?: string;
}

export interface TurnRequest {
  dialect: Dialect;
  model?: string;
  messages: ChatMessage[];
  /** Instructions for the model that precede everything else, in this turn only. */
  instructions?: string;
  /** Complete earlier turns that were read from the store and are not looked up again. */
  history?: ChatMessage[];
  /** Stored as a run in any case, so that later turns and the caller can return to it. */
  store?: boolean;
  /** Members of the request that the answer repeats. */
  echo?: JsonObject;
  tools: RequestedTool[];
  /** Tools that run at the provider, if it has them. */
  providerTools?: ProviderTool[];
  /** The caller knows no tools but `functions`, the older form of chat completions. */
  legacyFunctions?: true;
  /** For the first round. */
  toolChoice?: ToolChoice | ChosenServer;
  /** The only tools that may be called, of those in `tools`. */
  allowedTools?: ({ name: string } | ChosenServer)[];
  parallelToolCalls?: boolean;
  stream: boolean;
  includeUsage: boolean;
  /** Known OpenAI parameters, unchanged. */
  parameters: JsonObject;
  /** Unknown fields. */
  unknown: Record<string, Json>;
  /** What the reader of the request left out of it or changed. */
  warnings?: Warning[];
  sessionId?: string;
  /** Set only if the caller chose a mode. */
  toolMode?: 'auto' | 'manual';
  onDisconnect: 'cancel' | 'detach';
  maxToolRounds?: number;
  /** `hold`: the turn waits for approvals. Absent: a call that needs one ends the turn, and the caller is asked. */
  approval?: 'hold';
  priority: 'interactive' | 'batch';
}
