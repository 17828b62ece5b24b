// The port to the workers. A call is planned, journaled with its round, and then run.
import type { Wait } from '#libs/waits/wait.js';
import type { RequestDeadline } from '#libs/schemas/call-context.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolLog } from '#libs/schemas/tool-job.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { Call, RunnableCall } from '../call.js';

export interface ToolProgress {
  status: 'queued' | 'running' | 'waiting_approval';
  progress?: number | undefined;
  total?: number | undefined;
  message?: string | undefined;
  /** A log message of the tool server. */
  log?: ToolLog;
  /** The open question of the tool server. */
  asks?: Wait;
}

export interface ToolRunner {
  /** Gives the call its job. The call's `row` must be journaled before the call runs. */
  plan(call: Call, tool: CatalogTool, args: JsonObject): RunnableCall;
  /**
   * Runs a planned call and resolves with its one outcome; tool failures are outcomes. Aborting the context's signal cancels the
   * call: the promise still resolves within the grace time, with `cancelled` or an outcome that came first. If another gateway
   * continues the run, the promise rejects with the signal's reason, and nothing of the call is ended. The context's deadline is
   * paused while the tool server asks a person.
   * @throws AppError queue_full, store_unavailable, no_worker before dispatch only; ApprovalNeeded if the tool server asks a
   * question and the caller does not stay: the call then continues without this process; ApprovalNeeded too if the caller has to
   * sign in at the tool server: the call is then parked, and is planned again once it may run.
   */
  run(call: RunnableCall, onProgress: (progress: ToolProgress) => void): Promise<ToolOutcome>;
  /**
   * Ends a call that the gateway itself answers with its outcome, before it is journaled. No worker runs it; it is measured as
   * those that run. @throws what `work` throws
   */
  answer(call: Call, args: JsonObject, work: () => Promise<ToolOutcome>): Promise<void>;
  /** Ends a planned call that must not run. @throws AppError store_unavailable */
  skip(call: RunnableCall, outcome: ToolOutcome): Promise<void>;
  /** Whether any worker was seen lately; answered from memory. */
  hasWorker(): boolean;
  /**
   * Waits while no worker runs: for a bounded time, and no longer than the call's own timeout.
   * @throws AppError no_worker, shutting_down; the signal's reason when that aborts first
   */
  untilWorker(
    tool: Pick<CatalogTool, 'timeoutMs'>,
    patience: { signal: AbortSignal; deadline: Pick<RequestDeadline, 'at'> },
  ): Promise<void>;
}
