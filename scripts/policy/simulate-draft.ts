// `signalbox policy simulate`: a draft of the policy over the calls of the audit. Changes nothing.
import { readFileSync } from 'node:fs';
import { configSource } from '#libs/config/load-config.js';
import { readConfig } from '#libs/config/read-config.js';
import type { Database } from '#libs/postgres/open-database.js';
import { CompiledPolicy } from '#libs/policy/compile-policy.js';
import { judgePastCall } from '#libs/policy/judge-past-call.js';
import { readArguments, UsageError } from '../cli/usage-error.js';
import { withStore } from '../with-store.js';
import { policyStore, readKnownTools } from './known-tools.js';

const pageRows = 500;
const units: Record<string, number> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Tells line by line each call that would be treated otherwise or cannot be judged, then the counts. @throws UsageError, ConfigError, AppError */
export async function simulateDraft(options: string[], tell: (line: string) => void): Promise<void> {
  const { values } = readArguments('policy', {
    args: options,
    options: {
      file: { type: 'string' },
      since: { type: 'string', default: '7d' },
      json: { type: 'boolean', default: false },
    },
  });
  if (values.file === undefined) throw new UsageError('--file is missing: it names the draft policy', 'policy');
  const since = new Date(Date.now() - readDuration(values.since));
  const readPolicyFile = (path: string) => readFileSync(path, 'utf8');
  const config = readConfig({ ...configSource(), policyDraft: values.file, readPolicyFile });
  const policy = new CompiledPolicy(config);
  const counts = { same: 0, undecided: 0, changed: 0, unknown: 0 };
  await withStore(config, policyStore, async (database) => {
    const toolOf = await readKnownTools(database);
    for await (const call of pastCalls(database, since)) {
      const judged = judgePastCall(policy, call, toolOf);
      counts[judged.kind] += 1;
      if (judged.kind === 'same' || judged.kind === 'undecided') continue;
      const { callId, at, principal, server, tool } = call;
      if (values.json) tell(JSON.stringify({ call_id: callId, at, principal, server, tool, ...judged }));
      else {
        const what =
          judged.kind === 'unknown'
            ? `cannot be judged: ${judged.because}`
            : `${judged.was} → ${judged.now} (${judged.rule})`;
        tell(`${at.toISOString()}  ${callId}  ${principal}  ${server}/${tool}  ${what}`);
      }
    }
  });
  tell(
    values.json
      ? JSON.stringify({ counts })
      : `${counts.changed} calls would be decided differently, ${counts.unknown} cannot be judged, ` +
          `${counts.same} would stay the same, ${counts.undecided} were never decided.`,
  );
}

function readDuration(text: string): number {
  const [, amount, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (amount === undefined || unit === undefined)
    throw new UsageError('--since must be a time such as 30m, 12h or 7d', 'policy');
  return Number(amount) * units[unit]!;
}

async function* pastCalls(database: Database, since: Date) {
  let after: { cursor: { at_id: { at: Date; id: string } }; skip: number } | undefined;
  for (;;) {
    const from = after;
    const rows = await database.call((prisma) =>
      prisma.auditEvent.findMany({
        where: { kind: 'tool_call', at: { gte: since } },
        orderBy: [{ at: 'asc' }, { id: 'asc' }],
        take: pageRows,
        ...(from as object),
      }),
    );
    yield* rows;
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = { cursor: { at_id: { at: last.at, id: last.id } }, skip: 1 };
  }
}
