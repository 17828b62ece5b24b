// Says in words why a turn stops using tools: in a warning for the caller, and for the model instead of the result of a call that
// was not run.
import type { Config } from '#libs/config/schema.js';
import type { StopCause } from '#libs/schemas/turn-event.js';
import type { SpentBudget } from '#libs/usage/budgets.js';

export interface Stop {
  cause: StopCause;
  reason: string;
  /** What the caller may do. */
  help: string;
}

const continueHelp = 'Send another message to continue.';
const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

export function boundStop(
  cause: Exclude<StopCause, 'budget'>,
  { rounds, calls, turn_ms, repeated_failures }: Config['limits'],
  maxRounds: number,
): Stop {
  switch (cause) {
    case 'max_rounds': {
      const setting = maxRounds < rounds ? '`max_tool_rounds` of the request' : '`limits.rounds`';
      return {
        cause,
        reason: `the turn used tools in ${counted(maxRounds, 'round')}, the most it may (${setting})`,
        help: continueHelp,
      };
    }
    case 'max_calls':
      return {
        cause,
        reason: `the turn made ${counted(calls, 'tool call')}, the most it may (\`limits.calls\`)`,
        help: continueHelp,
      };
    case 'max_time':
      return {
        cause,
        reason: `the turn took longer than its ${turn_ms / 1_000} s (\`limits.turn_ms\`)`,
        help: continueHelp,
      };
    case 'repeated_failure': {
      const reason = `the same call failed ${repeated_failures} times in a row (\`limits.repeated_failures\`)`;
      return { cause, reason, help: 'Its error is among the calls: correct what it names, or ask for something else.' };
    }
  }
}

export function budgetStop({ usd, period }: SpentBudget): Stop {
  const help = `Wait for the next ${period} (UTC), or ask the operator to raise the budget (\`budgets\`, or that of the key).`;
  return { cause: 'budget', reason: `the budget of $${usd} for this ${period} is used up`, help };
}

export const noticeForCaller = ({ reason, help }: Stop): string => `No more tools were used: ${reason}. ${help}`;

export const noticeForModel = ({ reason }: Stop): string =>
  `The call was not run: ${reason}. Answer with what is there, and say what is missing`;
