// Asks a caller that does not wait the questions of tool servers. Each becomes a call of the reserved function, in the same
// round as the tool's call, and is written before the caller sees it.
import type { Approval } from '#libs/approvals/approval.js';
import type { Journal, PlannedCall } from '#libs/runs/run-store.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { auditContext } from '../tools/calls/server-call.js';
import { questionRequest } from './ask-approval.js';

export interface AskedIn {
  runId: string;
  round: number;
  /** The first position after the calls of the round. */
  position: number;
}

/** The new calls, in order. @throws AppError store_unavailable */
export async function askQuestions(
  questions: readonly Approval[],
  { runId, round, position }: AskedIn,
  { context }: { context: RequestContext },
  journal: Pick<Journal, 'plan'>,
): Promise<PlannedCall[]> {
  const requests = questions.map(questionRequest);
  const audit = auditContext(context);
  await Promise.all(
    requests.map((request, index) => journal.plan(request, audit, { runId, round, position: position + index })),
  );
  return requests;
}
