// Finds the checkpoint up to which a row has to be proved. Positions only grow, so a few checkpoints are looked at.
import type { Database } from '#libs/postgres/open-database.js';
import { type CheckpointRow, type StoredCheckpoint, toCheckpoint } from './stored-checkpoint.js';

export interface CheckpointSource {
  database: Pick<Database, 'call'>;
  chain: number;
  position: bigint;
}

/** The first signed checkpoint that knows the position; the first one if none of those is signed. @throws AppError store_unavailable */
export async function coveringCheckpoint(source: CheckpointSource): Promise<StoredCheckpoint | undefined> {
  const { database } = source;
  const covers = ({ heads }: StoredCheckpoint) => BigInt(heads[source.chain]?.[0] ?? 0) >= source.position;
  const first = await checkpointFrom(database, 0n, 'asc');
  let found = await checkpointFrom(database, 0n, 'desc');
  if (first === undefined || found === undefined || !covers(found)) return undefined;
  let low = first.number;
  while (low < found.number) {
    const middle = await checkpointFrom(database, (low + found.number) / 2n, 'asc');
    if (middle === undefined) break;
    if (!covers(middle)) low = middle.number + 1n;
    else if (middle.number < found.number) found = middle;
    else break;
  }
  const row = await database.call((prisma) =>
    prisma.auditCheckpoint.findFirst({
      where: { number: { gte: found.number }, signature: { not: null } },
      orderBy: { number: 'asc' },
    }),
  );
  return row === null ? found : toCheckpoint(row);
}

/** `asc`: the first of that number or a higher one; `desc`: the last. */
async function checkpointFrom(
  database: CheckpointSource['database'],
  number: bigint,
  order: 'asc' | 'desc',
): Promise<StoredCheckpoint | undefined> {
  const row: CheckpointRow | null = await database.call((prisma) =>
    prisma.auditCheckpoint.findFirst({ where: { number: { gte: number } }, orderBy: { number: order } }),
  );
  return row === null ? undefined : toCheckpoint(row);
}
