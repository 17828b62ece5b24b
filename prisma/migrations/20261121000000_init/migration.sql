-- The store of truth: sessions, runs, rounds, calls, events, audit, processes, catalog.
-- Opaque documents are "json", not "jsonb": kept byte for byte, with their member order, \u0000 and lone surrogates.

-- Every claim of a call gets a number that no earlier claim had.
CREATE SEQUENCE "tool_call_fence" AS BIGINT;

CREATE TABLE "sessions" (
    "principal" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "directory" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "used_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "metadata" JSON NOT NULL,

    CONSTRAINT "sessions_pkey" PRIMARY KEY ("principal", "id")
);
CREATE UNIQUE INDEX "sessions_directory_key" ON "sessions"("directory");
CREATE INDEX "sessions_expires_at_idx" ON "sessions"("expires_at");

CREATE TABLE "runs" (
    "id" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "key_id" TEXT,
    "request_id" TEXT NOT NULL,
    "idempotency_key" TEXT,
    "request_hash" TEXT NOT NULL,
    "session_id" TEXT,
    "dialect" TEXT NOT NULL,
    "detached" BOOLEAN NOT NULL,
    "request" JSON NOT NULL,
    "owner" TEXT,
    "state" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "ended_at" TIMESTAMPTZ(3),
    "usage" JSON NOT NULL,
    "answer" JSON,
    "error" JSON,
    "highest_event" INTEGER NOT NULL DEFAULT 0,
    "events_kept" BOOLEAN NOT NULL DEFAULT true,

    CONSTRAINT "runs_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "runs_state_check" CHECK ("state" IN ('running', 'waiting', 'done', 'failed', 'cancelled', 'interrupted'))
);
CREATE UNIQUE INDEX "runs_principal_idempotency_key_key" ON "runs"("principal", "idempotency_key");
CREATE INDEX "runs_principal_session_id_idx" ON "runs"("principal", "session_id");
CREATE INDEX "runs_ended_at_idx" ON "runs"("ended_at");
CREATE INDEX "runs_events_kept_idx" ON "runs"("ended_at") WHERE "events_kept" AND "ended_at" IS NOT NULL;
CREATE INDEX "runs_owner_running_idx" ON "runs"("owner") WHERE "state" = 'running';

CREATE TABLE "run_rounds" (
    "run_id" TEXT NOT NULL,
    "round" INTEGER NOT NULL,
    "provider" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "message" JSON NOT NULL,
    "usage" JSON NOT NULL,
    "finish_reason" TEXT NOT NULL,
    "last_event" INTEGER NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "run_rounds_pkey" PRIMARY KEY ("run_id", "round"),
    CONSTRAINT "run_rounds_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "runs"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

CREATE TABLE "tool_calls" (
    "id" TEXT NOT NULL,
    "run_id" TEXT,
    "round" INTEGER,
    "position" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "server" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "definition_hash" TEXT NOT NULL,
    "arguments" JSON NOT NULL,
    "safe" BOOLEAN NOT NULL,
    "job" JSON,
    "time_budget_ms" DOUBLE PRECISION,
    "audit" JSONB NOT NULL,
    "state" TEXT NOT NULL,
    "fence" BIGINT,
    "attempt" INTEGER NOT NULL DEFAULT 0,
    "worker" TEXT,
    "planned_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "dispatched_at" TIMESTAMPTZ(3),
    "ended_at" TIMESTAMPTZ(3),
    "outcome" JSON,

    CONSTRAINT "tool_calls_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "tool_calls_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "runs"("id") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "tool_calls_state_check" CHECK ("state" IN ('planned', 'parked', 'dispatched', 'completed', 'failed', 'cancelled', 'denied', 'indeterminate'))
);
CREATE INDEX "tool_calls_run_id_round_position_idx" ON "tool_calls"("run_id", "round", "position");
CREATE INDEX "tool_calls_principal_session_id_idx" ON "tool_calls"("principal", "session_id");
CREATE INDEX "tool_calls_planned_at_idx" ON "tool_calls"("planned_at") WHERE "state" = 'planned' AND "kind" = 'server';
CREATE INDEX "tool_calls_worker_idx" ON "tool_calls"("worker") WHERE "state" = 'dispatched';
CREATE INDEX "tool_calls_ended_at_idx" ON "tool_calls"("ended_at") WHERE "run_id" IS NULL;

CREATE TABLE "run_events" (
    "run_id" TEXT NOT NULL,
    "last_n" INTEGER NOT NULL,
    "first_n" INTEGER NOT NULL,
    "events" JSON NOT NULL,

    CONSTRAINT "run_events_pkey" PRIMARY KEY ("run_id", "last_n"),
    CONSTRAINT "run_events_run_id_fkey" FOREIGN KEY ("run_id") REFERENCES "runs"("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- No foreign keys: what is written down outlives what it tells of.
CREATE TABLE "audit_events" (
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "kind" TEXT NOT NULL,
    "call_id" TEXT,
    "request_id" TEXT NOT NULL,
    "trace_id" TEXT,
    "principal" TEXT NOT NULL,
    "key_id" TEXT,
    "ip" TEXT,
    "session_id" TEXT,
    "run_id" TEXT,
    "round" INTEGER,
    "model" TEXT,
    "server" TEXT,
    "tool" TEXT,
    "name" TEXT,
    "definition_hash" TEXT,
    "arguments" TEXT,
    "result" TEXT,
    "arguments_digest" TEXT,
    "result_digest" TEXT,
    "success" BOOLEAN NOT NULL,
    "state" TEXT,
    "error_code" TEXT,
    "duration_ms" DOUBLE PRECISION,
    "queue_wait_ms" DOUBLE PRECISION,
    "attempt" INTEGER,
    "cached" BOOLEAN,
    "isolation" TEXT,
    "policy_rule" TEXT,
    "approval_id" TEXT,
    "approver" TEXT,
    "worker" TEXT,
    "hash" TEXT,
    "previous_hash" TEXT,

    CONSTRAINT "audit_events_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "audit_events_tool_call_key" ON "audit_events"("call_id") WHERE "kind" = 'tool_call';
CREATE INDEX "audit_events_at_idx" ON "audit_events"("at");
CREATE INDEX "audit_events_principal_at_idx" ON "audit_events"("principal", "at");

CREATE TABLE "processes" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "details" JSONB NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "heartbeat_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "processes_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "processes_kind_heartbeat_at_idx" ON "processes"("kind", "heartbeat_at");

CREATE TABLE "catalog_servers" (
    "server" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "available" BOOLEAN NOT NULL,
    "tools" JSON NOT NULL,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "catalog_servers_pkey" PRIMARY KEY ("server")
);
