// Runs the planned calls of one round: those that change the same session one after the other in call order, all others
// at once; tells what happens as it happens.
import type { Flow } from '#libs/concurrency/flow.js';
import { AppError } from '#libs/schemas/errors.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { ToolProgress, ToolRunner } from '../tools/calls/tool-runner.js';
import { AwaitedApprovals, type RunCallsPorts } from './awaited-approvals.js';
import { CallEvents } from './call-events.js';
import type { TurnCall } from './plan-calls.js';
import { toShownResult } from './turn-state.js';

export interface RoundOutcomes {
  outcomes: Map<TurnCall, ToolOutcome>;
  /** How long the round was held for approvals. */
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
  const events = new CallEvents(tell);
  // All are asked for at once, whatever order the calls run in.
  const approvals = new AwaitedApprovals(calls, ports, events);
  const lines = parallel ? inLines(calls) : [calls];
  try {
    await Promise.all(
      lines.map(async (line) => {
        for (const call of line) {
          const callId = call.planned.id;
          const approved = call.awaits === undefined ? call : await approvals.of(call);
          const outcome = await outcomeOf(approved, ports.runner, (progress) =>
            events.add({ type: 'tool_progress', callId, ...progress }),
          );
          outcomes.set(call, outcome);
          events.add({ type: 'tool_result', callId, result: toShownResult(outcome) });
        }
      }),
    );
  } finally {
    approvals.close();
  }
  await events.told;
  return { outcomes, waitedMs: approvals.waitedMs };
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

async function outcomeOf(
  call: TurnCall,
  runner: ToolRunner,
  onProgress: (progress: ToolProgress) => void,
): Promise<ToolOutcome> {
  if (call.planned.outcome !== undefined) return call.planned.outcome;
  if (call.runs === undefined) throw new Error('a planned call that neither runs nor has an outcome');
  try {
    return await runner.run(call.runs, onProgress);
  } catch (error) {
    // Whether the call was given up could not be written: only the journal may say what becomes of it.
    if (error instanceof AppError && error.code === 'store_unavailable') throw error;
    // In mid-turn a queue that is full is the tool's failure: the model may answer without it.
    if (error instanceof AppError) return failedOutcome('failed', 'tool_unavailable', error.message);
    throw error;
  }
}
