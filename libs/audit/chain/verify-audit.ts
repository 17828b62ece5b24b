// Reads the audit and reports rows that were changed, removed, inserted, exchanged or cut off, and changed checkpoints.
// Writes nothing. Rows that are written meanwhile are left to the next run.
import type { KeyObject } from 'node:crypto';
import type { Database } from '#libs/postgres/open-database.js';
import { type Break, type ChainEnd, ChainRuns, mostBreaks } from './chain-runs.js';
import { type ChainEnds, checkpointHash, isSignedBy } from './checkpoint.js';
import { ExchangedRows } from './exchanged-rows.js';
import { rowHash } from './row-hash.js';
import { lastCheckpoint, type StoredCheckpoint, toCheckpoint } from './stored-checkpoint.js';

const usualPageRows = 10_000;
const pageCheckpoints = 500;

export interface Verification {
  rows: number;
  checkpoints: number;
  /** The first ones, in the order of time. */
  breaks: Break[];
  /** Problems of checkpoints and of whole chains. */
  problems: string[];
  /** The last checkpoint, for a copy elsewhere that shows later whether it is still there. */
  last?: CheckpointName;
  /** The last one that is signed. */
  lastSigned?: CheckpointName;
  /** How many rows came after the last signed checkpoint, or without a signed one after the last. */
  rowsAfter: number;
}

export interface CheckpointName {
  number: bigint;
  at: Date;
  hash: string;
}

export interface VerifyProgress {
  rows: number;
  /** As many as there were when the reading began. */
  total: number;
  /** The chain of the last row that was read. */
  chain: number | null;
}

export interface VerifyOptions {
  /** Rows before this time are not verified. */
  since?: Date;
  /** Reads at most this many checkpoints, the last ones, and ignores chains without a row since `since`. */
  lastCheckpoints?: number;
  /** If given, every checkpoint after the first signed one must be signed with one of these keys. */
  publicKeys?: readonly KeyObject[];
  /** How many rows are read at once. */
  pageRows?: number;
  /** Called with each page of rows, and waited for. */
  onProgress?: (progress: VerifyProgress) => Promise<void> | void;
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
  const note = (found: Break) => {
    if (breaks.length < mostBreaks) breaks.push(found);
  };
  const exchanged = new ExchangedRows();
  const total = options.onProgress === undefined ? 0 : await countRows(database, heads, before, since);
  for await (const page of readPages(database, since, options.pageRows ?? usualPageRows)) {
    signal?.throwIfAborted();
    for (const { id, at, chain, position, previousHash, hash, isRight } of page) {
      if (chain === null || position === null || hash === null || previousHash === null) {
        const problem = 'has no hash: it was not written by Signalbox';
        note({ id, at, chain: null, position: null, damage: 'inserted', problem });
        continue;
      }
      const row = { id, at, chain, position: Number(position), hash, previousHash };
      if (isRight !== true) {
        note({ ...row, damage: 'changed', problem: 'is not as it was written' });
        exchanged.add(row);
      } else if (expected.get(`${chain} ${position}`)?.some((known) => known !== hash) === true) {
        note({ ...row, damage: 'changed', problem: 'is not the row that was last in its chain' });
      }
      chainOf(chain).add(row);
    }
    rows += page.length;
    await options.onProgress?.({ rows, total: Math.max(rows, total), chain: page.at(-1)?.chain ?? null });
  }
  await exchanged.name(breaks, database);
  const after = lastCheckpoints === undefined ? 0n : (before?.number ?? 0n) - BigInt(lastCheckpoints);
  const { problems, count, last, lastSigned } = await verifyCheckpoints(database, options.publicKeys ?? [], after);
  // Read after the rows, so that rows that retention has dropped meanwhile do not count as missing.
  const starts = endsOf(last?.starts);
  const quiet = new Map<number, ChainEnd>();
  for (const [chain, end] of heads) {
    const start = starts.get(chain) ?? { position: 0, hash: '' };
    const runs = chains.get(chain);
    if (runs !== undefined) runs.finish(since === undefined ? start : undefined, end).forEach(note);
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
    ...(last === undefined ? {} : { last: nameOf(last) }),
    ...(lastSigned === undefined ? {} : { lastSigned: nameOf(lastSigned) }),
    rowsAfter: rowsBetween(endsOf((lastSigned ?? last)?.heads), heads),
  };
}

const nameOf = ({ number, at, hash }: StoredCheckpoint): CheckpointName => ({
  number,
  at,
  hash: Buffer.from(hash).toString('hex'),
});

function rowsBetween(starts: Map<number, ChainEnd>, ends: Map<number, ChainEnd>): number {
  const lengths = [...ends].map(([chain, { position }]) => position - (starts.get(chain)?.position ?? 0));
  return lengths.reduce((sum, length) => sum + Math.max(length, 0), 0);
}

async function countRows(
  database: Database,
  heads: Map<number, ChainEnd>,
  last: StoredCheckpoint | undefined,
  since: Date | undefined,
): Promise<number> {
  if (since === undefined) return rowsBetween(endsOf(last?.starts), heads);
  const statement = '/* audit.count */ select count(*)::int as count from audit_events where at >= $1::timestamptz';
  const [counted] = await database.query<{ count: number }>(statement, [since]);
  return counted!.count;
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

async function* readPages(database: Database, since: Date | undefined, pageRows: number): AsyncGenerator<Row[]> {
  let after: { at: Date | string; id: string } = {
    at: since ?? '-infinity',
    id: '00000000-0000-0000-0000-000000000000',
  };
  for (;;) {
    const { at, id } = after;
    const rows = await database.query<Row>(
      `/* audit.verify */ select id, at, chain, position, encode(previous_hash, 'hex') as "previousHash",
         encode(hash, 'hex') as hash, hash = ${rowHash} as "isRight"
       from audit_events where (at, id) > ($1::timestamptz, $2::uuid) and at >= $1 order by at, id limit $3`,
      [at, id, pageRows],
    );
    yield rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = last;
  }
}

async function verifyCheckpoints(database: Database, keys: readonly KeyObject[], after: bigint) {
  const problems: string[] = [];
  let last: StoredCheckpoint | undefined;
  let lastSigned: StoredCheckpoint | undefined;
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
      if (keys.length > 0 && lastSigned !== undefined && signature === null) problems.push(`${name} is not signed`);
      if (signature !== null) lastSigned = checkpoint;
      count += 1;
      last = checkpoint;
    }
    if (page.length < pageCheckpoints) break;
  }
  if (keys.length > 0 && lastSigned === undefined) problems.push('no checkpoint is signed');
  return { problems, count, last, lastSigned };
}

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
