import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { afterEach, beforeEach, describe, expect } from 'vitest';
import { AuditKeeper } from '#libs/audit/chain/audit-keeper.js';
import { type AuditedDatabase, openAuditedDatabase } from '../../../test/support/audited-database.js';
import { verifies } from '../../../test/verifies.js';
import type { AuditProof } from './audit-proof.js';
import { checkProof, NoPublicKey } from './check-proof.js';
import { mostRowsAfter, type ProofOptions, proveRow } from './prove-row.js';

let audited: AuditedDatabase;
beforeEach(async () => {
  audited = await openAuditedDatabase();
});
afterEach(() => audited.close());

const keyPair = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  return { privateKey, publicKey, pem: publicKey.export({ type: 'spki', format: 'pem' }) as string };
};
const keeper = (key?: KeyObject) =>
  new AuditKeeper({
    database: audited.database,
    connection: { url: audited.url, timeoutMs: 5_000, applicationName: 'test' },
    key,
    logger: { warn: () => undefined, info: () => undefined, error: () => undefined },
  });
const prove = (id: string, options?: ProofOptions) => proveRow(audited.database, id, options);
const check = (proof: AuditProof, ...keys: string[]) => checkProof(JSON.stringify(proof), keys);
const members = {
  server: 'files',
  tool: 'write',
  arguments: '{"path":"Umlaut ä, 😀"}',
  result: '\ufeffok \u202e<script>',
  durationMs: 0.1,
  queueWaitMs: 0,
  round: 2,
  cached: false,
};

verifies('audit.proof', 'of rows at the start, in the middle and at the end of a chain', async () => {
  const { privateKey, publicKey, pem } = keyPair();
  const ids = await audited.write(5, members);
  await keeper(privateKey).checkpoint();
  for (const [at, id] of ids.entries()) {
    const proof = await prove(id, { publicKey });
    expect(proof).toMatchObject({ signed: true, row: { id, position: at + 1, tool: 'write' } });
    const checked = await check(proof, pem);
    expect(checked).toMatchObject({
      proven: { row: { id, tool: 'write', result: members.result, duration_ms: 0.1 }, rowsAfter: 4 - at },
    });
    expect(checked).toMatchObject({ proven: { signature: 'given', checkpoint: { number: '1' } } });
    expect(await check(proof)).toMatchObject({ proven: { signature: 'own' } });
  }
});

verifies('audit.proof', 'tells nothing of other rows', async () => {
  const [id] = await audited.write(1, members);
  await audited.write(3, { ...members, principal: 'somebody-else', arguments: 'of-somebody-else' });
  await keeper().checkpoint();
  const text = JSON.stringify(await prove(id!));
  expect(text).not.toContain('somebody-else');
  expect(text).not.toContain(Buffer.from('somebody-else').toString('hex'));
});

verifies('audit.proof', 'without a key it is only consistent, and says so', async () => {
  const [id] = await audited.write(1);
  await keeper().checkpoint();
  const proof = await prove(id!);
  expect(proof).toMatchObject({ signed: false, public_key: null, checkpoint: { signature: null } });
  expect(await check(proof)).toMatchObject({ proven: { signature: 'none' } });
  expect(await check(proof, keyPair().pem)).toEqual({ fault: 'unsigned' });
  await expect(check(proof, 'no key')).rejects.toThrow(NoPublicKey);
});

verifies('audit.proof', 'of a row of before and of after a change of the key', async () => {
  const [older, newer] = [keyPair(), keyPair()];
  const [before] = await audited.write(1);
  await keeper(older.privateKey).checkpoint();
  const [after] = await audited.write(1);
  await keeper(newer.privateKey).checkpoint();
  const options = { publicKey: newer.publicKey };
  const first = await prove(before!, options);
  // The gateway does not have the old key any more.
  expect(first.public_key).toBeNull();
  expect(await check(first)).toMatchObject({ proven: { signature: 'unchecked' } });
  expect(await check(first, older.pem)).toMatchObject({ proven: { signature: 'given' } });
  expect(await check(first, newer.pem)).toEqual({ fault: 'signature' });
  expect(await check(first, newer.pem, older.pem)).toMatchObject({ proven: { signature: 'given' } });
  const second = await prove(after!, options);
  expect(await check(second)).toMatchObject({ proven: { signature: 'own', checkpoint: { number: '2' } } });
});

verifies('audit.proof', 'a checkpoint is made for a row that none covers yet', async () => {
  const { privateKey, publicKey, pem } = keyPair();
  await audited.write(1);
  const kept = keeper(privateKey);
  await kept.checkpoint();
  const [id] = await audited.write(1);
  await expect(prove(id!, { publicKey })).rejects.toMatchObject({ code: 'audit_unprovable' });
  const proof = await prove(id!, { publicKey, checkpoint: () => kept.checkpoint() });
  expect(await check(proof, pem)).toMatchObject({ proven: { checkpoint: { number: '2' } } });
});

verifies('audit.proof', 'finds the next checkpoint among many', async () => {
  const { privateKey, publicKey, pem } = keyPair();
  const kept = keeper(privateKey);
  const ids: string[] = [];
  for (let made = 0; made < 20; made += 1) {
    ids.push(...(await audited.write(2)));
    await kept.checkpoint();
  }
  for (const [at, id] of ids.entries()) {
    const number = String(Math.floor(at / 2) + 1);
    expect(await check(await prove(id, { publicKey }), pem)).toMatchObject({ proven: { checkpoint: { number } } });
  }
});

verifies('audit.proof', 'one changed character fails, wherever it is', async () => {
  const { privateKey, publicKey, pem } = keyPair();
  const [id] = await audited.write(4, members);
  await keeper(privateKey).checkpoint();
  const proof = await prove(id!, { publicKey });
  const text = JSON.stringify(proof);
  const others = (from: number) => (text[from] === '1' ? '2' : '1');
  let tried = 0;
  for (let at = 0; at < text.length; at += 7) {
    const changed = text.slice(0, at) + others(at) + text.slice(at + 1);
    const result = await checkProof(changed, [pem]);
    // The key in the file says nothing to somebody who has another one.
    if (text.indexOf('"public_key"') <= at) continue;
    tried += 1;
    expect(result, `at ${at}: ${text.slice(at - 20, at + 20)}`).toHaveProperty('fault');
  }
  expect(tried).toBeGreaterThan(200);
});

describe('a row that is not as it was written has no proof', () => {
  const faults: Record<string, [statement: string, problem: RegExp]> = {
    changed: [`update audit_events set result = 'x' where id = $1`, /This row is not as it was written/],
    'changed later': [
      `update audit_events set result = 'x' where position = 4 and id <> $1`,
      /comes after this one .* was changed/,
    ],
    'removed later': ['delete from audit_events where position = 4 and id <> $1', /position 4 of chain 1.* is missing/],
    'cut off': ['delete from audit_events where position > 3 and id <> $1', /position 4 of chain 1.* is missing/],
    exchanged: [
      `update audit_events a set position = b.position, hash = b.hash, previous_hash = b.previous_hash from audit_events b
       where $1 <> gen_random_uuid() and a.position in (2, 4) and b.position in (2, 4) and a.id <> b.id`,
      /not as it was written/,
    ],
    'written anew with its hash': [
      `update audit_checkpoints set heads = '{"1":["6","00"]}' where $1 <> gen_random_uuid()`,
      /Checkpoint 1 names another row/,
    ],
    'without a hash': [`update audit_events set hash = null where id = $1`, /no hash/],
    'of an older form': [`update audit_events set hash = sha256('x') where id = $1`, /older form/],
  };
  for (const [name, [statement, problem]] of Object.entries(faults)) {
    verifies('audit.proof', name, async () => {
      const ids = await audited.write(6, members);
      await keeper().checkpoint();
      await audited.sql(statement, ids[1]);
      await expect(prove(ids[1]!)).rejects.toMatchObject({
        code: 'audit_unprovable',
        message: expect.stringMatching(problem) as unknown,
      });
    });
  }

  verifies('audit.proof', 'unknown, or followed by too many rows', async () => {
    await expect(prove('01a223f1-70ae-73dd-adb8-c0edddc7175f')).rejects.toMatchObject({ code: 'not_found' });
    await expect(prove('x')).rejects.toMatchObject({ code: 'not_found' });
    const [id] = await audited.write(1);
    for (let rows = 0; rows <= mostRowsAfter; rows += 1_000) await audited.write(1_000);
    await keeper().checkpoint();
    await expect(prove(id!)).rejects.toMatchObject({
      code: 'audit_unprovable',
      message: expect.stringContaining('a proof has at most 10000') as unknown,
    });
  });
});

verifies('audit.proof', 'what is no proof is none', async () => {
  for (const text of ['', 'null', '[]', '{}', '{"signalbox_audit_proof":2}', '{"signalbox_audit_proof":1,"row":{}}']) {
    expect(await checkProof(text)).toEqual({ fault: 'format' });
  }
});
