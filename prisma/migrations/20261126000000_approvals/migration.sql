-- Calls that wait for a person. A call that needs an approval is parked in the journal, and leaves it only approved or ended.
-- A call whose tool server asks something (kind `question`) is running under the fence named here.

CREATE TABLE "approvals" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL DEFAULT 'approval',
    "call_id" TEXT NOT NULL,
    "fence" BIGINT,
    "request_id" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "key_id" TEXT,
    "session_id" TEXT NOT NULL,
    "run_id" TEXT,
    "server" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "definition_hash" TEXT NOT NULL,
    "arguments" JSON NOT NULL,
    "arguments_hash" TEXT NOT NULL,
    "asked_hash" TEXT NOT NULL,
    "rule" TEXT,
    "reason" TEXT,
    "message" TEXT,
    "schema" JSON,
    "answer" JSON,
    "state" TEXT NOT NULL DEFAULT 'waiting',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "decided_at" TIMESTAMPTZ(3),
    "decided_by" TEXT,
    "decision_reason" TEXT,
    "edited" BOOLEAN NOT NULL DEFAULT false,
    "notify_at" TIMESTAMPTZ(3),
    "notices" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "approvals_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "approvals_kind_check" CHECK ("kind" IN ('approval', 'question')),
    CONSTRAINT "approvals_state_check" CHECK ("state" IN ('waiting', 'approved', 'denied', 'expired', 'cancelled'))
);
CREATE INDEX "approvals_call_id_idx" ON "approvals"("call_id");
CREATE UNIQUE INDEX "approvals_one_key" ON "approvals"("call_id") WHERE "kind" = 'approval';
CREATE INDEX "approvals_principal_created_at_idx" ON "approvals"("principal", "created_at");
CREATE INDEX "approvals_created_at_idx" ON "approvals"("created_at");
CREATE INDEX "approvals_waiting_idx" ON "approvals"("created_at") WHERE "state" = 'waiting';
CREATE INDEX "approvals_notify_idx" ON "approvals"("notify_at") WHERE "notify_at" IS NOT NULL;
CREATE INDEX "tool_calls_parked_idx" ON "tool_calls"("id") WHERE "state" = 'parked';
