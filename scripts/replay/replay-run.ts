// A stored turn once more: the same request and tools to a model, with the results that the tools gave then.
import type { Channels } from '#libs/backing/channels.js';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Config } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import type { Database } from '#libs/postgres/open-database.js';
import { Toolsets } from '#libs/policy/toolset.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { PostgresRunStore } from '#libs/runs/postgres-run-store.js';
import type { PlannedCall, StoredCall, StoredRound, StoredRun } from '#libs/runs/run-store.js';
import { PostgresSessionStore } from '#libs/runs/sessions/postgres-session-store.js';
import { StoreWrites } from '#libs/runs/store-writes.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRunId } from '#libs/schemas/identifiers.js';
import type { ReplayedCall } from '#libs/schemas/tool-outcome.js';
import { runTurn } from '../../apps/gateway/turn/loop.js';
import type { NewRound, Turn } from '../../apps/gateway/turn/turn.js';
import { TurnState } from '../../apps/gateway/turn/turn-state.js';
import { RecordedCalls } from '../../apps/gateway/turn/replay/recorded-calls.js';
import {
  recordedRounds,
  replayedOffer,
  replayedRequest,
  replayPorts,
  replayRecord,
} from '../../apps/gateway/turn/replay/replayed-turn.js';
import { OfflineProvider } from '../../apps/gateway/models/offline/offline-provider.js';
import { ModelCallMeasure } from '../../apps/gateway/models/routing/measure-model-calls.js';
import { createModelRouter } from '../../apps/gateway/models/routing/model-router.js';
import { argumentBounds, CompiledArgumentValidator } from '../../apps/gateway/tools/compiled-argument-validator.js';
import { MemoryToolCatalog } from '../../apps/gateway/tools/memory-tool-catalog.js';
import { ToolsetCatalog } from '../../apps/gateway/tools/toolset-catalog.js';

export interface ShownCall {
  name: string;
  arguments: string;
  state: string;
  /** Of a replayed call. */
  result?: ReplayedCall['result'];
}

export interface ShownRound {
  round: number;
  model: string;
  text: string;
  calls: ShownCall[];
  finish_reason: string;
  tokens: number;
}

export interface Replay {
  run: string;
  recorded: ShownRound[];
  replayed: ShownRound[];
  /** The replayed turn asked for the same calls in the same order. */
  same_calls: boolean;
}

/**
 * @param model another model than the run's, by the name that a request would give
 * @throws AppError run_not_found, model_not_found, and what the model fails with
 */
export async function replayRun(runId: string, config: Config, options: ReplayOptions): Promise<Replay> {
  const { database, model } = options;
  const writes = new StoreWrites(database, { audit: false });
  const sessions = new PostgresSessionStore(database, { idleTtlMs: config.workspaces.idle_ttl_ms, writes });
  const runs = new PostgresRunStore(database, { idempotencyTtlMs: config.runs.idempotency_ttl_ms, writes, sessions });
  const run = await findRun(database, runs, runId);
  const recorded = await recordedRounds(run, runs);
  const calls = new RecordedCalls(recorded.flatMap((round) => round.calls));
  const request = await replayedRequest(run, { model }, runs);
  const models = openModels(config);
  try {
    const servers = new MemoryToolCatalog(new PostgresCatalogStore(database), {} as Channels, silentLogger);
    await servers.refresh();
    const catalog = new ToolsetCatalog(servers, new Toolsets(config.toolsets));
    const { limits, tools } = config;
    const deadline = new Deadline(steadyNow() + limits.turn_ms);
    const maxRounds = Math.min(request.maxToolRounds ?? Infinity, limits.rounds);
    const offering = { original: run, view: catalog, whole: catalog, settings: config };
    const turn: Turn = {
      runId: mintRunId(),
      sessionId: run.sessionId ?? '',
      request,
      context: { principal: run.principal, requestId: run.requestId, signal: options.signal, deadline },
      route: models.resolve(request.model),
      offer: await replayedOffer(request, { ...offering, recorded }, runs),
      state: new TurnState([...request.messages], limits, maxRounds, deadline),
      announce: true,
      open: [],
    };
    const replayed: { round: NewRound; calls: PlannedCall[] }[] = [];
    const add = (round: NewRound, planned: PlannedCall[]) =>
      Promise.resolve(void replayed.push({ round, calls: planned }));
    const ports = replayPorts(calls, {
      models,
      limits,
      validator: new CompiledArgumentValidator(argumentBounds({ limits, tools }), silentLogger),
      budgets: { spentBy: () => undefined, knownSpent: () => undefined },
    });
    const record = replayRecord(
      {
        emit: () => undefined,
        commit: add,
        finish: (_done, round) => (round === undefined ? Promise.resolve() : add(round, [])),
      },
      calls,
    );
    await runTurn(turn, ports, record);
    const shown = {
      recorded: recorded.map((round) => showRound(round, round.calls)),
      replayed: replayed.map((each) => showRound(each.round, each.calls)),
    };
    return { run: run.id, ...shown, same_calls: callsOf(shown.recorded) === callsOf(shown.replayed) };
  } finally {
    await models.close();
  }
}

export interface ReplayOptions {
  database: Database;
  model?: string | undefined;
  signal: AbortSignal;
}

async function findRun(database: Database, runs: PostgresRunStore, id: string): Promise<StoredRun> {
  const owner = await database.call((prisma) => prisma.run.findUnique({ where: { id }, select: { principal: true } }));
  const run = owner === null ? undefined : await runs.get(owner.principal, id);
  if (run === undefined) throw new AppError('run_not_found', `Run '${id.slice(0, 64)}' not found`);
  return run;
}

function openModels(config: Config) {
  const metrics = createMetrics({ processMetrics: false });
  const measure = new ModelCallMeasure({ metrics, clocks: new TurnClocks(), logger: silentLogger });
  return createModelRouter(config.models, { logger: silentLogger, offline: new OfflineProvider(), measure });
}

function showRound(round: NewRound | StoredRound, calls: readonly (PlannedCall | StoredCall)[]): ShownRound {
  const byId = new Map(calls.map((call) => [call.id, call]));
  return {
    round: round.round,
    model: `${round.provider}/${round.model}`,
    text: round.content,
    calls: round.toolCalls.map(({ id, function: { name, arguments: text } }) => {
      const call = byId.get(id);
      const state = call?.outcome?.state ?? (call !== undefined && 'state' in call ? call.state : 'client');
      const source = call?.kind === 'server' ? call.replayed?.result : undefined;
      return { name, arguments: text, state, ...(source === undefined ? {} : { result: source }) };
    }),
    finish_reason: round.finishReason,
    tokens: round.usage.total_tokens,
  };
}

const callsOf = (rounds: readonly ShownRound[]): string =>
  JSON.stringify(rounds.flatMap(({ calls }) => calls.map((call) => [call.name, call.arguments])));
