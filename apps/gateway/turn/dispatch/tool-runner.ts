// The port to the workers. A call is planned, written into the journal with its round, and then run.
import type { Approval } from '#libs/approvals/approval.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { Call, RunnableCall } from '../call.js';

export interface ToolProgress {
  status: 'queued' | 'running' | 'waiting_approval';
  progress?: number | undefined;
  total?: number | undefined;
  message?: string | undefined;
  /** The question that it waits for. */
  asks?: Approval;
}

export interface ToolRunner {
  /** Gives the call its job; its `row` goes into the journal before the call runs. */
  plan(call: Call, tool: CatalogTool, args: JsonObject): RunnableCall;
  /**
   * Runs a planned call and resolves with its one outcome; tool failures are outcomes. Aborting the context's signal
   * cancels it: the promise still resolves, with `cancelled` or with the outcome that was quicker, within the grace time.
   * @throws AppError queue_full, store_unavailable, no_worker before dispatch only; ApprovalNeeded when its tool server asks
   * something and its caller does not stay: the call goes on without this process then.
   */
  run(call: RunnableCall, onProgress: (progress: ToolProgress) => void): Promise<ToolOutcome>;
  /** Ends a planned call that is not to run. @throws AppError store_unavailable */
  skip(call: RunnableCall, outcome: ToolOutcome): Promise<void>;
  /** Whether any worker was seen lately; cheap, from memory. */
  hasWorker(): boolean;
}
