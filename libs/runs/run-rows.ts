// Maps runs and rounds to the rows of their statements and tables. Pure.
import type { Run as RunRow, RunRound as RoundRow } from '#libs/postgres/prisma-client/client.js';
import { storedJson, storedJsonOrNull, storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { isDialect } from '#libs/schemas/dialect.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ProviderState, ToolCall } from '#libs/schemas/message.js';
import { noUsage, type Usage } from '#libs/schemas/usage.js';
import { plannedCallRow } from './call-rows.js';
import { askedOf } from './listing/run-filter.js';
import type {
  AuditContext,
  ModelRound,
  NewRun,
  NumberedEvent,
  PlannedRound,
  RunEnd,
  RunState,
  StoredCall,
  StoredRound,
  StoredRun,
} from './run-store.js';

/** Callers and providers may name any model; an entry of an index must not be longer than a page of it allows. */
const maxModelLength = 256;

export function newRunRow(run: NewRun): JsonObject {
  return {
    id: run.id,
    principal: storedText(run.principal),
    key_id: storedTextOrNull(run.keyId),
    request_id: storedText(run.requestId),
    idempotency_key: storedTextOrNull(run.idempotencyKey),
    request_hash: run.requestHash,
    session_id: storedTextOrNull(run.sessionId),
    dialect: run.dialect,
    detached: run.detached,
    request: storedJson(run.request),
    owner: run.owner,
    usage: storedJson(noUsage),
    model: storedTextOrNull(run.model?.slice(0, maxModelLength)),
    asked: storedTextOrNull(askedOf(run.request)),
    replay_of: run.replayOf ?? null,
    task_ttl_ms: run.taskTtlMs ?? null,
  };
}

/** A run as it stands right after it was begun. */
export function begunRun(run: NewRun, createdAt: Date): StoredRun {
  return {
    id: run.id,
    principal: run.principal,
    keyId: run.keyId,
    requestId: run.requestId,
    idempotencyKey: run.idempotencyKey,
    requestHash: run.requestHash,
    sessionId: run.sessionId,
    dialect: run.dialect,
    detached: run.detached,
    model: run.model,
    request: run.request,
    owner: run.owner,
    replayOf: run.replayOf,
    taskTtlMs: run.taskTtlMs,
    state: 'running',
    createdAt,
    endedAt: null,
    usage: noUsage,
    answer: null,
    error: null,
  };
}

export function runEndRow(runId: string, owner: string, end: RunEnd): JsonObject {
  const row: JsonObject = end.round === undefined ? {} : roundColumns(end.round);
  row['id'] = runId;
  row['owner'] = owner;
  row['state'] = end.state;
  row['usage'] = storedJson(end.usage);
  row['answer'] = storedJsonOrNull(end.answer);
  row['error'] = storedJsonOrNull(end.error);
  row['stopped_by'] = end.stoppedBy ?? null;
  addEvents(row, end.events);
  return row;
}

/** Adds the members of a row that carries events; none if there are no events. */
export function addEvents(row: JsonObject, events: readonly NumberedEvent[] = []): void {
  if (events.length === 0) return;
  row['first_n'] = events[0]!.n;
  row['last_n'] = events.at(-1)!.n;
  row['events'] = storedJson(events);
}

/** The model's answer, stored as one document: byte for byte, even if a text column could not store it. */
interface StoredMessage {
  content: string;
  reasoning: string;
  toolCalls: ToolCall[];
  providerState: ProviderState | undefined;
}

function roundColumns(round: ModelRound): JsonObject {
  const { content, reasoning, toolCalls, providerState } = round;
  const message: StoredMessage = { content, reasoning, toolCalls, providerState };
  return {
    round: round.round,
    provider: storedText(round.provider),
    model: storedText(round.model.slice(0, maxModelLength)),
    message: storedJson(message),
    round_usage: storedJson(round.usage),
    finish_reason: storedText(round.finishReason),
    last_event: round.lastEvent,
    started_at: round.startedAt.toISOString(),
  };
}

/** `audit.model`, if set, is the model of the calls. */
export function plannedRoundRow(round: PlannedRound, audit: AuditContext): JsonObject {
  const context = audit.model === undefined ? { ...audit, model: round.model } : audit;
  const row = roundColumns(round);
  row['run_id'] = round.runId;
  row['owner'] = round.owner ?? null;
  row['calls'] = round.calls.map((call, position) =>
    plannedCallRow(call, context, { runId: round.runId, round: round.round, position }),
  );
  addEvents(row, round.events);
  return row;
}

export function toStoredRun(row: RunRow): StoredRun {
  return {
    id: row.id,
    principal: row.principal,
    requestId: row.requestId,
    requestHash: row.requestHash,
    dialect: isDialect(row.dialect) ? row.dialect : 'events',
    detached: row.detached,
    request: row.request as JsonObject,
    owner: row.owner,
    state: row.state as RunState,
    createdAt: row.createdAt,
    endedAt: row.endedAt,
    usage: row.usage as Usage,
    answer: row.answer as JsonObject | null,
    error: row.error as JsonObject | null,
    ...(row.keyId !== null && { keyId: row.keyId }),
    ...(row.idempotencyKey !== null && { idempotencyKey: row.idempotencyKey }),
    ...(row.sessionId !== null && { sessionId: row.sessionId }),
    ...(row.model !== null && { model: row.model }),
    ...(row.replayOf !== null && { replayOf: row.replayOf }),
    ...(row.taskTtlMs !== null && { taskTtlMs: row.taskTtlMs }),
  };
}

export function toStoredRound(row: RoundRow, calls: StoredCall[]): StoredRound {
  const message = row.message as unknown as StoredMessage;
  return {
    runId: row.runId,
    round: row.round,
    provider: row.provider,
    model: row.model,
    content: message.content,
    reasoning: message.reasoning,
    toolCalls: message.toolCalls,
    ...(message.providerState && { providerState: message.providerState }),
    usage: row.usage as Usage,
    finishReason: row.finishReason,
    lastEvent: row.lastEvent,
    startedAt: row.startedAt,
    calls,
  };
}
