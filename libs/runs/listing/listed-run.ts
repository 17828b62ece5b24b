// A run as the list shows it, from its row and the facts of its rounds and calls. Pure.
import { isJsonObject, type JsonObject } from '#libs/schemas/json.js';
import type { StopCause } from '#libs/schemas/turn-event.js';
import { addUsage, noUsage, type Usage } from '#libs/schemas/usage.js';
import type { Prices } from '#libs/usage/prices.js';
import type { ShownRunState } from './run-filter.js';
import type { RunFacts } from './run-facts.js';
import type { RunRow } from './run-listing.js';
import { spentByRun, type SpentTime } from './spent-time.js';

export type PriceOf = Pick<Prices, 'nanoUsdOf'>;

export interface RunSummary {
  id: string;
  state: ShownRunState;
  created_at: string;
  duration_ms: number;
  model: string | null;
  principal: string;
  session_id: string | null;
  rounds: number;
  calls: number;
  tools: string[];
  usage: Usage;
  cost_usd: number | null;
  stopped_by: StopCause | null;
  replay_of: string | null;
  error?: { code: string; message: string; type: string };
  spent_ms: SpentTime;
}

export function summaryOf(run: RunRow, { rounds, calls, waits }: RunFacts, prices: PriceOf): RunSummary {
  const answered = rounds.at(-1);
  const ofRounds = rounds.reduce((sum, { usage }) => addUsage(sum, usage), noUsage);
  return {
    id: run.id,
    state: shownState(run.state, calls),
    created_at: run.createdAt.toISOString(),
    duration_ms: Math.max(0, +(run.endedAt ?? run.now) - +run.createdAt),
    model: run.model ?? (answered === undefined ? null : `${answered.provider}/${answered.model}`),
    principal: run.principal,
    session_id: run.sessionId,
    rounds: rounds.length,
    calls: calls.length,
    tools: [...new Set(calls.map(({ server, tool, name }) => (server === '' ? name : `${server}/${tool}`)))],
    // The row has the sum only once the run is done.
    usage: run.usage.total_tokens > 0 ? run.usage : ofRounds,
    cost_usd: costOf(rounds, prices),
    stopped_by: run.stoppedBy as StopCause | null,
    replay_of: run.replayOf,
    ...(run.error === null ? {} : { error: shownError(run.error) }),
    // No tool is called for a replay.
    spent_ms: spentByRun(run, rounds, run.replayOf === null ? calls : [], waits),
  };
}

/** A run that has not ended waits while one of its calls is parked. A run that gave its caller a request for an approval has ended. */
export const shownState = (state: string, calls: readonly { state: string }[]): ShownRunState =>
  (state === 'running' || state === 'interrupted') && calls.some((call) => call.state === 'parked')
    ? 'waiting'
    : (state as ShownRunState);

/** In dollars, by the prices of today; null if a model has no price. */
export function costOf(
  rounds: readonly { provider: string; model: string; usage: Usage }[],
  prices: PriceOf,
): number | null {
  let nanoUsd = 0;
  for (const { provider, model, usage } of rounds) {
    const cost = prices.nanoUsdOf(provider, model, usage);
    if (cost === undefined) return null;
    nanoUsd += cost;
  }
  return nanoUsd / 1e9;
}

function shownError(error: JsonObject): RunSummary['error'] & object {
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  const shown = isJsonObject(error) ? error : {};
  return { code: text(shown['code']), message: text(shown['message']), type: text(shown['type']) };
}
