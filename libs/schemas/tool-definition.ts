// A tool as a model is shown it, and as the catalog knows it.
import type { JsonObject } from './json.js';

/** What a model is offered; `parameters` is JSON Schema of an object. */
export interface ToolDefinition {
  name: string;
  description?: string;
  parameters?: JsonObject;
  strict?: boolean;
}

export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** Arguments by name: a call only reads where each of them is absent or one of these values. */
export type ReadOnlyWhen = Readonly<Record<string, readonly string[]>>;

/** One published tool of one server. */
export interface CatalogTool {
  server: string;
  /** The server's own name for it, as `tools/call` wants it. */
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
  /** Does not change the session: may run beside other calls of its session. */
  readOnly: boolean;
  /** Its calls that are both `safe` and `readOnly`, though not all are. */
  readOnlyWhen?: ReadOnlyWhen;
  /** Its server keeps something a session: all calls of one go to one worker. Absent: any worker will do. */
  stateful?: boolean;
  /** How long a result may answer equal calls of the same principal; absent: never. */
  cacheTtlMs?: number;
  /** A kept result answers calls of the same session only, also where any worker will do. */
  cachePerSession?: boolean;
  /** Headers of the caller's request that its server is sent, in small letters. */
  forwardHeaders?: string[];
  /** What its calls run under: `builtin`, `remote`, or a level of isolation. */
  isolation?: string;
  /** Deadline of one call, and how far progress may extend it. */
  timeoutMs: number;
  maxTimeoutMs: number;
}

export type ToolChoice = 'auto' | 'none' | 'required' | { name: string };
