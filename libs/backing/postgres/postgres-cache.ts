// The cache in an unlogged table, bounded in rows and bytes for all processes together: a process that has written a
// sixteenth of the bound removes the oldest entries, so each process can exceed the bound by that much at most.
import type { Cache, CacheBounds } from '../cache.js';
import { storedKey } from '../stored-key.js';
import type { BackingDatabase } from './database.js';

const setStatement = `
insert into signalbox_backing.cache as c (key, value, bytes, expires_at)
values ($1, $2, $3, clock_timestamp() + $4::bigint * interval '1 millisecond')
on conflict (key) do update set
  value = excluded.value, bytes = excluded.bytes, expires_at = excluded.expires_at, number = default`;

const trimStatement = `
delete from signalbox_backing.cache where number <= (
  select number from (
    select number, row_number() over newest as place, sum(bytes) over newest as total
    from signalbox_backing.cache window newest as (order by number desc rows unbounded preceding)
  ) as kept
  where place > $1 or total > $2
  order by number desc limit 1
)`;

export class PostgresCache implements Cache {
  readonly maxValueBytes: number;
  private writtenRows = 0;
  private writtenBytes = 0;

  constructor(
    private readonly database: BackingDatabase,
    private readonly bounds: CacheBounds,
  ) {
    this.maxValueBytes = bounds.maxValueBytes;
  }

  async get(key: string, signal: AbortSignal): Promise<string | undefined> {
    const { rows } = await this.database.run<{ value: Buffer }>(
      'select value from signalbox_backing.cache where key = $1 and expires_at > clock_timestamp()',
      [storedKey(key)],
      signal,
    );
    return rows[0]?.value.toString('utf8');
  }

  async set(key: string, value: string, ttlMs: number, signal: AbortSignal): Promise<void> {
    const bytes = Buffer.from(value, 'utf8');
    if (bytes.byteLength > this.maxValueBytes) {
      // The older value must not outlive the attempt to replace it.
      await this.delete(key, signal);
      return;
    }
    await this.database.run(setStatement, [storedKey(key), bytes, bytes.byteLength, Math.ceil(ttlMs)], signal);
    this.writtenRows += 1;
    this.writtenBytes += bytes.byteLength;
    if (this.writtenRows * 16 >= this.bounds.maxRows || this.writtenBytes * 16 >= this.bounds.maxBytes) {
      await this.trim(signal);
    }
  }

  async delete(key: string, signal: AbortSignal): Promise<void> {
    await this.database.run('delete from signalbox_backing.cache where key = $1', [storedKey(key)], signal);
  }

  private async trim(signal: AbortSignal): Promise<void> {
    this.writtenRows = 0;
    this.writtenBytes = 0;
    await this.database.run(trimStatement, [this.bounds.maxRows, this.bounds.maxBytes], signal);
  }

  /** The connections belong to the backing. */
  async close(): Promise<void> {}
}
