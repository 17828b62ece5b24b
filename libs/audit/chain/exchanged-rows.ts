// Tells rows whose places were exchanged from rows that were changed: the content of one has the hash that stands at the other.
import type { Database } from '#libs/postgres/open-database.js';
import type { Break, ChainedRow } from './chain-runs.js';
import { contentDigest, linkHash } from './row-hash.js';

interface WrongRow extends ChainedRow {
  chain: number;
}

/** Every one is compared with every other. */
const mostRows = 100;

const selectDigests = `/* audit.digests */ select id, ${contentDigest} as digest
  from audit_events join unnest($1::timestamptz[], $2::uuid[]) as wrong (at, id) using (at, id)`;

export class ExchangedRows {
  private readonly rows: WrongRow[] = [];

  add(row: WrongRow): void {
    if (this.rows.length < mostRows) this.rows.push(row);
  }

  /** Rewrites the breaks of rows that stand in each other's places. @throws AppError store_unavailable */
  async name(breaks: Break[], database: Pick<Database, 'query'>): Promise<void> {
    if (this.rows.length < 2) return;
    const contents = await database.query<{ id: string; digest: Uint8Array }>(selectDigests, [
      this.rows.map(({ at }) => at),
      this.rows.map(({ id }) => id),
    ]);
    for (const row of this.rows) {
      const other = contents.find(({ id, digest }) => id !== row.id && linkHash(placeOf(row), digest) === row.hash);
      const found = other === undefined ? undefined : breaks.find(({ id }) => id === row.id);
      if (found === undefined) continue;
      found.damage = 'exchanged';
      found.problem = `stands in the place of row ${other!.id}`;
    }
  }
}

const placeOf = ({ chain, position, previousHash }: WrongRow) => ({
  chain,
  position: BigInt(position),
  previousHash: new Uint8Array(Buffer.from(previousHash, 'hex')),
});
