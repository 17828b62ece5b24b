// Asks an MCP client, if it can be asked, to decide about its own call, or to answer a question of the tool server. Anybody else
// who may decide can do so meanwhile, which ends the question to the client.
import { type InputRequiredResult, isInputRequiredResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { type Approval, type ApprovalDecision, maxReasonLength, whyAsked } from '#libs/approvals/approval.js';
import { redact } from '#libs/audit/redact.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Approvals } from '../govern/approvals.js';
import { askClient, type AskingCall, type ClientAnswer, type ClientQuestion } from './ask-client.js';

export type ApprovalDecisions = Pick<Approvals, 'decide' | 'decided'>;

/** How many characters of the arguments the question shows to a person. */
const maxShownLength = 2_000;

const answerSchema = z.object({
  decision: z.enum(['approve', 'deny']),
  reason: z.string().nullish(),
});

/**
 * The approval when somebody has decided or it has expired; still `waiting` if the client cannot be asked or gave no decision; or
 * the result that asks the client.
 * @throws the reason of the caller's signal
 */
export async function askForApproval(
  approval: Approval,
  approvals: ApprovalDecisions,
  asking: AskingCall,
  caller: RequestContext,
): Promise<Approval | InputRequiredResult> {
  const { id } = approval;
  const over = new AbortController();
  const stop = () => over.abort(caller.signal.reason);
  if (caller.signal.aborted) stop();
  else caller.signal.addEventListener('abort', stop, { once: true });
  const { signal } = over;
  const ask = async () => {
    const answer = await askClient(questionOf(approval), asking, signal);
    if (isInputRequiredResult(answer)) return answer;
    const decision = approval.kind === 'question' ? contentOf(answer) : answer && decisionOf(answer);
    return decision === undefined ? approval : decide(approval, decision, approvals, caller);
  };
  try {
    return await Promise.race([approvals.decided(id, signal, () => undefined), ask()]);
  } finally {
    caller.signal.removeEventListener('abort', stop);
    // Cancels the question to the client.
    over.abort('The question was already answered');
  }
}

function questionOf(approval: Approval): ClientQuestion {
  const { id, kind, name, arguments: args, message, schema } = approval;
  if (kind === 'question') return { id, message: message ?? '', schema: schema as unknown as ClientQuestion['schema'] };
  const text = JSON.stringify(redact(args));
  const shown =
    text.length <= maxShownLength
      ? text
      : `${clip(text)}… (${text.length} characters; full text: GET /api/approvals/${id})`;
  return {
    id,
    message: [`Allow the call of '${name}'?`, whyAsked(approval) ?? [], `Arguments: ${shown}`].flat().join('\n'),
    schema: {
      type: 'object',
      properties: {
        decision: { type: 'string', title: 'Decision', enum: ['approve', 'deny'] },
        reason: { type: 'string', title: 'Reason', maxLength: maxReasonLength },
      },
      required: ['decision'],
    },
  };
}

/** Never cuts a surrogate pair. */
const clip = (text: string) => text.slice(0, maxShownLength).replace(/[\ud800-\udbff]$/, '');

/** Undefined if the client made no decision that the form allows. */
function decisionOf(answer: ClientAnswer): ApprovalDecision | undefined {
  if (answer.action === 'cancel') return undefined;
  if (answer.action === 'decline') return { decision: 'deny' };
  const read = answerSchema.safeParse(answer.content);
  if (!read.success) return undefined;
  const { decision, reason } = read.data;
  return { decision, ...(reason == null || reason === '' ? {} : { reason: reason.slice(0, maxReasonLength) }) };
}

/** A client that does not answer has declined, because the tool waits. */
function contentOf(answer: ClientAnswer | undefined): ApprovalDecision {
  return answer?.action === 'accept' ? { decision: 'approve', arguments: answer.content } : { decision: 'deny' };
}

/** Takes the client's decision. An earlier decision by somebody else counts. */
async function decide(
  { id, kind }: Approval,
  decision: ApprovalDecision,
  approvals: ApprovalDecisions,
  caller: RequestContext,
): Promise<Approval> {
  try {
    return await approvals.decide(id, decision, caller);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    // The content does not match the schema of the question.
    if (kind === 'question' && error.code === 'invalid_value')
      return approvals.decide(id, { decision: 'deny' }, caller);
    if (error.code !== 'approval_already_decided') throw error;
    return approvals.decided(id, caller.signal, () => undefined);
  }
}
