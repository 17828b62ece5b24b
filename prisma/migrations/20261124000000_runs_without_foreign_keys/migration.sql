-- Rounds, calls and events are written by the gateway that owns their run, and deleted in the statement that deletes it:
-- checking every row against its run costs each tool call and finds nothing.
ALTER TABLE "run_rounds" DROP CONSTRAINT "run_rounds_run_id_fkey";
ALTER TABLE "tool_calls" DROP CONSTRAINT "tool_calls_run_id_fkey";
ALTER TABLE "run_events" DROP CONSTRAINT "run_events_run_id_fkey";
