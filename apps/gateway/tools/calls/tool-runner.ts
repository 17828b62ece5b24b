// The port to wherever tools run. The loop plans calls in the journal first, then runs each through this.
import type { CallContext } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';

export interface ToolProgress {
  status: 'queued' | 'running';
  progress?: number;
  total?: number;
  message?: string;
}

export interface RunnableCall {
  tool: CatalogTool;
  arguments: JsonObject;
  /** Planned by a gateway that is gone: run only if nobody has begun it, else its outcome is waited for. */
  again?: boolean;
}

export interface ToolRunner {
  /**
   * Runs one planned call and resolves with its one outcome; tool failures are outcomes. Aborting the context's signal
   * cancels it: the promise still resolves, with `cancelled` or with the outcome that was quicker, within the grace time.
   * @throws AppError queue_full, store_unavailable, no_worker before dispatch only.
   */
  run(call: RunnableCall, context: CallContext, onProgress: (progress: ToolProgress) => void): Promise<ToolOutcome>;
  /** Whether any worker was seen lately; cheap, from memory. */
  hasWorker(): boolean;
}
