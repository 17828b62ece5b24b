// The outcome of a tool call, in the form that journal, reply, audit and renderers share.
import { z } from 'zod';
import { contentBlockSchema, parsedJson, parsedJsonObject } from './content-block.js';
import { AppError, toolErrorCodes } from './errors.js';

/** The terminal states of the journal; no call leaves one. */
export const terminalStates = ['completed', 'failed', 'cancelled', 'denied', 'indeterminate'] as const;
export type TerminalState = (typeof terminalStates)[number];
export const storedCallStates = ['planned', 'parked', 'dispatched', ...terminalStates] as const;
export type CallState = (typeof storedCallStates)[number];

/** Where a replayed call has its result from: the same call, a call of its tool with other arguments, or nowhere. */
export const resultSources = ['same', 'other_arguments', 'none'] as const;

export interface ReplayedCall {
  result: (typeof resultSources)[number];
  /** What a policy said: that of the replay, or else the one that the recorded call was decided by. */
  verdict?: 'allow' | 'deny' | 'require_approval';
}

export const isEnded = (state: CallState): state is TerminalState =>
  (terminalStates as readonly string[]).includes(state);

export const toolOutcomeSchema = z.object({
  state: z.enum(terminalStates),
  blocks: z.array(contentBlockSchema),
  structuredContent: parsedJson.optional(),
  /** `_meta` of the server's result, for the app of a tool that has one. Models do not get it. */
  meta: parsedJsonObject.optional(),
  error: z.object({ code: z.enum(toolErrorCodes), message: z.string() }).optional(),
  /** The model received head, tail and a path instead of the whole result. */
  truncated: z.boolean().optional(),
  cached: z.boolean().optional(),
  /** From the worker's start of the call to its end, ms. */
  durationMs: z.number().nonnegative(),
  /** From adding the job to the worker's start, ms. */
  queueWaitMs: z.number().nonnegative().optional(),
});

export type ToolOutcome = z.infer<typeof toolOutcomeSchema>;

/** An outcome created without a worker: the call was refused, cancelled or timed out before it ran. */
export function failedOutcome(
  state: Exclude<TerminalState, 'completed'>,
  code: (typeof toolErrorCodes)[number],
  message: string,
  durationMs = 0,
): ToolOutcome {
  return { state, blocks: [{ type: 'text', text: message }], error: { code, message }, durationMs };
}

/**
 * The outcome of a planned call that may depend on the call before it, which has not ended. An approval that was given to the
 * skipped call is kept for the next call like it.
 */
export const skippedOutcome: ToolOutcome = failedOutcome(
  'cancelled',
  'tool_unavailable',
  'Not run: the previous call waits for an answer of the user. Repeat this call afterwards',
);

/** The outcome of a call that was ended from outside, after this time. */
export function stoppedOutcome(
  reason: 'cancelled' | 'tool_timeout',
  { timeoutMs }: { timeoutMs: number },
  durationMs: number,
): ToolOutcome {
  return reason === 'cancelled'
    ? failedOutcome('cancelled', 'cancelled', 'The call was cancelled', durationMs)
    : failedOutcome('failed', 'tool_timeout', `The tool did not answer within ${timeoutMs} ms`, durationMs);
}

/** The outcome of a planned call that will not run: because of the error `why`, or because the caller cancelled it. */
export function neverBegun(why?: unknown): ToolOutcome {
  if (!(why instanceof AppError) || why.code === 'cancelled') {
    return failedOutcome('cancelled', 'cancelled', 'The call was cancelled before it began');
  }
  return failedOutcome('cancelled', 'tool_unavailable', `The call did not begin: ${why.message}`);
}
