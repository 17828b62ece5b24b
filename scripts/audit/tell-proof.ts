// Checks the file of a proof, and says what it proves and what it does not. Needs no database and no configuration.
import { readFileSync, statSync } from 'node:fs';
import { checkProof, longestProof, NoPublicKey } from '#libs/audit/proof/check-proof.js';
import type { ProofFault, ProvenRow, SignatureCheck } from '#libs/audit/proof/audit-proof.js';
import { UsageError } from '../cli/usage-error.js';

const faults: Readonly<Record<ProofFault, string>> = {
  format: 'the file is no proof of a row, or one of a newer version',
  row: 'the row is not the one whose hash is in the file',
  chain: 'the row does not lead to the end of its chain in the checkpoint',
  signature: 'the signature of the checkpoint is not valid by this key',
  unsigned: 'the checkpoint is not signed, so no key proves it',
};

const signatures: Readonly<Record<SignatureCheck, string>> = {
  given:
    'the signature is valid by the key that was given: whoever has that key had this row in the audit, as it is here',
  own:
    'the signature is valid by the key in the file, which anybody could have put there: compare its id, or give the public key with ' +
    '--public-key',
  unchecked: 'the signature was not checked, because the file has no key for it: give the public key with --public-key',
  unsupported: 'the signature was not checked: this Node.js has no Ed25519',
  none: 'the checkpoint is not signed: the file is consistent, and that is all; whoever can write to the database could have made it',
};

/** Sets the exit code to 1 if the proof does not hold. @throws UsageError */
export async function tellProof([path, ...more]: string[], publicKeyPaths: readonly string[]): Promise<void> {
  if (path === undefined || more.length > 0) throw new UsageError('prove wants one file', 'audit');
  const check = await checked(readText(path), publicKeyPaths.map(readText));
  if ('fault' in check) {
    console.log(`not proved: ${faults[check.fault]}`);
    process.exitCode = 1;
    return;
  }
  tell(check.proven);
}

async function checked(text: string, publicKeys: readonly string[]) {
  try {
    return await checkProof(text, publicKeys);
  } catch (error) {
    throw error instanceof NoPublicKey ? new UsageError('--public-key must be a public Ed25519 key in PEM') : error;
  }
}

function tell({ row, chain, position, rowsAfter, checkpoint, signature, keyId }: ProvenRow): void {
  const subject = [row['server'], row['tool'] ?? row['name']].filter(Boolean).join('/');
  const state = row['state'] ?? (row['success'] === true ? 'success' : 'failure');
  const proved =
    signature === 'given' ? 'proved' : signature === 'own' ? 'proved by the key in the file' : 'consistent';
  // A text of the row must not be able to write to the terminal what we would write.
  console.log(`${proved}: row ${row['id']} of ${row['at']}`);
  console.log(JSON.stringify([row['kind'], subject, row['principal'], state]));
  console.log(`position ${position} of chain ${chain}, ${rowsAfter} rows before the end of the checkpoint`);
  console.log(`checkpoint ${checkpoint.number} ${checkpoint.hash} of ${checkpoint.at}`);
  if (keyId !== undefined) console.log(`key ${keyId}`);
  console.log(signatures[signature]);
}

function readText(path: string): string {
  try {
    if (statSync(path).size > longestProof) throw new UsageError(`${path} is too large to be a proof or a key`);
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${path} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
  }
}
