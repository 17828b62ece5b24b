// Judges past calls by a draft, newest first, and tells what would change: some calls one by one, all of them in sums.
import { type AuditedCall, pastCalls } from '#libs/audit/past-calls.js';
import type { Judgement } from '#libs/policy/judge-past-call.js';
import { Simulation } from '#libs/policy/simulation.js';
import type { Database } from '#libs/postgres/open-database.js';
import type { OpenDraft } from '../../govern/drafts/policy-drafts.js';
import type { Shown } from '../openapi/open-api-shapes.js';
import type { simulationEvent } from '../openapi/policy-shapes.js';

export type SimulationEvent = Shown<typeof simulationEvent>;

export interface SimulationQuery {
  since: Date;
  until: Date;
  /** Its calls are listed too if nothing changes. */
  rule: string | undefined;
}

const maxListed = 500;

/** `take` gets the events of a page at once. @throws AppError invalid_value, store_unavailable; the signal's reason */
export async function simulatePolicy(
  draft: Pick<OpenDraft, 'judge'>,
  database: Pick<Database, 'query'>,
  { since, until, rule, signal }: SimulationQuery & { signal: AbortSignal },
  take: (events: readonly SimulationEvent[]) => Promise<void> | undefined,
): Promise<void> {
  const simulation = new Simulation();
  let calls = 0;
  let listed = 0;
  for await (const page of pastCalls(database, { since, until, newestFirst: true }, signal)) {
    const judgements = await draft.judge(page);
    const events: SimulationEvent[] = [];
    for (const [index, judged] of judgements.entries()) {
      const call = page[index]!;
      simulation.add(call, judged);
      const event = listed < maxListed ? listedCall(call, judged, rule) : undefined;
      if (event === undefined) continue;
      events.push(event);
      listed += 1;
    }
    calls += page.length;
    await take([...events, { type: 'progress', calls, at: page.at(-1)!.at.toISOString() }]);
  }
  const { counts, sums } = simulation;
  const period = { since: since.toISOString(), until: until.toISOString() };
  await take([{ type: 'done', calls, counts, listed, ...sums, ...period }]);
}

function listedCall(call: AuditedCall, judged: Judgement, rule: string | undefined): SimulationEvent | undefined {
  if (judged.kind === 'undecided' || (judged.kind === 'same' && judged.rule !== rule)) return undefined;
  const { id, callId, at, principal, keyId, server, tool } = call;
  const shown = { id, call_id: callId, at: at.toISOString(), principal, key_id: keyId };
  return { type: 'call', ...shown, server: server ?? '', tool: tool ?? '', ...judged };
}
