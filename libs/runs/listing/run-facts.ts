// What is stored about the rounds and calls of some runs, without what they said.
import type { Database } from '#libs/postgres/open-database.js';
import type { CallState } from '#libs/schemas/tool-outcome.js';
import type { Usage } from '#libs/schemas/usage.js';
import type { TimedCall, TimedRound, TimedWait } from './spent-time.js';

export interface RoundFacts extends TimedRound {
  runId: string;
  provider: string;
  model: string;
  usage: Usage;
}

export interface CallFacts extends TimedCall {
  runId: string;
  name: string;
  server: string;
  tool: string;
  state: CallState;
}

export interface RunFacts {
  rounds: RoundFacts[];
  calls: CallFacts[];
  waits: TimedWait[];
}

const selectRounds = `/* runs.listed-rounds */
  select run_id as "runId", round, provider, model, usage, started_at as "startedAt", created_at as "createdAt"
  from run_rounds where run_id = any($1::text[]) order by run_id, round`;

const selectCalls = `/* runs.listed-calls */
  select run_id as "runId", id, round, kind, name, server, tool, state, planned_at as "plannedAt",
    dispatched_at as "dispatchedAt", ended_at as "endedAt"
  from tool_calls where run_id = any($1::text[]) order by run_id, round, "position"`;

/** What asks a model (kind `sampling`) is the tool's own time. */
const selectWaits = `/* runs.listed-waits */
  select wait.call_id as "callId", call.run_id as "runId", wait.created_at as "createdAt", wait.decided_at as "decidedAt",
    wait.expires_at as "expiresAt"
  from tool_calls call join approvals wait on wait.call_id = call.id
  where call.run_id = any($1::text[]) and wait.kind <> 'sampling'`;

/** The facts of each run, by its id. @throws AppError store_unavailable */
export async function factsOf(
  database: Pick<Database, 'query'>,
  ids: readonly string[],
): Promise<Map<string, RunFacts>> {
  const facts = new Map(ids.map((id): [string, RunFacts] => [id, { rounds: [], calls: [], waits: [] }]));
  if (ids.length === 0) return facts;
  const [rounds, calls, waits] = await Promise.all([
    database.query<RoundFacts>(selectRounds, [ids]),
    database.query<CallFacts>(selectCalls, [ids]),
    database.query<TimedWait & { runId: string }>(selectWaits, [ids]),
  ]);
  for (const round of rounds) facts.get(round.runId)?.rounds.push(round);
  for (const call of calls) facts.get(call.runId)?.calls.push(call);
  for (const wait of waits) facts.get(wait.runId)?.waits.push(wait);
  return facts;
}
