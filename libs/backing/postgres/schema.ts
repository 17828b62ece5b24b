// The tables of the PostgreSQL set: BullMQ's own in `bullmq`, ours in `signalbox_backing`, both separate from the
// migrations of the store. Safe for concurrent processes; an up-to-date database is only read.
import { LATEST_SCHEMA_VERSION, runMigrations } from 'bullmq';
import type pg from 'pg';
import { windowSteps } from '../counters.js';
import type { BackingDatabase } from './database.js';

/** Increase it with each change below; a database with a higher number is left alone (a newer version created it). */
const revision = 3;

const lockKey = 0x5349_4742;

const statements = `
create schema if not exists signalbox_backing;

-- A ping writes here.
create unlogged table if not exists signalbox_backing.counter (
  key text primary key,
  total bigint not null,
  expires_at timestamptz not null
);

create unlogged table if not exists signalbox_backing.cache (
  key text primary key,
  value bytea not null,
  -- Age: the oldest goes first when the cache is full.
  number bigint generated always as identity,
  bytes integer not null,
  expires_at timestamptz not null
);
create index if not exists cache_number on signalbox_backing.cache (number);

create unlogged table if not exists signalbox_backing.sliding_window (
  key text primary key,
  -- The last step that was counted in, and the counts of it and of those before it, the oldest first.
  step bigint not null,
  counts bigint[] not null,
  expires_at timestamptz not null
);

create or replace function signalbox_backing.use_window(
  p_key text, p_take bigint, p_add bigint, p_limit bigint, p_window_ms bigint,
  out taken bigint, out room bigint, out wait_ms bigint
) language plpgsql as $$
declare
  v_step_ms bigint := p_window_ms / ${windowSteps};
  v_now bigint;
  v_step bigint;
  v_gone integer;
  v_last bigint;
  v_counts bigint[];
  v_freed bigint := 0;
begin
  -- Locks the row, so that what follows is one step for all processes.
  insert into signalbox_backing.sliding_window as w (key, step, counts, expires_at)
  values (p_key, 0, array_fill(0::bigint, array[${windowSteps + 1}]), clock_timestamp())
  on conflict (key) do update set expires_at = clock_timestamp() + p_window_ms * 2 * interval '1 millisecond'
  returning w.step, w.counts into v_last, v_counts;
  v_now := floor(extract(epoch from clock_timestamp()) * 1000);
  v_step := v_now / v_step_ms;
  v_gone := least(${windowSteps + 1}, greatest(0, v_step - v_last));
  if v_gone > 0 then
    v_counts := v_counts[v_gone + 1 : ${windowSteps + 1}] || array_fill(0::bigint, array[v_gone]);
  end if;
  room := p_limit - p_add - (select sum(count) from unnest(v_counts) as counted (count));
  taken := greatest(0, least(p_take, room));
  room := room - taken;
  v_counts[${windowSteps + 1}] := v_counts[${windowSteps + 1}] + p_add + taken;
  update signalbox_backing.sliding_window set step = greatest(v_step, v_last), counts = v_counts,
    expires_at = clock_timestamp() + p_window_ms * 2 * interval '1 millisecond'
  where key = p_key;
  wait_ms := 0;
  if room < 1 then
    for v_at in 1 .. ${windowSteps + 1} loop
      v_freed := v_freed + v_counts[v_at];
      wait_ms := (v_step + v_at) * v_step_ms - v_now;
      exit when v_freed >= 1 - room;
    end loop;
  end if;
end;
$$;

create unlogged table if not exists signalbox_backing.shared_place (
  key text primary key,
  -- Holder: places, wanted, expiry and the time since when it has to wait for its part (both epoch µs).
  holders jsonb not null,
  expires_at timestamptz not null
);

create or replace function signalbox_backing.share_places(
  p_key text, p_holder text, p_used bigint, p_wanted bigint, p_limit bigint, p_ttl_ms bigint, out places bigint
) language plpgsql as $$
declare
  v_now bigint;
  v_stored jsonb;
  v_others jsonb;
  v_taken bigint;
  v_part bigint;
  v_since bigint;
  v_before bigint;
  v_reserved bigint;
begin
  -- Locks the row, so that what follows is one step for all processes.
  insert into signalbox_backing.shared_place as s (key, holders, expires_at)
  values (p_key, '{}', clock_timestamp() + p_ttl_ms * interval '1 millisecond')
  on conflict (key) do update set expires_at = clock_timestamp() + p_ttl_ms * interval '1 millisecond'
  returning s.holders into v_stored;
  v_now := floor(extract(epoch from clock_timestamp()) * 1000000);
  select coalesce(jsonb_object_agg(name, held), '{}'), coalesce(sum((held->>0)::bigint), 0),
    greatest(1, p_limit / (count(*) + 1))
  into v_others, v_taken, v_part
  from jsonb_each(v_stored) as other (name, held) where name <> p_holder and (held->>2)::bigint > v_now;
  select (held->>3)::bigint into v_since
  from jsonb_each(v_stored) as own (name, held)
  where name = p_holder and (held->>2)::bigint > v_now and (held->>0)::bigint < least((held->>1)::bigint, v_part);
  -- What the others lack of their parts, and what those lack that have waited for longer.
  select coalesce(sum(lacks), 0),
    coalesce(sum(lacks) filter (where v_since is null or since < v_since or (since = v_since and name < p_holder)), 0)
  into v_reserved, v_before
  from (
    select name, (held->>3)::bigint as since, greatest(0, least((held->>1)::bigint, v_part) - (held->>0)::bigint) as lacks
    from jsonb_each(v_others) as other (name, held)) as rival;
  places := greatest(0, least(p_wanted,
    greatest(p_limit - v_taken - v_reserved, least(v_part, p_limit - v_taken - v_before))));
  update signalbox_backing.shared_place set holders = case when p_wanted + p_used = 0 then v_others
    else v_others || jsonb_build_object(p_holder, jsonb_build_array(
      greatest(places, p_used), p_wanted, v_now + p_ttl_ms * 1000, coalesce(v_since, v_now))) end
  where key = p_key;
end;
$$;

create table if not exists signalbox_backing.revision (number integer not null);
delete from signalbox_backing.revision;
insert into signalbox_backing.revision values (${revision});
`;

export async function ensureSchema(database: BackingDatabase): Promise<void> {
  if (await isCurrent(database)) return;
  await database.inSchemaSession(async (client) => {
    // BullMQ's migrations hold a lock of their own; under ours one process at a time creates both.
    await client.query('select pg_advisory_lock($1)', [lockKey]);
    await runMigrations(client);
    await createOurs(client);
  });
}

async function createOurs(client: pg.Client): Promise<void> {
  await client.query('begin');
  try {
    if ((await ourRevision(client)) < revision) await client.query(statements);
    await client.query('commit');
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

async function ourRevision(client: pg.Client): Promise<number> {
  const table = await client.query<{ found: boolean }>(
    `select to_regclass('signalbox_backing.revision') is not null as found`,
  );
  if (table.rows[0]?.found !== true) return 0;
  const { rows } = await client.query<{ number: number }>('select number from signalbox_backing.revision');
  return rows[0]?.number ?? 0;
}

async function isCurrent(database: BackingDatabase): Promise<boolean> {
  const tables = await database.run<{ found: boolean }>(
    `select to_regclass('signalbox_backing.revision') is not null and to_regclass('bullmq.migration') is not null as found`,
    [],
  );
  if (tables.rows[0]?.found !== true) return false;
  const { rows } = await database.run<{ ours: number | null; theirs: number | null }>(
    `select (select max(number) from signalbox_backing.revision) as ours, (select max(version) from bullmq.migration) as theirs`,
    [],
  );
  return (rows[0]?.ours ?? 0) >= revision && (rows[0]?.theirs ?? 0) >= LATEST_SCHEMA_VERSION;
}
