// Checkpoints as the database has them.
import type { Database } from '#libs/postgres/open-database.js';
import type { ChainEnds, Checkpoint } from './checkpoint.js';

export interface StoredCheckpoint extends Checkpoint {
  hash: Uint8Array;
  signature: Uint8Array | null;
}

export type CheckpointRow = Omit<StoredCheckpoint, 'heads' | 'starts'> & { heads: unknown; starts: unknown };

export const toCheckpoint = ({ heads, starts, ...row }: CheckpointRow): StoredCheckpoint => ({
  ...row,
  heads: heads as ChainEnds,
  starts: starts as ChainEnds,
});

/** @throws AppError store_unavailable */
export async function lastCheckpoint(database: Database): Promise<StoredCheckpoint | undefined> {
  const row = await database.call((prisma) => prisma.auditCheckpoint.findFirst({ orderBy: { number: 'desc' } }));
  return row === null ? undefined : toCheckpoint(row);
}
