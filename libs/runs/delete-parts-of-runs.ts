// Deletes the parts of runs in the statement that deletes the runs, because no foreign key does so.

/** `runs`: the relation of the statement with the ids of the deleted runs. */
export const deletePartsOfRuns = (runs: string): string => `rounds_of_runs as (
    delete from run_rounds using ${runs} where run_rounds.run_id = ${runs}.id),
  events_of_runs as (
    delete from run_events using ${runs} where run_events.run_id = ${runs}.id),
  calls_of_runs as (
    delete from tool_calls using ${runs} where tool_calls.run_id = ${runs}.id)`;
