// Runs that MCP clients follow as tasks: each is one call of its caller. A task whose time is over and that has ended is not found any
// more; its run is kept as any other.
import type { Database } from '#libs/postgres/open-database.js';
import { storedText, storedTextOrNull } from '#libs/postgres/stored-text.js';
import type { CallState } from '#libs/schemas/tool-outcome.js';
import { kindsForPeople } from '#libs/waits/wait-kinds.js';
import type { RunState } from '../run-store.js';

export interface RunTask {
  /** The id of the run. */
  id: string;
  state: RunState;
  createdAt: Date;
  /** When the run, its call or a decision about the call changed last. */
  updatedAt: Date;
  ttlMs: number;
  /** Why the run ended without an outcome of its call, or the call with a failure. */
  failure: string | null;
  /** Null until the call is planned. */
  callState: CallState | null;
  /** The call waits for people. */
  waits: boolean;
}

const tasks = (
  where: string,
): string => `select run.id, run.state, run.created_at as "createdAt", run.task_ttl_ms as "ttlMs",
    greatest(run.created_at, run.ended_at, call.planned_at, call.dispatched_at, call.ended_at, wait.at) as "updatedAt",
    coalesce(run.error ->> 'message', call.outcome #>> '{error,message}') as failure,
    call.state as "callState", coalesce(wait.is_open, false) as waits
  from runs run
  left join lateral (
    select * from tool_calls where run_id = run.id and kind = 'server' order by round desc, position limit 1) as call on true
  left join lateral (
    select max(greatest(created_at, decided_at)) as at,
      bool_or(state = 'waiting') and call.state in ('parked', 'dispatched') as is_open
    from approvals where call_id = call.id and kind in ${kindsForPeople}) as wait on true
  where run.principal = $1 and run.task_ttl_ms is not null and (run.state in ('running', 'interrupted')
    or run.created_at + run.task_ttl_ms * interval '1 millisecond' > clock_timestamp()) and ${where}`;

const findTask = `/* runs.task */ ${tasks('run.id = $2')}`;
const listTasks = `/* runs.tasks */ ${tasks('($2::text is null or run.id < $2)')} order by run.id desc limit $3`;

export class RunTasks {
  constructor(private readonly database: Pick<Database, 'query'>) {}

  async find(principal: string, id: string): Promise<RunTask | undefined> {
    const [task] = await this.database.query<RunTask>(findTask, [storedText(principal), storedText(id)]);
    return task;
  }

  /** Newest first. `before`: the id of the last task of the page before. */
  page(principal: string, limit: number, before?: string): Promise<RunTask[]> {
    return this.database.query<RunTask>(listTasks, [storedText(principal), storedTextOrNull(before), limit]);
  }
}
