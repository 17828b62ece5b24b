// A tool as the model sees it, and as the catalog stores it.
import type { JsonObject } from './json.js';
import type { ServerMethod } from './tool-job.js';

/** The definition that models are offered; `parameters` is JSON Schema of an object. */
export interface ToolDefinition {
  name: string;
  description?: string;
  parameters?: JsonObject;
  strict?: boolean;
  /** The provider's own tool that a provider of this API gets instead. Its calls look like calls of the function. */
  own?: ProviderTool;
}

/** A tool that a provider's API has itself, as that API writes it. */
export interface ProviderTool {
  api: 'openai' | 'anthropic';
  tool: JsonObject & { type: string };
  /** The model must use it in the first round. */
  chosen?: true;
}

/** The caller's name and form of a function that models know by another name or form. */
export interface CallerForm {
  name: string;
  namespace?: string;
  /** The caller's tool takes free text; models are offered a function with one argument (`chat-apis/free-text.ts`). */
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
  /** The server's name of the tool, as used in `tools/call`. */
  tool: string;
  /** The name callers and models use: bare for the first server that has it, else `server__tool`. */
  name: string;
  /**
   * The tool as its server's catalog has it, if a toolset shows it under another name or description. Only that one is planned,
   * judged, cached and called.
   */
  aliasOf?: CatalogTool;
  /** Set for what is no tool: a call of it asks the server for a resource, a prompt or a completion. */
  method?: ServerMethod;
  title?: string;
  description: string;
  inputSchema: JsonObject;
  outputSchema?: JsonObject;
  annotations: ToolAnnotations;
  metadata?: JsonObject;
  /** What its server lists in `_meta` about the tool's app (`readAppMeta`). */
  appMeta?: JsonObject;
  /** SHA-256 (hex) over the canonical tool object. */
  definitionHash: string;
  /** False while no worker can reach the server; the last known definition stays. */
  available: boolean;
  /** A call may run again after its worker died. */
  safe: boolean;
  /** Calls do not change the session, so they may run in parallel with others of the session. */
  readOnly: boolean;
  /** Which calls are both `safe` and `readOnly`, if not all calls are. */
  readOnlyWhen?: ReadOnlyWhen;
  /** The server keeps state per session, so one worker runs all calls of a session. Absent: any worker can run the tool. */
  stateful?: boolean;
  /** How long a result may answer equal calls of the same principal; absent: not at all. */
  cacheTtlMs?: number;
  /** A cached result answers only calls of the same session, even if any worker can run the tool. */
  cachePerSession?: boolean;
  /** The argument with the file of the workspace that a cached result depends on. */
  readsFile?: string;
  /** Headers of the caller's request that the server gets, in lower case. */
  forwardHeaders?: string[];
  /** The server gets tokens of its calls, with which it asks models of the gateway as the caller. */
  actsForCaller?: boolean;
  /** The server is told who calls, with roles. */
  tellsCaller?: boolean;
  /** Isolation of the tool's calls: `builtin`, `remote`, or a level of isolation. */
  isolation?: string;
  /** Deadline of one call, and how far progress may extend it. */
  timeoutMs: number;
  maxTimeoutMs: number;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };
