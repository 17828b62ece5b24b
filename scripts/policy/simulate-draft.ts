// `signalbox policy simulate`: a draft of the policy over the calls of the audit. Changes nothing.
import { readFileSync } from 'node:fs';
import { type AuditedCall, pastCalls } from '#libs/audit/past-calls.js';
import { configSource } from '#libs/config/load-config.js';
import { readConfig } from '#libs/config/read-config.js';
import { CompiledPolicy } from '#libs/policy/compile-policy.js';
import { type Judgement, judgePastCall } from '#libs/policy/judge-past-call.js';
import { Simulation } from '#libs/policy/simulation.js';
import { readArguments, UsageError } from '../cli/usage-error.js';
import { withStore } from '../with-store.js';
import { policyStore, readKnownTools } from './known-tools.js';

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
  const simulation = new Simulation();
  await withStore(config, policyStore, async (database) => {
    const toolOf = await readKnownTools(database);
    const show = (call: AuditedCall) => {
      const judged = judgePastCall(policy, call, toolOf);
      simulation.add(call, judged);
      if (judged.kind !== 'same' && judged.kind !== 'undecided') tell(lineOf(call, judged, values.json));
    };
    for await (const page of pastCalls(database, { since })) page.forEach(show);
  });
  const { counts } = simulation;
  tell(
    values.json
      ? JSON.stringify({ counts })
      : `${counts.changed} calls would be decided differently, ${counts.unknown} cannot be judged, ` +
          `${counts.same} would stay the same, ${counts.undecided} were never decided.`,
  );
}

function lineOf(
  { callId, at, principal, server, tool }: AuditedCall,
  judged: Extract<Judgement, { kind: 'changed' | 'unknown' }>,
  asJson: boolean,
): string {
  if (asJson) return JSON.stringify({ call_id: callId, at, principal, server, tool, ...judged });
  const what =
    judged.kind === 'unknown'
      ? `cannot be judged: ${judged.because}`
      : `${judged.was} → ${judged.now} (${judged.rule})`;
  return `${at.toISOString()}  ${callId}  ${principal}  ${server}/${tool}  ${what}`;
}

function readDuration(text: string): number {
  const [, amount, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? [];
  if (amount === undefined || unit === undefined)
    throw new UsageError('--since must be a time such as 30m, 12h or 7d', 'policy');
  return Number(amount) * units[unit]!;
}
