// The file that proves one row of the audit. Bytes are in hexadecimal digits. Runs in browsers too. Pure.
import type { ContentValue } from './row-content.js';

export const proofFormat = 1;

export interface AuditProof {
  /** The version of this format. */
  signalbox_audit_proof: number;
  signed: boolean;
  /** As `GET /api/audit/{id}` shows it: for readers, and compared with `content`. */
  row: Record<string, unknown>;
  /** The bytes of what the row says, of which its hash is made. */
  content: string;
  /** The SHA-256 of the content of each later row of its chain, up to the checkpoint. */
  rows_after: string[];
  checkpoint: {
    /** The text whose SHA-256 is the hash of the checkpoint: number, time, ends of all chains, starts, dropped month, hash before. */
    content: string;
    /** Ed25519 over the hash of the checkpoint. */
    signature: string | null;
  };
  /** The key of the signature (SPKI), if it is that of the gateway that made the proof. */
  public_key: string | null;
}

/** What is wrong with a proof. */
export type ProofFault =
  /** It is no proof, or one of a newer version. */
  | 'format'
  /** `row` says something else than the bytes that are hashed. */
  | 'row'
  /** The row and those after it do not lead to the end of the chain in the checkpoint. */
  | 'chain'
  | 'signature'
  /** A key was given, and the checkpoint has no signature. */
  | 'unsigned';

/**
 * `given`: valid, by a key that was given. `own`: valid, by the key in the file, which anybody could have put there. `unchecked`: there is
 * no key to check it by. `unsupported`: this browser has no Ed25519.
 */
export type SignatureCheck = 'given' | 'own' | 'unchecked' | 'unsupported' | 'none';

export interface ProvenRow {
  row: Record<string, ContentValue>;
  chain: number;
  position: number;
  rowsAfter: number;
  checkpoint: { number: string; at: string; hash: string };
  signature: SignatureCheck;
  /** The key by which the signature is valid, as the SHA-256 of its SPKI form. */
  keyId?: string;
}

export type ProofCheck = { proven: ProvenRow } | { fault: ProofFault };
