// The events of stored runs on PostgreSQL: one row per burst; bursts of concurrent runs share a statement.
// The writer assigns the numbers; a burst that already exists is left unchanged.
import type { Database } from '#libs/postgres/open-database.js';
import { storedText } from '#libs/postgres/stored-text.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import { addEvents } from './run-rows.js';
import type { EventLog, NumberedEvent } from './run-store.js';
import { StoreWrites } from './store-writes.js';

/** Deletes events after the mark, but keeps the earlier part of a burst across the mark. The highest number stays known. */
const cutEvents = `/* events.truncate */ with
  cut as (delete from run_events where run_id = $1 and last_n > $2 returning last_n),
  kept as (
    insert into run_events (run_id, first_n, last_n, events)
    select run_id, first_n, last_n, events::json
    from jsonb_to_recordset($3::jsonb) as burst (run_id text, first_n int, last_n int, events text)
    on conflict do nothing)
  update runs set highest_event = greatest(highest_event, $2, (select max(last_n) from cut)) where id = $1
  returning highest_event`;

export class PostgresEventLog implements EventLog {
  constructor(
    private readonly database: Database,
    private readonly writes = new StoreWrites(database),
  ) {}

  async append(runId: string, events: readonly NumberedEvent[]): Promise<void> {
    if (events.length === 0) return;
    const written = await this.writes.submit('events', burstRow(runId, events));
    if (written === undefined) throw new AppError('run_not_found', `Run '${runId}' not found`);
  }

  async read(runId: string, afterN: number, limit: number): Promise<NumberedEvent[]> {
    const bursts = await this.database.call((prisma) =>
      prisma.runEvent.findMany({
        where: { runId: storedText(runId), lastN: { gt: afterN } },
        orderBy: { lastN: 'asc' },
        take: limit,
        select: { events: true },
      }),
    );
    return bursts.flatMap(({ events }) => events as unknown as NumberedEvent[]).filter(({ n }) => n > afterN);
  }

  async truncate(runId: string, afterN: number): Promise<number> {
    const id = storedText(runId);
    return this.database.call(async (prisma) => {
      const where = { runId: id, firstN: { lte: afterN }, lastN: { gt: afterN } };
      const straddling = await prisma.runEvent.findFirst({ where, select: { events: true } });
      const events = (straddling?.events ?? []) as unknown as NumberedEvent[];
      const kept = events.filter(({ n }) => n <= afterN);
      const bursts = JSON.stringify(kept.length === 0 ? [] : [burstRow(id, kept)]);
      const rows = await prisma.$queryRawUnsafe<{ highest_event: number }[]>(cutEvents, id, afterN, bursts);
      return rows[0]?.highest_event ?? afterN;
    });
  }
}

function burstRow(runId: string, events: readonly NumberedEvent[]): JsonObject {
  const row: JsonObject = { run_id: runId };
  addEvents(row, events);
  return row;
}
