// Maps runs and rounds to the rows of their statements and tables. Pure.
import type { Run as RunRow, RunRound as RoundRow } from '#libs/postgres/prisma-client/client.js';
import { storedJson, storedJsonOrNull, storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import { isDialect } from '#libs/schemas/dialect.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ProviderState, ToolCall } from '#libs/schemas/message.js';
import { noUsage, type Usage } from '#libs/schemas/usage.js';
import { plannedCallRow } from './call-rows.js';
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
  };
}

/** A run as it stands right after it was begun. */
export function begunRun(run: NewRun, createdAt: Date): StoredRun {
  return { ...run, state: 'running', createdAt, endedAt: null, usage: noUsage, answer: null, error: null };
}

export function runEndRow(runId: string, owner: string, end: RunEnd): JsonObject {
  return {
    id: runId,
    owner,
    state: end.state,
    usage: storedJson(end.usage),
    answer: storedJsonOrNull(end.answer),
    error: storedJsonOrNull(end.error),
    ...(end.round && roundColumns(end.round)),
    ...burst(end.events),
  };
}

/** Members of a row that carries events; none if there are no events. */
export function burst(events: readonly NumberedEvent[] = []): JsonObject {
  if (events.length === 0) return {};
  return { first_n: events[0]!.n, last_n: events.at(-1)!.n, events: storedJson(events) };
}

/** What the model said, stored as one document: byte for byte, even where a text column could not hold it. */
interface StoredMessage {
  content: string;
  reasoning: string;
  toolCalls: ToolCall[];
  providerState?: ProviderState;
}

function roundColumns(round: ModelRound): JsonObject {
  const { content, reasoning, toolCalls, providerState } = round;
  const message: StoredMessage = { content, reasoning, toolCalls, ...(providerState && { providerState }) };
  return {
    round: round.round,
    provider: storedText(round.provider),
    model: storedText(round.model),
    message: storedJson(message),
    round_usage: storedJson(round.usage),
    finish_reason: storedText(round.finishReason),
    last_event: round.lastEvent,
    started_at: round.startedAt.toISOString(),
  };
}

export function plannedRoundRow(round: PlannedRound, audit: AuditContext): JsonObject {
  const context = { model: round.model, ...audit };
  return {
    run_id: round.runId,
    owner: round.owner ?? null,
    ...roundColumns(round),
    ...burst(round.events),
    calls: round.calls.map((call, position) =>
      plannedCallRow(call, context, { runId: round.runId, round: round.round, position }),
    ),
  };
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
