// The journal on PostgreSQL. Every transition is one conditional statement that concurrent calls share; what is not in
// the state that a transition needs stays as it is.
import { GroupCommit } from '#libs/database/group-commit.js';
import type { Database } from '#libs/database/open-database.js';
import { storedText } from '#libs/database/stored-text.js';
import { failedOutcome } from '#libs/schemas/tool-outcome.js';
import { endedCallRow, plannedCallRow, toStoredCall } from './call-rows.js';
import { claimCalls, endCalls, planCalls } from './call-statements.js';
import type { AuditContext, CallClaim, CallEnd, Journal, PlannedCall, StoredCall } from './run-store.js';

export interface JournalOptions {
  /** False writes no audit rows (`audit.enabled`). */
  audit?: boolean;
}

const fencePattern = /^\d{1,18}$/;

export class PostgresJournal implements Journal {
  private readonly plans: GroupCommit<string, void>;
  private readonly claims: GroupCommit<string, { fence: string; attempt: number } | undefined>;
  private readonly ends: GroupCommit<string, boolean>;

  constructor(
    private readonly database: Database,
    { audit = true }: JournalOptions = {},
  ) {
    const bounds = { timeoutMs: database.timeoutMs };
    this.plans = new GroupCommit(async (rows) => {
      await database.call((prisma) => prisma.$queryRawUnsafe(planCalls, arrayOf(rows), audit));
      return rows.map(() => undefined);
    }, bounds);
    this.claims = new GroupCommit(async (rows) => {
      const written = await database.call((prisma) =>
        prisma.$queryRawUnsafe<{ ordinality: bigint; fence: string; attempt: number }[]>(claimCalls, arrayOf(rows)),
      );
      const claimed = new Map(written.map((row) => [Number(row.ordinality), row]));
      return rows.map((_row, index) => {
        const row = claimed.get(index + 1);
        return row && { fence: row.fence, attempt: row.attempt };
      });
    }, bounds);
    this.ends = new GroupCommit(async (rows) => {
      const written = await database.call((prisma) =>
        prisma.$queryRawUnsafe<{ ordinality: bigint }[]>(endCalls, arrayOf(rows), audit),
      );
      const ended = new Set(written.map((row) => Number(row.ordinality)));
      return rows.map((_row, index) => ended.has(index + 1));
    }, bounds);
  }

  async plan(call: PlannedCall, audit: AuditContext): Promise<void> {
    await this.plans.submit(JSON.stringify(plannedCallRow(call, audit, { runId: null, round: null, position: 0 })));
  }

  async claim({ callId, worker, takeOver }: CallClaim): Promise<{ fence: string; attempt: number } | undefined> {
    if (takeOver !== undefined && !fencePattern.test(takeOver)) return undefined;
    return this.claims.submit(JSON.stringify({ id: storedText(callId), worker, take_over: takeOver ?? null }));
  }

  async end(end: CallEnd): Promise<boolean> {
    if (end.fence !== undefined && !fencePattern.test(end.fence)) return false;
    return this.ends.submit(JSON.stringify(endedCallRow(end)));
  }

  async cancelPlanned(callIds: readonly string[], audit: AuditContext): Promise<string[]> {
    const outcome = failedOutcome('cancelled', 'cancelled', 'The call was cancelled before it began');
    const unique = [...new Set(callIds)];
    const ended = await Promise.all(unique.map((callId) => this.end({ ...audit, callId, outcome })));
    return unique.filter((_callId, index) => ended[index]);
  }

  async get(callId: string): Promise<StoredCall | undefined> {
    const row = await this.database.call((prisma) => prisma.toolCall.findUnique({ where: { id: storedText(callId) } }));
    return row === null ? undefined : toStoredCall(row);
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

/** Rows that are JSON texts already, as one JSON array. */
export function arrayOf(rows: readonly string[]): string {
  return `[${rows.join(',')}]`;
}
