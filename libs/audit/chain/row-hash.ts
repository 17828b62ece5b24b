// The hash of a row in SQL, over its place in the chain and every column, as in the trigger that writes it. Not a function of the
// database, since whoever can change rows could change the function too.
import { createHash } from 'node:crypto';
import { type ChainPlace, contentColumns, linkBytes, linkedHash } from '#libs/audit/proof/row-content.js';

const columns = contentColumns.join(', ');
const place = 'chain, position, previous_hash';

/** The bytes of what a row says. */
export const contentBytes = `record_send(row(id, at, ${columns}))`;
export const contentDigest = `sha256(${contentBytes})`;

/** The older hashes: 32 bytes, over the row as text (prisma/migrations/20261128000000_audit_chain). */
const ofText = `sha256(convert_to(row(${place}, id, extract(epoch from at), ${columns})::text, 'UTF8'))`;
/** A version byte, and the digest of the row in binary form (20261130000200_audit_binary_hash). */
const ofBinary = `'\\x02'::bytea || sha256(record_send(row(${place}, id, at, ${columns})))`;
/** A version byte, and the digest of the place with the digest of the content (20261205000000_audit_links). */
const ofLink = `'\\x03'::bytea || sha256(record_send(row(${place}, ${contentDigest})))`;

const isLink = `length(hash) = 33 and substring(hash from 1 for 1) = '\\x03'::bytea`;
export const rowHash = `case when ${isLink} then ${ofLink} when length(hash) = 33 then ${ofBinary} else ${ofText} end`;

/** The hash of a row of the newest form, in hexadecimal digits. */
export function linkHash(at: ChainPlace, digest: Uint8Array): string {
  const bytes = createHash('sha256')
    .update(linkBytes(at, new Uint8Array(digest)))
    .digest();
  return Buffer.from(linkedHash(new Uint8Array(bytes))).toString('hex');
}
