-- A run that an MCP client follows as a task: how long the client may, from the creation of the run on.
ALTER TABLE "runs" ADD COLUMN "task_ttl_ms" DOUBLE PRECISION;
-- The tasks of a principal are listed, newest first.
CREATE INDEX "runs_tasks_idx" ON "runs"("principal", "id") WHERE "task_ttl_ms" IS NOT NULL;
