// Finishes the calls of a stored round: runs those that never began, and waits for those under way. Used for a run that is
// continued, and for a turn that answers approvals of an earlier one.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Flow } from '#libs/concurrency/flow.js';
import type { Approval } from '#libs/approvals/approval.js';
import type { ApprovalStore } from '#libs/approvals/approval-store.js';
import type { Journal, StoredCall, StoredRound } from '#libs/runs/run-store.js';
import type { CallContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { terminalStates } from '#libs/schemas/tool-outcome.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { SamplingDesk } from '../dispatch/dispatch-services.js';
import { toolOfCall } from '../../tools/tool-of-call.js';
import { approvalEvent } from '../ask-approval.js';
import type { RunCallsPorts } from '../awaited-approvals.js';
import { holdTurn, questionsOf, type Turn } from '../chat-turn.js';
import { HeldTime } from '../held-time.js';
import type { TurnCall } from '../plan-calls.js';
import { runCalls } from '../run-calls.js';

export interface SettlePorts extends RunCallsPorts {
  journal: Pick<Journal, 'get' | 'plan'>;
  approvalStore: Pick<ApprovalStore, 'byIds'>;
  questions: Pick<SamplingDesk, 'open'>;
}

type Tell = (events: readonly TurnEvent[]) => Flow;

export interface SettledRound {
  round: StoredRound;
  /** Questions of tool servers for a caller that does not wait. Their calls keep running. */
  asked: Approval[];
}

const settleMs = 20_000;
const askAgainMs = 250;

/** The calls after they ended. Without `hold`, calls that still need an approval stay unchanged. */
export async function settleRound(
  round: StoredRound,
  turn: Turn,
  ports: SettlePorts,
  tell: Tell,
): Promise<SettledRound> {
  const open = round.calls.filter((call) => !hasEnded(call));
  if (open.length === 0) return { round, asked: [] };
  const held = new HeldTime();
  // Calls under way may change the session that the others use.
  const dispatched = open.filter(({ state }) => state === 'dispatched');
  const asking = await Promise.all(dispatched.map((call) => ended(call, { turn, held, tell }, ports)));
  if (held.ms > 0) holdTurn(turn, held.ms);
  const approvals = await approvalsOf(open, ports);
  const calls = open.flatMap(
    (call) => toTurnCall(call, { round, turn, approval: approvals.get(call.id) }, ports) ?? [],
  );
  const { asked, waitedMs } = await runCalls(calls, ports, {
    parallel: turn.request.parallelToolCalls !== false,
    tell,
  });
  if (waitedMs > 0) holdTurn(turn, waitedMs);
  turn.context.signal.throwIfAborted();
  const now = async (call: StoredCall) => (hasEnded(call) ? call : ((await ports.journal.get(call.id)) ?? call));
  const calledNow = await Promise.all(round.calls.map(now));
  return { round: { ...round, calls: calledNow }, asked: [...asking.flatMap((question) => question ?? []), ...asked] };
}

export const isServer = (call: StoredCall): boolean => call.kind === 'server';
export const hasEnded = (call: StoredCall): boolean =>
  !isServer(call) || (terminalStates as readonly string[]).includes(call.state);

/**
 * Waits for a call that ends by itself, or is declared dead within the lease time. Returns its tool server's question if
 * the caller does not wait; a waiting caller gets it as an event, and may answer it through any API.
 */
async function ended(
  { id, job }: StoredCall,
  { turn, held, tell }: { turn: Turn; held: HeldTime; tell: Tell },
  { journal, questions, approvals }: SettlePorts,
): Promise<Approval | undefined> {
  const { signal } = turn.context;
  const patienceMs = job?.questions === undefined ? settleMs : Math.max(settleMs, job.maxTimeoutMs);
  let until = steadyNow() + patienceMs;
  for (;;) {
    const now = await journal.get(id);
    if (now === undefined || hasEnded(now)) return undefined;
    signal.throwIfAborted();
    const [question] =
      job?.questions === undefined ? [] : await questions.open([id], { ...turn.context, runId: turn.runId });
    if (question !== undefined) {
      if (questionsOf(turn) === 'return') return question;
      await tell([approvalEvent(question), { type: 'tool_progress', callId: id, status: 'waiting_approval' }]);
      const goOn = held.enter();
      await approvals.decided(question.id, signal, () => undefined).finally(goOn);
      until = steadyNow() + patienceMs;
      continue;
    }
    if (steadyNow() > until)
      throw new AppError('store_unavailable', 'Tools of this run are still running', { retryAfterSeconds: 5 });
    // Polls: the journal sends no events for other gateways' calls. Happens after a crash, or when an answered call ends.
    await new Promise((resolve) => setTimeout(resolve, askAgainMs));
  }
}

async function approvalsOf(calls: readonly StoredCall[], ports: SettlePorts): Promise<Map<string, Approval>> {
  const ids = calls.flatMap(({ approvalId }) => approvalId ?? []);
  const found = ids.length === 0 ? [] : await ports.approvalStore.byIds(ids);
  return new Map(found.map((approval) => [approval.callId, approval]));
}

interface Surroundings {
  round: StoredRound;
  turn: Turn;
  approval: Approval | undefined;
}

/** Keeps its id: the journal has its outcome afterwards, or tells who runs it. */
function toTurnCall(
  call: StoredCall,
  { round, turn, approval }: Surroundings,
  ports: SettlePorts,
): TurnCall | undefined {
  if (call.state === 'dispatched') return undefined;
  const waits = call.state === 'parked' && approval?.state !== 'approved';
  if (waits && (approval === undefined || turn.request.approval !== 'hold')) return undefined;
  const args = approval?.arguments ?? call.arguments;
  const offered = toolOf(call, turn);
  const context: CallContext = {
    ...turn.context,
    callId: call.id,
    ...(call.runId === null ? {} : { runId: call.runId }),
    round: round.round,
    sessionId: call.sessionId,
    questions: questionsOf(turn),
    model: `${round.provider}/${round.model}`,
    priority: turn.request.priority,
  };
  const policyRule = call.policyRule === undefined ? {} : { policyRule: call.policyRule };
  const runs = ports.runner.plan(toolOfCall(offered, args), args, context, { again: true, ...policyRule });
  return { planned: runs.planned, runs, ...(waits ? { awaits: { approvalId: approval!.id, tool: offered } } : {}) };
}

/** The tool as planned, or, if it is not offered like that now, rebuilt from the job: the worker knows if it exists. */
function toolOf(call: StoredCall, turn: Turn): CatalogTool {
  const offered = turn.offer.tools.get(call.name)?.tool;
  if (offered?.definitionHash === call.definitionHash) return offered;
  const { name, server, tool, definitionHash, safe, job } = call;
  return {
    name,
    server,
    tool,
    definitionHash,
    safe,
    readOnly: false,
    stateful: job?.stateful === true,
    description: '',
    inputSchema: {},
    annotations: {},
    available: true,
    timeoutMs: job?.timeoutMs ?? settleMs,
    maxTimeoutMs: job?.maxTimeoutMs ?? settleMs,
  };
}
