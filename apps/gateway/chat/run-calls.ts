// Runs the planned calls of one round: those that change the same session one after the other in call order, all others
// at once; tells what happens as it happens.
import type { Approval } from '#libs/approvals/approval.js';
import type { Flow } from '#libs/concurrency/flow.js';
import { AppError } from '#libs/schemas/errors.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { ToolProgress, ToolRunner } from '../tools/calls/tool-runner.js';
import { ApprovalNeeded } from '../tools/approvals/approval-needed.js';
import { progressEvents } from './ask-approval.js';
import { AwaitedApprovals, type RunCallsPorts } from './awaited-approvals.js';
import { CallEvents } from './call-events.js';
import { HeldTime } from './held-time.js';
import type { TurnCall } from './plan-calls.js';
import { toShownResult } from './turn-state.js';

export interface RoundOutcomes {
  /** Without the calls that wait for an answer. */
  outcomes: Map<TurnCall, ToolOutcome>;
  /** What tool servers ask a caller that does not stay. Their calls go on. */
  asked: Approval[];
  /** How long the round was held for people. */
  waitedMs: number;
}

/**
 * The outcome of each call. Every call ends with one `tool_result`; failures of tools are results, never exceptions.
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
  // All are asked for at once, whatever order the calls run in.
  const approvals = new AwaitedApprovals(calls, ports, events, held);
  const lines = parallel ? inLines(calls) : [calls];
  const runLine = async (line: readonly TurnCall[]) => {
    let waits = false;
    for (const call of line) {
      if (held.ms > 0 && call.awaits === undefined) call.runs?.postpone(held.ms);
      const approved = call.awaits === undefined ? call : await approvals.of(call);
      const running = new ToldCall(call.planned.id, events, held);
      const ended = waits ? await skipped(approved, ports.runner) : await outcomeOf(approved, ports.runner, running);
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
    await Promise.all(lines.map(runLine));
  } finally {
    approvals.close();
  }
  await events.told;
  return { outcomes, asked, waitedMs: held.ms };
}

/** Tells what a call that runs reports. While it waits for an answer, it holds the round. */
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

/** Calls that are not read-only and share a server and session stand in one line. */
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

/** A question instead: the call waits for its answer, and its caller comes back with it. */
async function outcomeOf(call: TurnCall, runner: ToolRunner, told: ToldCall): Promise<ToolOutcome | Approval> {
  if (call.planned.outcome !== undefined) return call.planned.outcome;
  if (call.runs === undefined) throw new Error('a planned call that neither runs nor has an outcome');
  try {
    return await runner.run(call.runs, (progress) => told.onProgress(progress));
  } catch (error) {
    if (error instanceof ApprovalNeeded) return error.approval;
    // Whether the call was given up could not be written: only the journal may say what becomes of it.
    if (error instanceof AppError && error.code === 'store_unavailable') throw error;
    // In mid-turn a queue that is full is the tool's failure: the model may answer without it.
    if (error instanceof AppError) return failedOutcome('failed', 'tool_unavailable', error.message);
    throw error;
  } finally {
    told.ended();
  }
}

/** It may depend on the call before it, which has not ended. */
async function skipped({ planned, runs }: TurnCall, runner: ToolRunner): Promise<ToolOutcome> {
  if (planned.outcome !== undefined) return planned.outcome;
  const message = 'Not run: the call before it waits for an answer of the user. Make this call again afterwards';
  const outcome = failedOutcome('cancelled', 'cancelled', message);
  if (runs !== undefined) await runner.skip(runs, outcome);
  return outcome;
}
