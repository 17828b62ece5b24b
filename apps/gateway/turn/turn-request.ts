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
      requireApproval?: 'always' | { always?: ToolSelector; never?: ToolSelector };
    };

/** Selects tools by name and by whether they only read. An absent member selects all tools. */
export interface ToolSelector {
  toolNames?: string[];
  readOnly?: boolean;
}

/** One tool of a server; without `name`, any tool of that server. */
export interface ChosenServer {
  server: string;
  name?: string;
}

/** A tool call that the caller itself makes. */
export interface OwnCall {
  name: string;
  /** JSON text of an object. */
  argumentsText: string;
  /** At most the tool's own maximum. */
  timeoutMs: number | undefined;
  /** Who wrote the arguments; only a model's are converted. */
  from?: 'model';
}

export interface TurnRequest {
  dialect: Dialect;
  model?: string;
  messages: ChatMessage[];
  /** Stands in place of what a model would say: no model is asked, and the turn ends with its one round. */
  call?: OwnCall;
  /** Instructions for the model that precede everything else, in this turn only. */
  instructions?: string;
  /** Messages of complete earlier turns, read from the store; nothing in them is looked up again. */
  history?: ChatMessage[];
  /** The turn is stored as a run in any case, so that later turns and the caller can return to the run. */
  store?: boolean;
  /** Members of the request that the answer repeats. */
  echo?: JsonObject;
  tools: RequestedTool[];
  /** Tools that the provider itself runs, if it has them. */
  providerTools?: ProviderTool[];
  /** The caller knows no tools but `functions`, the older form of chat completions. */
  legacyFunctions?: true;
  /** Applies to the first round only. */
  toolChoice?: ToolChoice | ChosenServer;
  /** The only tools of `tools` that the model may call. */
  allowedTools?: ({ name: string } | ChosenServer)[];
  parallelToolCalls?: boolean;
  stream: boolean;
  includeUsage: boolean;
  /** Known OpenAI parameters, unchanged. */
  parameters: JsonObject;
  /** Unknown fields. */
  unknown: Record<string, Json>;
  /** The hash of the request as it was sent, if resources or prompts that it mentions have been read since. */
  sentHash?: string;
  /** What the reader of the request left out of it or changed. */
  warnings?: Warning[];
  sessionId?: string;
  /** Absent unless the caller chose a mode. */
  toolMode?: 'auto' | 'manual';
  onDisconnect: 'cancel' | 'detach';
  maxToolRounds?: number;
  /** `hold`: the turn waits for approvals. Absent: a call that needs one ends the turn, and the caller is asked. */
  approval?: 'hold';
  priority: 'interactive' | 'batch';
}

/** The turn of one call: its run outlives the caller, who comes back with the same key. */
export const turnOfOwnCall = (call: OwnCall, sessionId?: string): TurnRequest => ({
  dialect: 'events',
  messages: [],
  call,
  tools: [],
  stream: false,
  includeUsage: false,
  parameters: {},
  unknown: {},
  onDisconnect: 'detach',
  priority: 'interactive',
  ...(sessionId === undefined ? {} : { sessionId }),
});

/** As a run stores it. Of an own call nothing else is stored: a version that would ask a model cannot continue such a run. */
export const storedRequest = (request: TurnRequest): JsonObject =>
  (request.call === undefined ? request : { call: request.call }) as unknown as JsonObject;

export function requestOf(run: { request: JsonObject }): TurnRequest {
  const request = run.request as unknown as TurnRequest;
  return request.call === undefined ? request : turnOfOwnCall(request.call);
}
