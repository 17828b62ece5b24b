// Shows one run whole: what was said in its rounds, what became of its calls, and its events.
import type { Database } from '#libs/postgres/open-database.js';
import { type AuditFacts, auditOf, type WaitFacts, waitsOf } from '#libs/runs/listing/call-facts.js';
import { costOf, type PriceOf, shownState, summaryOf } from '#libs/runs/listing/listed-run.js';
import { type CallFacts, factsOf, type RunFacts } from '#libs/runs/listing/run-facts.js';
import type { RunRow } from '#libs/runs/listing/run-listing.js';
import { spentByCall } from '#libs/runs/listing/spent-time.js';
import type { EventLog, NumberedEvent, RunStore, StoredCall, StoredRound, StoredRun } from '#libs/runs/run-store.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import { conversation, conversationOf, restoredResults, toAssistant } from '../../turn/runs/restore-history.js';
import { storedEvents } from '../../turn/replay-events.js';
import { type TurnAnswer, TurnFold } from '../../turn/fold-turn.js';
import { toShownResult } from '../../turn/turn-state.js';
import type { TurnRequest } from '../../turn/turn-request.js';
import type { run as runShape, Shown } from '../openapi/open-api-shapes.js';
import type { detailedCall, runDetails, runRound, waitOfCall } from '../openapi/run-shapes.js';
import { compactEvents, type ShownEvent } from './compact-events.js';

export interface ShowRunPorts {
  database: Pick<Database, 'query'>;
  runs: RunStore;
  log: EventLog;
  prices: PriceOf;
  /** With `{trace_id}` in it. */
  traceUrl: string | undefined;
}

export type RunPart = 'rounds' | 'calls' | 'events';
export type RunDetails = Shown<typeof runDetails>;

/** What is read of a run's events for one answer; the stream of the run has all. */
const maxEventBytes = 16 * 1024 * 1024;
const rowsAtOnce = 64;

export async function showRun(
  run: StoredRun,
  row: RunRow,
  parts: ReadonlySet<RunPart>,
  ports: ShowRunPorts,
): Promise<RunDetails> {
  // The facts come second: a run that goes on may have more of them than rounds, never fewer.
  const rounds = parts.size === 0 ? [] : await ports.runs.rounds(run.id);
  const facts = (await factsOf(ports.database, [run.id])).get(run.id)!;
  return {
    ...summaryOf(row, facts, ports.prices),
    ...shownRun(run, facts),
    ...(parts.has('rounds') ? await shownRounds(run, { rounds, facts, ports }) : {}),
    ...(parts.has('calls') ? { call_list: await shownCalls(row, { rounds, facts, ports }) } : {}),
    ...(parts.has('events') ? { event_list: await shownEvents(run, rounds, ports.log) } : {}),
  };
}

export function shownRun(run: StoredRun, { rounds, calls }: RunFacts): Shown<typeof runShape> {
  const answer = run.answer as unknown as TurnAnswer | null;
  return {
    id: run.id,
    state: shownState(run.state, calls),
    session_id: run.sessionId ?? null,
    created: Math.floor(run.createdAt.getTime() / 1000),
    rounds: answer?.toolExecution?.rounds ?? Math.max(rounds.length, answer === null ? 0 : 1),
    usage: run.usage,
    tool_execution: answer?.toolExecution,
    error: (run.error as Shown<typeof runShape>['error'] | null) ?? undefined,
  };
}

interface Read {
  rounds: readonly StoredRound[];
  facts: RunFacts;
  ports: ShowRunPorts;
}

async function shownRounds(
  run: StoredRun,
  { rounds, facts, ports }: Read,
): Promise<Pick<RunDetails, 'request' | 'messages' | 'round_list'>> {
  const { messages: _, history: _history, ...request } = run.request;
  const messages: ChatMessage[] = await messagesOf(run, ports.runs);
  const shown = rounds.map((round): Shown<typeof runRound> => {
    const sent = messages.length;
    const message = toAssistant(round);
    messages.push(message, ...restoredResults(round, new Map()));
    const { provider, model, usage, startedAt } = round;
    return {
      round: round.round,
      provider,
      model,
      sent,
      message: shownMessage(message),
      finish_reason: round.finishReason,
      usage,
      cost_usd: costOf([round], ports.prices),
      started_at: startedAt.toISOString(),
      ended_at: facts.rounds.find((each) => each.round === round.round)!.createdAt.toISOString(),
    };
  });
  return { request, messages: messages.map(shownMessage), round_list: shown };
}

/** As a chat could send it. */
function shownMessage(message: ChatMessage): Record<string, unknown> {
  if (message.role === 'assistant') {
    const { provider_state: _state, ...shown } = message;
    return { ...shown };
  }
  if (message.role !== 'tool') return { ...message };
  const { blocks: _blocks, ...shown } = message;
  return { ...shown };
}

/** Without what is not stored any more of earlier turns. */
async function messagesOf(run: StoredRun, runs: RunStore): Promise<ChatMessage[]> {
  const request = run.request as unknown as TurnRequest;
  if (!Array.isArray(request.messages)) return [];
  // A replay has its whole conversation.
  if (run.replayOf !== undefined) return [...request.messages];
  try {
    return (await conversationOf(request, run.principal, runs)).messages;
  } catch (error) {
    if (error instanceof AppError && error.code === 'turn_expired') return conversation(request, request.messages);
    throw error;
  }
}

async function shownCalls(row: RunRow, { rounds, facts, ports }: Read): Promise<Shown<typeof detailedCall>[]> {
  const ended = facts.calls.map(({ endedAt }) => +(endedAt ?? row.now));
  const until = new Date(Math.max(+(row.endedAt ?? row.now), ...ended));
  const [waits, audit] = await Promise.all([
    waitsOf(
      ports.database,
      facts.calls.map(({ id }) => id),
    ),
    auditOf(ports.database, row, { calls: facts.calls.length, until }),
  ]);
  const times = new Map(facts.calls.map((call) => [call.id, call]));
  return rounds.flatMap(({ calls }) =>
    calls.flatMap((call) => {
      const timed = times.get(call.id);
      const own = {
        waits: waits.filter(({ callId }) => callId === call.id),
        audit: audit.find(({ callId }) => callId === call.id),
      };
      if (timed === undefined) return [];
      const traceId = own.audit?.traceId ?? null;
      const url = traceId === null ? undefined : ports.traceUrl?.replaceAll('{trace_id}', traceId);
      return { ...shownCall(call, timed, own, until), trace_id: traceId, trace_url: url ?? null };
    }),
  );
}

function shownCall(
  call: StoredCall,
  times: CallFacts,
  { waits, audit }: { waits: readonly WaitFacts[]; audit: AuditFacts | undefined },
  until: Date,
): Omit<Shown<typeof detailedCall>, 'trace_id' | 'trace_url'> {
  const { outcome, kind } = call;
  const spent = spentByCall(times, waits, until);
  const begun = times.dispatchedAt !== null;
  const approval = waits.find((wait) => wait.kind === 'approval');
  const signIns = waits.filter((wait) => wait.kind === 'sign_in');
  return {
    id: call.id,
    round: call.round ?? 0,
    kind,
    name: call.name,
    server: call.server,
    tool: call.tool,
    state: call.state,
    arguments: call.arguments,
    result: outcome === undefined ? null : { ...toShownResult(outcome) },
    policy: policyOf(call),
    approval: approval === undefined ? null : shownApprovalOf(approval),
    ...(signIns.length === 0 ? {} : { sign_ins: signIns.map(shownWaitOf) }),
    questions: waits.filter((wait) => wait.kind === 'question').length,
    person_wait_ms: spent.person,
    queue_wait_ms: outcome?.queueWaitMs ?? (begun ? spent.queue : null),
    duration_ms: call.replayed === undefined ? (outcome?.durationMs ?? (begun ? spent.tool : null)) : null,
    attempts: call.attempt,
    worker: call.worker,
    isolation: audit?.isolation ?? null,
    cached: outcome?.cached ?? false,
    truncated: outcome?.truncated ?? false,
    planned_at: times.plannedAt.toISOString(),
    started_at: times.dispatchedAt?.toISOString() ?? null,
    ended_at: times.endedAt?.toISOString() ?? null,
    audit_id: audit?.id ?? null,
    replayed: call.replayed?.result ?? null,
  };
}

function policyOf(call: StoredCall): Shown<typeof detailedCall>['policy'] {
  const { policyRule, approvalId, outcome, state, replayed } = call;
  if (replayed !== undefined) {
    return replayed.verdict === undefined ? null : { verdict: replayed.verdict, rule: policyRule ?? null };
  }
  if (policyRule === undefined && approvalId === undefined) return null;
  const rule = policyRule ?? null;
  if (approvalId !== undefined) return { verdict: 'require_approval', rule };
  // A tool may refuse what the policy allowed, with the same code.
  return { verdict: state === 'denied' && outcome?.error?.code === 'tool_denied' ? 'deny' : 'allow', rule };
}

const shownApprovalOf = (wait: WaitFacts): Shown<typeof detailedCall>['approval'] => ({
  ...shownWaitOf(wait),
  reason: wait.reason,
  edited: wait.edited,
});

function shownWaitOf(wait: WaitFacts): Shown<typeof waitOfCall> {
  return {
    id: wait.id,
    state: wait.state,
    decided_by: wait.decidedBy,
    decision_reason: wait.decisionReason,
    created_at: wait.createdAt.toISOString(),
    expires_at: wait.expiresAt.toISOString(),
    decided_at: wait.decidedAt?.toISOString() ?? null,
  };
}

async function shownEvents(run: StoredRun, rounds: readonly StoredRound[], log: EventLog): Promise<ShownEvent[]> {
  const logged = await readEvents(run.id, log);
  if (logged.length > 0) return compactEvents(logged);
  const answer =
    run.answer ?? ({ ...new TurnFold().answer, model: rounds[0]?.model ?? run.model ?? '' } as unknown as JsonObject);
  const events = [...storedEvents({ ...run, answer }, rounds)].filter(
    ({ type }) => run.state === 'done' || type !== 'done',
  );
  if (run.error !== null) events.push({ type: 'error', error: run.error });
  return compactEvents(events.map((event, index) => ({ n: index + 1, event })));
}

async function readEvents(runId: string, log: EventLog): Promise<NumberedEvent[]> {
  const events: NumberedEvent[] = [];
  let bytes = 0;
  while (bytes < maxEventBytes) {
    const more = await log.read(runId, events.at(-1)?.n ?? 0, rowsAtOnce);
    if (more.length === 0) break;
    bytes += JSON.stringify(more).length;
    events.push(...more);
  }
  return events;
}
