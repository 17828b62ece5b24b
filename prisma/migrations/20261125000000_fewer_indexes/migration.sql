-- Indexes that every run and every version of a call went into, and that few of them are looked up by. Rows that nobody
-- can ask for in that way have no entry any more.

-- Of a run only where it has a key. `on conflict do nothing` finds it as before.
CREATE UNIQUE INDEX "runs_idempotency_key_idx" ON "runs"("principal", "idempotency_key") WHERE "idempotency_key" IS NOT NULL;
DROP INDEX "runs_principal_idempotency_key_key";

-- A session is asked for its calls outside of runs, to delete them, and for those under way, so as not to expire.
CREATE INDEX "tool_calls_of_session_idx" ON "tool_calls"("principal", "session_id")
  WHERE "run_id" IS NULL OR "state" IN ('planned', 'parked', 'dispatched');
DROP INDEX "tool_calls_principal_session_id_idx";
