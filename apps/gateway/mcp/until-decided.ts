// Asks an MCP client, again and again, for what its request waits for, until the request has its result. Does not know what is requested.
import { type InputRequiredResult, isInputRequiredResult } from '@modelcontextprotocol/server';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { Wait } from '#libs/waits/wait.js';
import { ApprovalNeeded } from '../govern/approval-needed.js';
import type { AskingCall } from './ask-client.js';
import { askForApproval, type WaitDecisions } from './ask-for-approval.js';

export interface AskedCaller {
  asking: AskingCall;
  caller: RequestContext;
  approvals: WaitDecisions;
}

/**
 * Resolves with the result of `begin`, or of `goOn` after a decision; or with the result that asks the client, who then repeats its
 * request.
 * @throws ApprovalNeeded if the client cannot be asked, or gave no decision; what `begin` and `goOn` throw
 */
export async function untilDecided<Result>(
  begin: () => Promise<Result>,
  goOn: (decided: Wait) => Promise<Result>,
  { asking, caller, approvals }: AskedCaller,
): Promise<Result | InputRequiredResult> {
  for (let next = begin; ;) {
    try {
      return await next();
    } catch (error) {
      if (!(error instanceof ApprovalNeeded)) throw error;
      const { approval } = error;
      const asked = approval.state === 'waiting' ? await askForApproval(approval, approvals, asking, caller) : approval;
      if (isInputRequiredResult(asked)) return asked;
      if (asked.state === 'waiting') throw new ApprovalNeeded(asked);
      next = () => goOn(asked);
    }
  }
}
