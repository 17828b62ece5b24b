// The journal on PostgreSQL. Every transition is one conditional statement shared by concurrent calls; a call in
// another state than the transition requires is left unchanged.
import { GroupCommit } from '#libs/postgres/group-commit.js';
import type { Database } from '#libs/postgres/open-database.js';
import { storedJson, storedText } from '#libs/postgres/stored-text.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { neverBegun } from '#libs/schemas/tool-outcome.js';
import { mayLeave } from '#libs/waits/wait-kinds.js';
import { endedCallRow, plannedCallRow, toStoredCall } from './call-rows.js';
import type {
  AuditContext,
  CallClaim,
  CallPlace,
  CallEnd,
  Claimed,
  Journal,
  PlannedCall,
  StoredCall,
} from './run-store.js';
import { makeSessions, type SessionMaker } from './sessions/make-sessions.js';
import { StoreWrites } from './store-writes.js';

const replan = `/* journal.replan */
  update tool_calls set state = 'planned', job = $1::json, planned_at = clock_timestamp(), time_budget_ms = $2::float8
  where id = $3 and kind = 'server' and (state = 'planned' or (state = 'parked' and ${mayLeave('tool_calls.id')}))
  returning id`;

const fencePattern = /^\d{1,18}$/;

/** Calls per read: each may have a large outcome. */
const maxRead = 64;

export class PostgresJournal implements Journal {
  /** When outcomes are late, all waiting calls poll at once: reading one by one would delay all of them. */
  private readonly reads: GroupCommit<string, StoredCall | undefined>;

  constructor(
    private readonly database: Database,
    private readonly writes = new StoreWrites(database),
    private readonly sessions?: SessionMaker,
  ) {
    this.reads = new GroupCommit((ids) => this.read(ids), { maxRows: maxRead, timeoutMs: database.timeoutMs });
  }

  async plan(call: PlannedCall, audit: AuditContext, place?: CallPlace): Promise<void> {
    const row = plannedCallRow(call, audit, place ?? { runId: null, round: null, position: 0 });
    const sessions = makeSessions([call], this.sessions);
    await this.writes.submit('plan', row);
    for (const made of sessions) await made;
  }

  async replan(job: ToolJob): Promise<boolean> {
    const values = [storedJson(job), job.deadline - job.queuedAt, storedText(job.callId)];
    return (await this.database.query(replan, values)).length === 1;
  }

  claim({ callId, worker, withArguments = false }: CallClaim): Promise<Claimed | undefined> {
    const row = { id: storedText(callId), worker, with_arguments: withArguments };
    return this.writes.submit('claim', row).then((written) => written?.result as unknown as Claimed | undefined);
  }

  end(end: CallEnd): Promise<boolean> {
    if (end.fence !== undefined && !fencePattern.test(end.fence)) return Promise.resolve(false);
    return this.writes.submit('outcome', endedCallRow(end)).then((written) => written !== undefined);
  }

  async cancelPlanned(callIds: readonly string[], audit: AuditContext, why?: unknown): Promise<string[]> {
    const outcome = neverBegun(why);
    const unique = [...new Set(callIds)];
    const ended = await Promise.all(unique.map((callId) => this.end({ ...audit, callId, outcome })));
    return unique.filter((_callId, index) => ended[index]);
  }

  get(callId: string): Promise<StoredCall | undefined> {
    return this.reads.submit(storedText(callId));
  }

  private async read(ids: readonly string[]): Promise<(StoredCall | undefined)[]> {
    const rows = await this.database.call((prisma) => prisma.toolCall.findMany({ where: { id: { in: [...ids] } } }));
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => {
      const row = byId.get(id);
      return row === undefined ? undefined : toStoredCall(row);
    });
  }

  async plannedSinceMs(callId: string): Promise<number | undefined> {
    const [row] = await this.database.call(
      (prisma) => prisma.$queryRaw<{ ms: number }[]>`/* journal.planned-since */
        select (extract(epoch from clock_timestamp() - planned_at) * 1000)::float8 as ms
        from tool_calls where id = ${storedText(callId)}`,
    );
    return row?.ms;
  }
}
