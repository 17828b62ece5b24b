// The answers of the routes of the audit as zod schemas, as in open-api-shapes.ts.
import { z } from 'zod';
import { named } from './open-api-shapes.js';

const text = z.string();
const count = z.int();
const maybe = text.nullable();
const time = text.meta({ format: 'date-time' });

export const auditRow = named('AuditRow', {
  id: text,
  at: time,
  kind: text,
  call_id: maybe,
  request_id: text,
  trace_id: maybe,
  principal: text,
  key_id: maybe,
  ip: maybe,
  session_id: maybe,
  run_id: maybe,
  round: count.nullable(),
  model: maybe,
  server: maybe,
  tool: maybe,
  name: maybe,
  definition_hash: maybe,
  arguments: maybe.describe('Redacted, and shortened to 16 KiB'),
  result: maybe.describe('Redacted, and shortened to 16 KiB'),
  arguments_digest: maybe.describe('SHA-256 of the complete arguments'),
  result_digest: maybe.describe('SHA-256 of the complete result'),
  success: z.boolean(),
  state: maybe,
  error_code: maybe,
  duration_ms: z.number().nullable(),
  queue_wait_ms: z.number().nullable(),
  attempt: count.nullable(),
  cached: z.boolean().nullable(),
  isolation: maybe,
  policy_rule: maybe,
  approval_id: maybe,
  approver: maybe,
  worker: maybe,
  chain: count.nullable().describe('Null for a row that Signalbox did not write, as are the three that follow'),
  position: count.nullable().describe('Its place in the chain, from 1 on'),
  previous_hash: maybe.describe('Of the row before it in its chain; empty for the first'),
  hash: maybe,
});

const checkpoint = z.object({ number: text, at: time, hash: text });
export const auditVerification = named('AuditVerification', {
  type: z.literal('result'),
  intact: z.boolean(),
  rows: count.describe('How many were read'),
  checkpoints: count.describe('How many were read'),
  signatures: z.enum(['verified', 'unchecked']).describe('`unchecked`: this gateway has no `audit.signing_key`'),
  broken_rows: count.describe('Problems with rows that were found; no more than 10,000 are counted'),
  first_broken: z
    .object({
      id: text,
      at: time,
      chain: count.nullable(),
      position: count.nullable(),
      damage: z
        .enum(['changed', 'removed', 'inserted', 'exchanged', 'cut_off'])
        .describe('`removed` and `cut_off` are about the rows before or after this one'),
      problem: text,
    })
    .nullable(),
  problems: z.array(text).describe('Of checkpoints and of whole chains, at most 20'),
  last_checkpoint: checkpoint.nullable(),
  last_signed_checkpoint: checkpoint.nullable(),
  rows_after_checkpoint: count.describe(
    'How many rows the last signed checkpoint, or without one the last, does not cover',
  ),
});
export const auditProgress = named('AuditProgress', {
  type: z.literal('progress'),
  rows: count.describe('How many have been read'),
  total: count,
  chain: count.nullable().describe('Of the last row that was read'),
});
export const auditProof = named('AuditProof', {
  signalbox_audit_proof: count.describe('The version of this format'),
  signed: z.boolean(),
  row: auditRow,
  content: text.describe('The bytes of what the row says, of which its hash is made (docs/audit.md)'),
  rows_after: z
    .array(text)
    .describe('The SHA-256 of the content of each later row of its chain, up to the checkpoint; at most 10,000'),
  checkpoint: z.object({
    content: text.describe('The text whose SHA-256 is the hash of the checkpoint'),
    signature: maybe.describe('Ed25519 over the hash of the checkpoint; null where no key is set'),
  }),
  public_key: maybe.describe('The key of the signature (SPKI), if it is that of this gateway'),
});
