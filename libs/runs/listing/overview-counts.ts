// What waits for a person, and what runs, as counts: of one principal, or of all.
import type { Database } from '#libs/postgres/open-database.js';
import { storedText } from '#libs/postgres/stored-text.js';

export interface OverviewCounts {
  approvals: number;
  signIns: number;
  questions: number;
  toolChanges: number;
  /** Without those that wait for a person, as the list of running runs. */
  runningTurns: number;
}

/** Each is counted by an index of what is open, which `limits` bounds. */
const countOpen = `/* overview.counts */
  select
    (select count(*) from approvals where state = 'waiting' and kind = 'approval'
      and ($1::text is null or principal = $1))::int as approvals,
    (select count(*) from approvals where state = 'waiting' and kind = 'sign_in'
      and ($1::text is null or principal = $1))::int as "signIns",
    (select count(*) from approvals where state = 'waiting' and kind = 'question'
      and ($1::text is null or principal = $1))::int as questions,
    (select count(*) from catalog_tools join catalog_servers using (server)
      where configured and change is not null and decision = 'pending')::int as "toolChanges",
    (select count(*) from runs where state = 'running' and state <> 'done' and asked is not null
      and not exists (select from tool_calls where run_id = runs.id and state = 'parked')
      and ($1::text is null or principal = $1))::int as "runningTurns"`;

/** @throws AppError store_unavailable */
export async function overviewCounts(
  database: Pick<Database, 'query'>,
  principal: string | undefined,
): Promise<OverviewCounts> {
  const [counts] = await database.query<OverviewCounts>(countOpen, [
    principal === undefined ? null : storedText(principal),
  ]);
  return counts!;
}
