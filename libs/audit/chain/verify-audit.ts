// Reads the audit and reports rows that were changed, removed, inserted, exchanged or cut off, and changed checkpoints.
// Writes nothing. Rows that are written meanwhile are left to the next run.
import type { KeyObject } from 'node:crypto';
import type { Database } from '#libs/postgres/open-database.js';
import { type Break, type ChainEnd, ChainRuns } from './chain-runs.js';
import { type ChainEnds, type Checkpoint, checkpointHash, isSignedBy } from './checkpoint.js';

const pageRows = 10_000;
const pageCheckpoints = 500;

export interface Verification {
  rows: number;
  checkpoints: number;
  breaks: Break[];
  /** Problems of checkpoints and of whole chains. */
  problems: string[];
  /** The last checkpoint, for a copy elsewhere that shows later whether it is still there. */
  last?: { number: bigint; hash: string };
}

export interface VerifyOptions {
  /** Rows before this time are not verified. */
  since?: Date;
  /** Reads at most this many checkpoints, the last ones, and ignores chains without a row since `since`. */
  lastCheckpoints?: number;
  /** If given, every checkpoint after the first signed one must be signed with one of these keys. */
  publicKeys?: readonly KeyObject[];
  signal?: AbortSignal;
}

interface Row {
  id: string;
  at: Date;
  chain: number | null;
  position: string | null;
  previousHash: string | null;
  hash: string | null;
  isRight: boolean | null;
}

interface StoredCheckpoint extends Checkpoint {
  hash: Uint8Array;
  signature: Uint8Array | null;
}

/** @throws AppError store_unavailable */
export async function verifyAudit(database: Database, options: VerifyOptions = {}): Promise<Verification> {
  const { since, lastCheckpoints, signal } = options;
  const before = await lastCheckpoint(database);
  const heads = latestOf(await readHeads(database), endsOf(before?.heads));
  const chains = new Map<number, ChainRuns>();
  const breaks: Break[] = [];
  let rows = 0;
  const chainOf = (chain: number): ChainRuns => {
    const known = chains.get(chain) ?? new ChainRuns(chain);
    chains.set(chain, known);
    return known;
  };
  // Hashes of rows that heads and checkpoints name.
  const expected = new Map([...heads].map(([chain, { position, hash }]) => [`${chain} ${position}`, [hash]]));
  for (const [chain, { position, hash }] of endsOf(before?.heads)) {
    expected.set(`${chain} ${position}`, [...(expected.get(`${chain} ${position}`) ?? []), hash]);
  }
  for await (const { id, at, chain, position, previousHash, hash, isRight } of readRows(database, since)) {
    signal?.throwIfAborted();
    rows += 1;
    if (chain === null || position === null || hash === null || previousHash === null) {
      breaks.push({ id, at, problem: 'has no hash: it was not written by Signalbox' });
      continue;
    }
    if (isRight !== true) breaks.push({ id, at, problem: 'is not as it was written' });
    else if (expected.get(`${chain} ${position}`)?.some((known) => known !== hash) === true) {
      breaks.push({ id, at, problem: 'is not the row that was last in its chain' });
    }
    chainOf(chain).add({ id, at, position: Number(position), hash, previousHash });
  }
  const after = lastCheckpoints === undefined ? 0n : (before?.number ?? 0n) - BigInt(lastCheckpoints);
  const { problems, count, last } = await verifyCheckpoints(database, options.publicKeys ?? [], after);
  // Read after the rows, so that rows that retention has dropped meanwhile do not count as missing.
  const starts = endsOf(last?.starts);
  const quiet = new Map<number, ChainEnd>();
  for (const [chain, end] of heads) {
    const start = starts.get(chain) ?? { position: 0, hash: '' };
    const runs = chains.get(chain);
    if (runs !== undefined) breaks.push(...runs.finish(since === undefined ? start : undefined, end));
    else if (end.position > start.position) quiet.set(chain, end);
    chains.delete(chain);
  }
  const unseen = since !== undefined && lastCheckpoints !== undefined ? [] : await withoutRow(database, quiet, since);
  for (const chain of unseen) {
    problems.push(`chain ${chain} has no rows and should have ${quiet.get(chain)!.position}`);
  }
  for (const chain of chains.keys()) problems.push(`chain ${chain} is not in the list of chains`);
  breaks.sort((left, right) => left.at.getTime() - right.at.getTime() || (left.id < right.id ? -1 : 1));
  return {
    rows,
    checkpoints: count,
    breaks,
    problems,
    ...(last === undefined ? {} : { last: { number: last.number, hash: Buffer.from(last.hash).toString('hex') } }),
  };
}

/** The latest rows and checkpoints, at a cost that does not grow with the audit. @throws AppError store_unavailable */
export async function verifyLatest(
  database: Database,
  { rows, checkpoints }: { rows: number; checkpoints: number },
): Promise<Verification> {
  const [oldest] = await database.query<{ at: Date }>(
    `/* audit.latest */ select at from audit_events order by at desc, id desc offset $1 limit 1`,
    [rows],
  );
  return verifyAudit(database, { lastCheckpoints: checkpoints, ...(oldest === undefined ? {} : { since: oldest.at }) });
}

async function* readRows(database: Database, since: Date | undefined): AsyncGenerator<Row> {
  let after: { at: Date | string; id: string } = {
    at: since ?? '-infinity',
    id: '00000000-0000-0000-0000-000000000000',
  };
  for (;;) {
    const { at, id } = after;
    const rows = await database.query<Row>(
      `/* audit.verify */ select id, at, chain, position, encode(previous_hash, 'hex') as "previousHash",
         encode(hash, 'hex') as hash, hash = ${rowHash} as "isRight"
       from audit_events where (at, id) > ($1::timestamptz, $2::uuid) and at >= $1 order by at, id limit ${pageRows}`,
      [at, id],
    );
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = last;
  }
}

async function verifyCheckpoints(database: Database, keys: readonly KeyObject[], after: bigint) {
  const problems: string[] = [];
  let last: StoredCheckpoint | undefined;
  let signed = false;
  let count = 0;
  for (;;) {
    const above = last?.number ?? after;
    const page: StoredCheckpoint[] = await database.call((prisma) =>
      prisma.auditCheckpoint
        .findMany({ where: { number: { gt: above } }, orderBy: { number: 'asc' }, take: pageCheckpoints })
        .then((rows) => rows.map(toCheckpoint)),
    );
    for (const checkpoint of page) {
      const { number, hash, signature, previousHash } = checkpoint;
      const name = `checkpoint ${number}`;
      if (!checkpointHash(checkpoint).equals(hash)) problems.push(`${name} is not as it was written`);
      // Checkpoints before the first one here may have been dropped with their rows.
      if (
        last === undefined ? number === 1n && previousHash.length > 0 : !Buffer.from(last.hash).equals(previousHash)
      ) {
        problems.push(`${name} does not follow the one before it`);
      }
      if (last !== undefined && number !== last.number + 1n) problems.push(`a checkpoint is missing before ${name}`);
      if (keys.length > 0 && signature !== null && !isSignedBy(hash, signature, keys)) {
        problems.push(`${name} has no valid signature`);
      }
      if (keys.length > 0 && signed && signature === null) problems.push(`${name} is not signed`);
      signed ||= signature !== null;
      count += 1;
      last = checkpoint;
    }
    if (page.length < pageCheckpoints) break;
  }
  if (keys.length > 0 && !signed) problems.push('no checkpoint is signed');
  return { problems, count, last };
}

/** @throws AppError store_unavailable */
export async function lastCheckpoint(database: Database): Promise<StoredCheckpoint | undefined> {
  const row = await database.call((prisma) => prisma.auditCheckpoint.findFirst({ orderBy: { number: 'desc' } }));
  return row === null ? undefined : toCheckpoint(row);
}

type CheckpointRow = Omit<StoredCheckpoint, 'heads' | 'starts'> & { heads: unknown; starts: unknown };

const toCheckpoint = ({ heads, starts, ...row }: CheckpointRow): StoredCheckpoint => ({
  ...row,
  heads: heads as ChainEnds,
  starts: starts as ChainEnds,
});

async function readHeads(database: Database): Promise<Map<number, ChainEnd>> {
  const rows = await database.call((prisma) => prisma.auditChain.findMany());
  return new Map(
    rows.map(({ chain, position, hash }) => [
      chain,
      { position: Number(position), hash: Buffer.from(hash).toString('hex') },
    ]),
  );
}

function endsOf(ends: ChainEnds = {}): Map<number, ChainEnd> {
  return new Map(
    Object.entries(ends).map(([chain, [position, hash]]) => [Number(chain), { position: Number(position), hash }]),
  );
}

/** The later end of each chain, since a head may have been set back. */
function latestOf(left: Map<number, ChainEnd>, right: Map<number, ChainEnd>): Map<number, ChainEnd> {
  const latest = new Map(left);
  for (const [chain, end] of right) if (end.position > (latest.get(chain)?.position ?? -1)) latest.set(chain, end);
  return latest;
}

/** The chains without a row since `since` whose last row is missing too. */
async function withoutRow(database: Database, ends: Map<number, ChainEnd>, since: Date | undefined): Promise<number[]> {
  if (since === undefined || ends.size === 0) return [...ends.keys()];
  const there = await database.query<{ chain: number }>(
    `/* audit.last-rows */ select chain from audit_events
     where at < $1 and (chain, position) in (select * from unnest($2::int[], $3::bigint[]))`,
    [since, [...ends.keys()], [...ends.values()].map(({ position }) => position)],
  );
  return [...ends.keys()].filter((chain) => !there.some((row) => row.chain === chain));
}

// The hash of a row in SQL, over its place in the chain and every column, as in the trigger that writes it. Not a function
// of the database, since whoever can change rows could change the function too.
const place = 'chain, position, previous_hash, id';
const columns = `kind, call_id, request_id, trace_id, principal, key_id, ip, session_id, run_id, round, model, server, tool,
  name, definition_hash, arguments, result, arguments_digest, result_digest, success, state, error_code, duration_ms,
  queue_wait_ms, attempt, cached, isolation, policy_rule, approval_id, approver, worker`;

/** The older hash, 32 bytes, over the row as text (prisma/migrations/20261128000000_audit_chain). */
const ofText = `sha256(convert_to(row(${place}, extract(epoch from at), ${columns})::text, 'UTF8'))`;
/** A version byte, and the digest of the row in binary form (20261130000200_audit_binary_hash). */
const ofBinary = `'\\x02'::bytea || sha256(record_send(row(${place}, at, ${columns})))`;

const rowHash = `case length(hash) when 33 then ${ofBinary} else ${ofText} end`;
