// Deletes a run's parts in the same statement as the run: no foreign key does it.

/** For a statement whose relation `runs` has the ids of the runs that it deletes. */
export const deletePartsOfRuns = (runs: string): string => `rounds_of_runs as (
    delete from run_rounds using ${runs} where run_rounds.run_id = ${runs}.id),
  events_of_runs as (
    delete from run_events using ${runs} where run_events.run_id = ${runs}.id),
  calls_of_runs as (
    delete from tool_calls using ${runs} where tool_calls.run_id = ${runs}.id)`;
