// Makes the proof of one row: what it says, the digests of the rows after it in its chain up to a checkpoint, and that checkpoint
// with its signature. Of other rows it tells nothing but their digests. Refuses rows that are not as they were written.
import { createHash, type KeyObject } from 'node:crypto';
import { type CheckpointSource, coveringCheckpoint } from '#libs/audit/chain/covering-checkpoint.js';
import { checkpointContent, isSignedBy } from '#libs/audit/chain/checkpoint.js';
import { contentBytes, contentDigest, linkHash } from '#libs/audit/chain/row-hash.js';
import { AuditLog, shownAuditEvent } from '#libs/audit/audit-log.js';
import type { Database } from '#libs/postgres/open-database.js';
import type { AuditEvent } from '#libs/postgres/prisma-client/client.js';
import { AppError } from '#libs/schemas/errors.js';
import { type AuditProof, proofFormat } from './audit-proof.js';
import { isLinked } from './row-content.js';

/** About 700 KB of digests. */
export const mostRowsAfter = 10_000;
/** By how much the clocks of writers may differ. The second time is tried if rows are missing in the first. */
const slacksMs = [60_000, 3_600_000] as const;

export interface ProofOptions {
  /** The public half of the key that signs here. */
  publicKey?: KeyObject | undefined;
  /** Makes a checkpoint if there is something new. */
  checkpoint?: (() => Promise<unknown>) | undefined;
}

type Chained = AuditEvent & { chain: number; position: bigint; previousHash: Uint8Array; hash: Uint8Array };

interface LaterRow {
  id: string;
  position: string;
  digest: Uint8Array;
  hash: string;
}

/** @throws AppError not_found, audit_unprovable, store_unavailable */
export async function proveRow(database: Database, id: string, options: ProofOptions = {}): Promise<AuditProof> {
  const row = chained(await new AuditLog(database).row(id));
  const checkpoint = await coverOf(database, row, options);
  const [end, hash] = checkpoint.heads[row.chain]!;
  const after = Number(BigInt(end) - row.position);
  if (after > mostRowsAfter) {
    throw unprovable(
      `${after} rows of chain ${row.chain} are between this row and the next checkpoint; a proof has at most ${mostRowsAfter}`,
    );
  }
  const content = await contentOf(database, row);
  const later = await laterRows(database, row, { position: BigInt(end), at: checkpoint.at });
  let last = linkHash(row, createHash('sha256').update(content).digest());
  if (last !== hexOf(row.hash)) throw unprovable('This row is not as it was written');
  let { position } = row;
  for (const each of later) {
    position += 1n;
    const wanted = { chain: row.chain, position, previousHash: new Uint8Array(Buffer.from(last, 'hex')) };
    if (BigInt(each.position) !== position) throw missing(row.chain, position);
    last = linkHash(wanted, each.digest);
    if (last !== each.hash) throw unprovable(`Row ${each.id}, which comes after this one in its chain, was changed`);
  }
  if (position < BigInt(end)) throw missing(row.chain, position + 1n);
  if (last !== hash) throw unprovable(`Checkpoint ${checkpoint.number} names another row at the end of the chain`);
  const { signature } = checkpoint;
  const isOwn =
    signature !== null &&
    options.publicKey !== undefined &&
    isSignedBy(checkpoint.hash, signature, [options.publicKey]);
  return {
    signalbox_audit_proof: proofFormat,
    signed: signature !== null,
    row: shownAuditEvent(row),
    content: hexOf(content),
    rows_after: later.map(({ digest }) => hexOf(digest)),
    checkpoint: {
      content: checkpointContent(checkpoint),
      signature: signature === null ? null : hexOf(signature),
    },
    public_key: isOwn ? options.publicKey!.export({ type: 'spki', format: 'der' }).toString('hex') : null,
  };
}

const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const unprovable = (message: string) => new AppError('audit_unprovable', message);
const missing = (chain: number, position: bigint) =>
  unprovable(`The row at position ${position} of chain ${chain}, after this one, is missing`);

function chained(row: AuditEvent): Chained {
  const { chain, position, previousHash, hash } = row;
  if (chain === null || position === null || previousHash === null || hash === null) {
    throw unprovable('This row has no hash: it was not written by Signalbox');
  }
  if (!isLinked(hash)) {
    throw unprovable('This row has a hash of an older form, of which single rows cannot be proved: verify the audit');
  }
  return { ...row, chain, position, previousHash: new Uint8Array(previousHash), hash };
}

async function coverOf(database: Database, row: Chained, { checkpoint, publicKey }: ProofOptions) {
  const place: CheckpointSource = { database, chain: row.chain, position: row.position };
  const found = await coveringCheckpoint(place);
  const isEnough = found !== undefined && (found.signature !== null || publicKey === undefined);
  if (isEnough || checkpoint === undefined) {
    if (found === undefined) throw unprovable('No checkpoint covers this row yet: gateways make one every 30 seconds');
    return found;
  }
  await checkpoint();
  const made = await coveringCheckpoint(place);
  if (made === undefined) throw unprovable('No checkpoint covers this row: rows after it are missing');
  return made;
}

async function contentOf(database: Database, { at, id }: Chained): Promise<Uint8Array> {
  const statement = `/* audit.content */ select ${contentBytes} as content from audit_events where at = $1 and id = $2::uuid`;
  const [found] = await database.query<{ content: Uint8Array }>(statement, [at, id]);
  if (found === undefined) throw unprovable('This row was removed while it was read');
  return found.content;
}

/** The rows after it in the chain, up to the end that the checkpoint knows, in their order. */
async function laterRows(database: Database, row: Chained, end: { position: bigint; at: Date }): Promise<LaterRow[]> {
  let rows: LaterRow[] = [];
  const wanted = Number(end.position - row.position);
  for (const slackMs of slacksMs) {
    if (rows.length >= wanted) break;
    rows = await database.query<LaterRow>(
      `/* audit.rows-after */ select id, position, ${contentDigest} as digest, encode(hash, 'hex') as hash from audit_events
       where at >= $1::timestamptz and at <= $2::timestamptz and chain = $3 and position > $4 and position <= $5
       order by position limit $6`,
      [
        new Date(+row.at - slackMs),
        new Date(+end.at + slackMs),
        row.chain,
        row.position,
        end.position,
        mostRowsAfter + 1,
      ],
    );
  }
  return rows;
}
