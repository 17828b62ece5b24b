// Runs the planned calls of one round: those that change the same session one after the other in call order, all others
// at once; tells what happens as it happens.
import type { Flow } from '#libs/concurrency/flow.js';
import { AppError } from '#libs/schemas/errors.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { ToolProgress, ToolRunner } from '../tools/calls/tool-runner.js';
import { CallEvents } from './call-events.js';
import type { TurnCall } from './plan-calls.js';
import { toShownResult } from './turn-state.js';

/**
 * The outcome of each call. Every call ends with one `tool_result`; failures of tools are results, never exceptions.
 * `parallel` false: the caller wants one call after the other.
 */
export async function runCalls(
  calls: readonly TurnCall[],
  runner: ToolRunner,
  { parallel, tell }: { parallel: boolean; tell: (events: readonly TurnEvent[]) => Flow },
): Promise<Map<TurnCall, ToolOutcome>> {
  const outcomes = new Map<TurnCall, ToolOutcome>();
  const events = new CallEvents(tell);
  const lines = parallel ? inLines(calls) : [calls];
  await Promise.all(
    lines.map(async (line) => {
      for (const call of line) {
        const callId = call.planned.id;
        const outcome = await outcomeOf(call, runner, (progress) =>
          events.add({ type: 'tool_progress', callId, ...progress }),
        );
        outcomes.set(call, outcome);
        events.add({ type: 'tool_result', callId, result: toShownResult(outcome) });
      }
    }),
  );
  await events.told;
  return outcomes;
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
