// A turn that answers calls of an earlier one: it takes the caller's decisions and runs what was approved. Then it goes on,
// or asks again about calls that are still undecided.
import type { Approval } from '#libs/approvals/approval.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { PlannedCall, StoredCall, StoredRound } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { Approvals } from '../../govern/approvals.js';
import { approvalIdOf, approvalRequestName, askQuestions, readDecision, requestEvents } from '../ask-approval.js';
import { type DoneEvent, givenBack, type Turn, type TurnRecord } from '../chat-turn.js';
import { toToolMessage } from '../turn-state.js';
import type { OpenRound } from './restore-history.js';
import { hasEnded, type SettlePorts, settleRound } from './settle-round.js';

/** How often a caller is asked again after answers without a decision. */
const maxAsked = 3;

/**
 * Applies the decisions in the answers; earlier decisions stay.
 * @throws AppError invalid_value for a caller that never decides; the errors of Approvals.decide for edited arguments
 */
export async function takeDecisions(
  open: readonly OpenRound[],
  context: RequestContext,
  approvals: Pick<Approvals, 'decide' | 'get'>,
): Promise<void> {
  for (const { round, answers } of open) {
    for (const request of round.calls) {
      const id = approvalIdOf(request);
      if (id === undefined || !(await waits(id, context, approvals))) continue;
      const given = answers.get(request.id) ?? [];
      const decision = given.map(readDecision).find((read) => read !== undefined);
      if (decision !== undefined) await decideOnce(id, decision, context, approvals);
      else if (given.length > maxAsked) throw undecided();
    }
  }
}

async function waits(id: string, context: RequestContext, approvals: Pick<Approvals, 'get'>): Promise<boolean> {
  try {
    return (await approvals.get(id, context)).state === 'waiting';
  } catch (error) {
    if (error instanceof AppError && error.code === 'approval_not_found') return false;
    throw error;
  }
}

async function decideOnce(
  id: string,
  decision: Parameters<Approvals['decide']>[1],
  context: RequestContext,
  approvals: Pick<Approvals, 'decide'>,
): Promise<void> {
  try {
    await approvals.decide(id, decision, context);
  } catch (error) {
    // Decided by the API or by a request with the same history, or expired: the earlier decision counts.
    if (!(error instanceof AppError) || error.code !== 'approval_already_decided') throw error;
  }
}

function undecided(): AppError {
  const message =
    `A call of ${approvalRequestName} must be answered with {"decision": "approve"} or {"decision": "deny"}; ` +
    'these answers contain no decision';
  return new AppError('invalid_value', message, { param: 'messages' });
}

/**
 * Runs what was approved and adds the outcomes to the conversation. Returns the end of the turn if calls still wait for a
 * decision, after asking the caller again.
 */
export async function answerOpenRounds(
  turn: Turn,
  open: readonly OpenRound[],
  ports: SettlePorts,
  record: TurnRecord,
): Promise<DoneEvent | undefined> {
  if (turn.announce) {
    turn.announce = false;
    const { sessionId } = turn.request;
    const session = sessionId === undefined ? {} : { sessionId };
    await record.tell([{ type: 'start', model: open[0]!.round.model, runId: turn.runId, ...session }]);
  }
  const waiting: Pick<PlannedCall, 'id' | 'name' | 'arguments'>[] = [];
  for (const { round, results } of open) {
    const { round: settled, asked } = await settleRound(round, turn, ports, (events) => record.tell(events));
    const { again, added } = await askInRound(asked, settled, turn, ports);
    waiting.push(...again, ...added);
    for (const [index, call] of settled.calls.entries()) {
      const { id, name, server, outcome } = call;
      const result = results.get(id);
      if (call.state === 'parked') {
        waiting.push(...settled.calls.filter((each) => approvalIdOf(each) === call.approvalId));
      } else if (result !== undefined && outcome !== undefined && !hasEnded(round.calls[index]!)) {
        // It was marked as a call with an unknown outcome.
        delete result.is_error;
        Object.assign(result, toToolMessage(id, outcome));
        const dispatched = outcome.state !== 'denied' && outcome.state !== 'cancelled';
        const argumentsText = JSON.stringify(call.arguments);
        turn.state.addEnded({ id, name, server, argumentsText, round: 0, dispatched, outcome });
      }
    }
  }
  if (waiting.length === 0) return undefined;
  await record.tell(requestEvents(waiting, turn.state.numbering));
  return givenBack(turn);
}

/** The calls of the reserved function for these questions: existing ones, or new ones that are added to the round. */
export async function askInRound(
  asked: readonly Approval[],
  { runId, round, calls }: StoredRound,
  turn: Turn,
  { journal }: SettlePorts,
): Promise<{ again: StoredCall[]; added: PlannedCall[] }> {
  const again = asked.flatMap(({ id }) => calls.filter((call) => approvalIdOf(call) === id));
  const known = new Set(again.map(approvalIdOf));
  const position = 1 + Math.max(...calls.map((call) => call.position));
  const unknown = asked.filter(({ id }) => !known.has(id));
  return { again, added: await askQuestions(unknown, { runId, round, position }, turn, journal) };
}
