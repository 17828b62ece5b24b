// What the hash of an audit row is made of, in PostgreSQL's binary form (`record_send`), as bytes and back. Runs in browsers too:
// imports nothing of Node. Pure.
// https://www.postgresql.org/docs/15/protocol-overview.html#PROTOCOL-FORMAT-CODES

/** The columns that say what a row is about, after `id` and `at`. Their order is that of the hash. */
export const contentColumns = [
  'kind',
  'call_id',
  'request_id',
  'trace_id',
  'principal',
  'key_id',
  'ip',
  'session_id',
  'run_id',
  'round',
  'model',
  'server',
  'tool',
  'name',
  'definition_hash',
  'arguments',
  'result',
  'arguments_digest',
  'result_digest',
  'success',
  'state',
  'error_code',
  'duration_ms',
  'queue_wait_ms',
  'attempt',
  'cached',
  'isolation',
  'policy_rule',
  'approval_id',
  'approver',
  'worker',
] as const;

const contentNames: readonly string[] = ['id', 'at', ...contentColumns];
/** The first byte of hashes that are made in two steps: the digest of the content, and the hash of the place with it. */
const linkedForm = 3;

const types = {
  bool: 16,
  bytea: 17,
  int8: 20,
  int4: 23,
  text: 25,
  float8: 701,
  timestamptz: 1184,
  uuid: 2950,
} as const;
const micros2000 = BigInt(Date.UTC(2000, 0, 1)) * 1_000n;

export type Bytes = Uint8Array<ArrayBuffer>;
export type ContentValue = string | number | boolean | null;

export interface ChainPlace {
  chain: number;
  position: bigint;
  /** Empty for the first row of a chain. */
  previousHash: Bytes;
}

export const isLinked = (hash: Uint8Array): boolean => hash.length === 33 && hash[0] === linkedForm;

/** What SHA-256 makes the hash of a row from, without its first byte. */
export function linkBytes({ chain, position, previousHash }: ChainPlace, contentDigest: Bytes): Bytes {
  const bytes = new Uint8Array(4 + 12 + 16 + 8 + previousHash.length + 8 + contentDigest.length);
  const view = new DataView(bytes.buffer);
  let at = 0;
  const int4 = (value: number) => {
    view.setInt32(at, value);
    at += 4;
  };
  int4(4);
  int4(types.int4);
  int4(4);
  int4(chain);
  int4(types.int8);
  int4(8);
  view.setBigInt64(at, position);
  at += 8;
  for (const part of [previousHash, contentDigest]) {
    int4(types.bytea);
    int4(part.length);
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}

/** The hash of a row, from the digest of `linkBytes`. */
export function linkedHash(digest: Bytes): Bytes {
  const hash = new Uint8Array(1 + digest.length);
  hash[0] = linkedForm;
  hash.set(digest, 1);
  return hash;
}

/** The members of a row as the API shows them; undefined if the bytes are not those of a row. */
export function readRowContent(bytes: Bytes): Record<string, ContentValue> | undefined {
  try {
    return readRecord(bytes);
  } catch (error) {
    // DataView and TextDecoder throw these: the bytes end too early, or are no text.
    if (error instanceof RangeError || error instanceof TypeError) return undefined;
    throw error;
  }
}

function readRecord(bytes: Bytes): Record<string, ContentValue> | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getInt32(0) !== contentNames.length) return undefined;
  const row: Record<string, ContentValue> = {};
  let at = 4;
  for (const name of contentNames) {
    const type = view.getInt32(at);
    const length = view.getInt32(at + 4);
    at += 8;
    if (length < -1) return undefined;
    const value = length === -1 ? null : readValue(type, new DataView(bytes.buffer, bytes.byteOffset + at, length));
    if (value === undefined) return undefined;
    row[name] = value;
    at += Math.max(length, 0);
  }
  return at === bytes.length ? row : undefined;
}

function readValue(type: number, view: DataView<ArrayBuffer>): ContentValue | undefined {
  switch (type) {
    case types.text:
      return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(view);
    case types.bool:
      return view.getInt8(0) === 1;
    case types.int4:
      return view.getInt32(0);
    case types.float8:
      return view.getFloat64(0);
    case types.timestamptz:
      return new Date(Number((view.getBigInt64(0) + micros2000) / 1_000n)).toISOString();
    case types.uuid:
      return toHex(new Uint8Array(view.buffer, view.byteOffset, view.byteLength)).replace(
        /^(.{8})(.{4})(.{4})(.{4})(.{12})$/,
        '$1-$2-$3-$4-$5',
      );
    default:
      return undefined;
  }
}

export const toHex = (bytes: Uint8Array): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** Lower case only; undefined for anything else. */
export function fromHex(text: string): Bytes | undefined {
  if (!/^(?:[\da-f]{2})*$/.test(text)) return undefined;
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => Number.parseInt(text.slice(2 * at, 2 * at + 2), 16));
}
