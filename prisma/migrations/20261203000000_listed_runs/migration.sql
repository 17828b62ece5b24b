-- Runs are listed newest first, by any of what they are filtered by. The ids of runs begin with their time, so an index that ends
-- with them is in the order of the list.

-- As the caller named it. NULL: the caller named none, or a version before this one wrote the run.
ALTER TABLE "runs" ADD COLUMN "model" TEXT;
-- The beginning of the last message of the user. NULL: the run is that of a keyed tool call, which is not listed.
ALTER TABLE "runs" ADD COLUMN "asked" TEXT DEFAULT '';
ALTER TABLE "runs" ADD COLUMN "stopped_by" TEXT;

CREATE INDEX "runs_principal_id_idx" ON "runs"("principal", "id");
CREATE INDEX "runs_session_id_id_idx" ON "runs"("session_id", "id");
CREATE INDEX "runs_model_id_idx" ON "runs"("model", "id");
-- Most runs are done: they are found among all of them.
CREATE INDEX "runs_state_id_idx" ON "runs"("state", "id") WHERE "state" <> 'done';
-- `->` leaves escapes as they are, where `->>` fails for some: the code is found as JSON.
CREATE INDEX "runs_error_code_idx" ON "runs"((("error" -> 'code')::text), "id") WHERE "error" IS NOT NULL;
CREATE INDEX "tool_calls_tool_run_id_idx" ON "tool_calls"("tool", "run_id") WHERE "run_id" IS NOT NULL AND "tool" <> '';
CREATE INDEX "run_rounds_model_run_id_idx" ON "run_rounds"("model", "run_id");

-- The last days by the hour, for the overview: each gateway writes what it has counted, over what it wrote before. The empty principal
-- is everybody. `latencies` counts turns by how long they took, in steps that grow by a fifth.
CREATE TABLE "traffic_hours" (
    "principal" TEXT NOT NULL,
    "hour" TIMESTAMPTZ(3) NOT NULL,
    "gateway" TEXT NOT NULL,
    "requests" INTEGER NOT NULL,
    "calls" INTEGER NOT NULL,
    "failures" INTEGER NOT NULL,
    "cost_nano_usd" BIGINT NOT NULL,
    "latencies" INTEGER[] NOT NULL,

    CONSTRAINT "traffic_hours_pkey" PRIMARY KEY ("principal", "hour", "gateway")
);
CREATE INDEX "traffic_hours_hour_idx" ON "traffic_hours"("hour");

ALTER TABLE "usage_days" ADD COLUMN "failures" BIGINT NOT NULL DEFAULT 0;

-- A worker that stopped without saying so is shown for some minutes. Its row counts for nothing else.
ALTER TABLE "processes" ADD COLUMN "gone_at" TIMESTAMPTZ(3);
