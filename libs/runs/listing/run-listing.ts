// Lists runs, newest first, page by page. The work of a page is bounded, however many runs there are and however few of them match:
// a page may be short, or empty, and still be followed by others.
import type { Database } from '#libs/postgres/open-database.js';
import { Prisma } from '#libs/postgres/prisma-client/client.js';
import { storedText } from '#libs/postgres/stored-text.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { Usage } from '#libs/schemas/usage.js';
import { allRuns, conditionsOf, entriesOf, type IdRange, type RunConditions, type Source } from './run-conditions.js';
import type { RunFilter } from './run-filter.js';

/** A run's own row, without what may be long. */
export interface RunRow {
  id: string;
  principal: string;
  sessionId: string | null;
  model: string | null;
  state: string;
  createdAt: Date;
  endedAt: Date | null;
  usage: Usage;
  error: JsonObject | null;
  stoppedBy: string | null;
  replayOf: string | null;
  /** The clock of the store, which all times of a run come from. */
  now: Date;
}

/** Entries of an index that are read for one page, unless its runs are found among the first of them. */
const maxEntries = 1_000;
/** The id of a run has the clock of its gateway, `created_at` that of the store. */
const clockToleranceMs = 60_000;
const lastId = 'run_g';

const { sql } = Prisma;
const rowColumns = sql`run.id, run.principal, run.session_id as "sessionId", run.model, run.state, run.created_at as "createdAt",
  run.ended_at as "endedAt", run.usage, run.error, run.stopped_by as "stoppedBy", run.replay_of as "replayOf",
  clock_timestamp() as now`;

export class RunListing {
  constructor(private readonly database: Pick<Database, 'call'>) {}

  /** @throws AppError invalid_value for a cursor that none of its pages gave, store_unavailable */
  async page(filter: RunFilter, limit: number, cursor?: string): Promise<{ rows: RunRow[]; cursor?: string }> {
    const conditions = conditionsOf(filter);
    const range = rangeOf(filter, cursor);
    const found = await this.shortest(conditions, range);
    const rows = await this.read(found, range, conditions.holds, limit + 1);
    if (rows.length > limit) return { rows: rows.slice(0, limit), cursor: rows[limit - 1]!.id };
    const bound = await this.boundOf(found, range);
    if (bound === undefined) return { rows };
    // What is older than the bound belongs to the next page, even if runs that are new by now made room for more entries.
    return { rows: rows.filter(({ id }) => id >= bound), cursor: bound };
  }

  /** The row of any principal's run. */
  async row(id: string): Promise<RunRow | undefined> {
    const [row] = await this.run<RunRow>(sql`select ${rowColumns} from runs run where id = ${storedText(id)}`);
    return row;
  }

  private run<Row>(statement: Prisma.Sql): Promise<Row[]> {
    return this.database.call((prisma) => prisma.$queryRaw<Row[]>(statement));
  }

  /** What the list is read by: of the indexes that could find its runs, the one with the fewest entries. */
  private async shortest({ sources }: RunConditions, range: IdRange): Promise<readonly Source[]> {
    if (sources.length < 2) return sources[0] ?? [allRuns];
    const counts = sources.map((each) => {
      const entries = each.map(
        (source) => sql`(select count(*) from (${entriesOf(source, range, maxEntries)}) as entry)`,
      );
      return Prisma.join(entries, ' + ');
    });
    const [row] = await this.run<{ counts: number[] }>(sql`select array[${Prisma.join(counts)}]::int[] as counts`);
    const least = row!.counts.indexOf(Math.min(...row!.counts));
    return sources[least]!;
  }

  private read(
    sources: readonly Source[],
    range: IdRange,
    holds: readonly Prisma.Sql[],
    limit: number,
  ): Promise<RunRow[]> {
    const entries = sources.map((source) => sql`(${entriesOf(source, range, maxEntries)})`);
    // Entries that are runs, of one index, are in order already: no more of them are read than the page needs.
    const distinct = sources.length === 1 && sources[0]!.isOfRuns ? Prisma.empty : sql`distinct`;
    return this.run<RunRow>(sql`select ${rowColumns} from (
        select ${distinct} id from (${Prisma.join(entries, ' union all ')}) as entry order by id desc) as found
      cross join lateral (select * from runs where runs.id = found.id offset 0) as run
      where ${Prisma.join([...holds], ' and ')} order by found.id desc limit ${limit}::int`);
  }

  /** The id below which the next page goes on; undefined if every entry was read. */
  private async boundOf(sources: readonly Source[], range: IdRange): Promise<string | undefined> {
    const last = sources.map((source) => sql`(${entriesOf(source, range, 1)} offset ${maxEntries - 1}::int)`);
    const [row] = await this.run<{ id: string | null }>(
      sql`select max(id) as id from (${Prisma.join(last, ' union all ')}) as last`,
    );
    return row?.id ?? undefined;
  }
}

/** @throws AppError invalid_value */
export function rangeOf({ since, until }: RunFilter, cursor: string | undefined): IdRange {
  const before = until === undefined ? lastId : idAt(until.getTime() + clockToleranceMs);
  if (cursor !== undefined && !/^run_[\da-f]{32}$/.test(cursor)) {
    throw new AppError('invalid_value', 'cursor must be the next_cursor of a page', { param: 'cursor' });
  }
  return {
    after: since === undefined ? 'run_' : idAt(since.getTime() - clockToleranceMs),
    before: cursor === undefined || cursor > before ? before : cursor,
  };
}

/** The first digits of ids of that time. */
const idAt = (ms: number): string => `run_${Math.max(0, Math.floor(ms)).toString(16).padStart(12, '0')}`;
