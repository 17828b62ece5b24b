// Verifies the audit, and streams how far it is. Reads small pages, so that neither this process nor the database is held up: chats go on
// meanwhile.
import type { FastifyReply } from 'fastify';
import {
  type CheckpointName,
  type Verification,
  verifyAudit,
  type VerifyOptions,
} from '#libs/audit/chain/verify-audit.js';
import type { Database } from '#libs/postgres/open-database.js';
import type { auditProgress, auditVerification } from '../openapi/audit-shapes.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import { type ReportOptions, streamReport } from '../turns/stream-report.js';

export interface VerificationOptions extends ReportOptions, Pick<VerifyOptions, 'since'> {
  publicKeys: NonNullable<VerifyOptions['publicKeys']>;
}

const pageRows = 1_000;
/** Reading some rows takes a few milliseconds, so not every page is told. */
const toldMs = 200;
const mostProblems = 20;

export function streamVerification(
  reply: FastifyReply,
  database: Database,
  { since, publicKeys, ...options }: VerificationOptions,
): Promise<void> {
  return streamReport(reply, options, async (tell) => {
    let told = -Infinity;
    const result = await verifyAudit(database, {
      ...(since === undefined ? {} : { since }),
      publicKeys,
      signal: options.signal,
      pageRows,
      onProgress: async (progress) => {
        if (performance.now() - told < toldMs) return;
        told = performance.now();
        await tell([{ type: 'progress', ...progress } satisfies Shown<typeof auditProgress>]);
      },
    });
    await tell([shownVerification(result, publicKeys.length > 0)]);
  });
}

function shownVerification(result: Verification, hasKey: boolean): Shown<typeof auditVerification> {
  const { rows, checkpoints, breaks, problems } = result;
  const [first] = breaks;
  return {
    type: 'result',
    intact: breaks.length === 0 && problems.length === 0,
    rows,
    checkpoints,
    signatures: hasKey ? 'verified' : 'unchecked',
    broken_rows: breaks.length,
    first_broken:
      first === undefined
        ? null
        : {
            id: first.id,
            at: first.at.toISOString(),
            chain: first.chain,
            position: first.position,
            damage: first.damage,
            problem: first.problem,
          },
    problems: problems.slice(0, mostProblems),
    last_checkpoint: shownCheckpoint(result.last),
    last_signed_checkpoint: shownCheckpoint(result.lastSigned),
    rows_after_checkpoint: result.rowsAfter,
  };
}

const shownCheckpoint = (checkpoint: CheckpointName | undefined) =>
  checkpoint === undefined
    ? null
    : { number: String(checkpoint.number), at: checkpoint.at.toISOString(), hash: checkpoint.hash };
