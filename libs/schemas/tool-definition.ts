// A tool as the model sees it, and as the catalog stores it.
import type { JsonObject } from './json.js';

/** What a model is offered; `parameters` is JSON Schema of an object. */
export interface ToolDefinition {
  name: string;
  description?: string;
  parameters?: JsonObject;
  strict?: boolean;
  /** What a provider of this API is sent in its place. Its calls are those of a function. */
  own?: ProviderTool;
}

/** A tool that a provider's API has itself, as that API writes it. */
export interface ProviderTool {
  api: 'openai' | 'anthropic';
  tool: JsonObject & { type: string };
  /** The model must use it in the first round. */
  chosen?: true;
}

/** How a caller knows a function that models are offered under another name or in another form. */
export interface CallerForm {
  name: string;
  namespace?: string;
  /** It takes free text: models are offered a function with one argument (`chat-apis/free-text.ts`). */
  custom?: true;
}

export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** Arguments by name: a call is read-only if each of them is absent or has one of these values. */
export type ReadOnlyWhen = Readonly<Record<string, readonly string[]>>;

/** One published tool of one server. */
export interface CatalogTool {
  server: string;
  /** The server's own name for it, as used in `tools/call`. */
  tool: string;
  /** The name callers and models use: bare for the first server that has it, else `server__tool`. */
  name: string;
  title?: string;
  description: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  annotations: ToolAnnotations;
  metadata?: JsonObject;
  /** SHA-256 (hex) over the canonical tool object. */
  definitionHash: string;
  /** False while no worker can reach the server; the last known definition stays. */
  available: boolean;
  /** May run again after a worker died in the middle. */
  safe: boolean;
  /** Does not change the session: may run in parallel with other calls of its session. */
  readOnly: boolean;
  /** Its calls that are both `safe` and `readOnly`, if not all are. */
  readOnlyWhen?: ReadOnlyWhen;
  /** Its server keeps state per session: all calls of a session go to one worker. Absent: any worker can run it. */
  stateful?: boolean;
  /** How long a result may answer equal calls of the same principal; absent: not at all. */
  cacheTtlMs?: number;
  /** A cached result answers only calls of the same session, even if any worker can run the tool. */
  cachePerSession?: boolean;
  /** The argument with the file of the workspace that a cached result depends on. */
  readsFile?: string;
  /** Headers of the caller's request to forward to its server, in lower case. */
  forwardHeaders?: string[];
  /** Its server is given tokens of its calls, and asks models of the gateway as their caller. */
  actsForCaller?: boolean;
  /** What its calls run under: `builtin`, `remote`, or a level of isolation. */
  isolation?: string;
  /** Deadline of one call, and how far progress may extend it. */
  timeoutMs: number;
  maxTimeoutMs: number;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };
