// Runs the planned calls of one round and reports their events as they happen. Calls that change the same session run one
// after the other in call order, all others concurrently.
import type { Approval } from '#libs/approvals/approval.js';
import type { Flow } from '#libs/concurrency/flow.js';
import { AppError } from '#libs/schemas/errors.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { ToolProgress, ToolRunner } from './dispatch/tool-runner.js';
import { ApprovalNeeded } from '../govern/approval-needed.js';
import { progressEvents } from './ask-approval.js';
import { AwaitedApprovals, type RunCallsPorts } from './awaited-approvals.js';
import { CallEvents } from './call-events.js';
import { HeldTime } from './held-time.js';
import type { TurnCall } from './plan-calls.js';
import { toShownResult } from './turn-state.js';

export interface RoundOutcomes {
  /** Excludes calls that wait for an answer. */
  outcomes: Map<TurnCall, ToolOutcome>;
  /** Questions of tool servers for a caller that does not wait. Their calls keep running. */
  asked: Approval[];
  /** How long the round waited for people. */
  waitedMs: number;
}

/**
 * The outcomes of the calls. Every call ends with one `tool_result`; tool failures are results, never exceptions.
 * `parallel` false: the caller wants one call after the other.
 */
export async function runCalls(
  calls: readonly TurnCall[],
  ports: RunCallsPorts,
  { parallel, tell }: { parallel: boolean; tell: (events: readonly TurnEvent[]) => Flow },
): Promise<RoundOutcomes> {
  const outcomes = new Map<TurnCall, ToolOutcome>();
  const asked: Approval[] = [];
  const events = new CallEvents(tell);
  const held = new HeldTime();
  // All approvals are requested together, whatever order the calls run in.
  const approvals = new AwaitedApprovals(calls, ports, events, held);
  const lines = parallel ? inLines(calls) : [calls];
  const runLine = async (line: readonly TurnCall[]) => {
    let waits = false;
    for (const call of line) {
      if (held.ms > 0 && call.awaits === undefined) call.runs?.postpone(held.ms);
      const approved = call.awaits === undefined ? call : await approvals.of(call);
      const running = new ToldCall(call.planned.id, events, held);
      const end = waits ? skipped(approved, ports.runner) : outcomeOf(approved, ports.runner, running);
      const ended = end instanceof Promise ? await end : end;
      if ('expiresAt' in ended) {
        asked.push(ended);
        waits = true;
        continue;
      }
      outcomes.set(call, ended);
      events.add({ type: 'tool_result', callId: call.planned.id, result: toShownResult(ended) });
    }
  };
  try {
    if (lines.length === 1) await runLine(lines[0]!);
    else await Promise.all(lines.map(runLine));
  } finally {
    approvals.close();
  }
  if (events.told !== undefined) await events.told;
  return { outcomes, asked, waitedMs: held.ms };
}

/** Reports the progress of a running call. While it waits for an answer, so does the round. */
class ToldCall {
  private goOn: (() => void) | undefined;

  constructor(
    private readonly callId: string,
    private readonly events: CallEvents,
    private readonly held: HeldTime,
  ) {}

  onProgress(progress: ToolProgress): void {
    this.goOn?.();
    this.goOn = progress.asks && this.held.enter();
    for (const event of progressEvents(this.callId, progress)) this.events.add(event);
  }

  ended(): void {
    this.goOn?.();
  }
}

/** Groups calls that must run one after the other: not read-only, with the same server and session. */
function inLines(calls: readonly TurnCall[]): TurnCall[][] {
  const lines = new Map<string, TurnCall[]>();
  for (const call of calls) {
    const key =
      call.runs === undefined || call.runs.tool.readOnly
        ? call.planned.id
        : `${call.planned.server}\n${call.planned.sessionId}`;
    const line = lines.get(key);
    if (line === undefined) lines.set(key, [call]);
    else line.push(call);
  }
  return [...lines.values()];
}

/** An approval if the call waits for an answer, with which its caller comes back. */
function outcomeOf(
  { planned, runs }: TurnCall,
  runner: ToolRunner,
  told: ToldCall,
): ToolOutcome | Promise<ToolOutcome | Approval> {
  if (planned.outcome !== undefined) return planned.outcome;
  if (runs === undefined) throw new Error('a planned call that neither runs nor has an outcome');
  return runner
    .run(runs, (progress) => told.onProgress(progress))
    .then(
      (outcome) => {
        told.ended();
        return outcome;
      },
      (error: unknown) => {
        told.ended();
        return failed(error);
      },
    );
}

function failed(error: unknown): ToolOutcome | Approval {
  if (error instanceof ApprovalNeeded) return error.approval;
  // It is unknown whether cancelling the call was written, so only the journal may decide how it ends.
  if (error instanceof AppError && error.code === 'store_unavailable') throw error;
  // Within a turn, a full queue counts as a failure of the tool: the model may answer without it.
  if (error instanceof AppError) return failedOutcome('failed', 'tool_unavailable', error.message);
  throw error;
}

/** Not run, because it may depend on the call before it, which has not ended. */
async function skipped({ planned, runs }: TurnCall, runner: ToolRunner): Promise<ToolOutcome> {
  if (planned.outcome !== undefined) return planned.outcome;
  const message = 'Not run: the previous call waits for an answer of the user. Repeat this call afterwards';
  const outcome = failedOutcome('cancelled', 'cancelled', message);
  if (runs !== undefined) await runner.skip(runs, outcome);
  return outcome;
}
