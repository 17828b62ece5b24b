// A stored turn once more: the same request and tools to a model, with the results that the tools gave then.
import type { Channels } from '#libs/backing/channels.js';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Config } from '#libs/config/schema.js';
import { silentLogger } from '#libs/logging/logger.js';
import { createMetrics } from '#libs/metrics/metrics.js';
import { TurnClocks } from '#libs/metrics/turn-clocks.js';
import type { Database } from '#libs/postgres/open-database.js';
import { PostgresCatalogStore } from '#libs/runs/catalog/postgres-catalog-store.js';
import { PostgresRunStore } from '#libs/runs/postgres-run-store.js';
import type { PlannedCall, StoredRound, StoredRun } from '#libs/runs/run-store.js';
import { PostgresSessionStore } from '#libs/runs/sessions/postgres-session-store.js';
import { StoreWrites } from '#libs/runs/store-writes.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRunId } from '#libs/schemas/identifiers.js';
import { runTurn } from '../../apps/gateway/turn/loop.js';
import type { NewRound, Turn } from '../../apps/gateway/turn/turn.js';
import { offerTools } from '../../apps/gateway/turn/offer-tools.js';
import { conversationOf } from '../../apps/gateway/turn/runs/restore-history.js';
import { requestOf } from '../../apps/gateway/turn/turn-request.js';
import { TurnState } from '../../apps/gateway/turn/turn-state.js';
import { OfflineProvider } from '../../apps/gateway/models/offline/offline-provider.js';
import { ModelCallMeasure } from '../../apps/gateway/models/routing/measure-model-calls.js';
import { createModelRouter } from '../../apps/gateway/models/routing/model-router.js';
import type { Waits } from '../../apps/gateway/govern/waits.js';
import { argumentBounds, CompiledArgumentValidator } from '../../apps/gateway/tools/compiled-argument-validator.js';
import { MemoryToolCatalog } from '../../apps/gateway/tools/memory-tool-catalog.js';
import { RecordedToolRunner, type ResultSource } from './recorded-tool-runner.js';

export interface ShownCall {
  name: string;
  arguments: string;
  state: string;
  /** Of a replayed call. */
  result?: ResultSource;
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
  const recorded = await runs.rounds(run.id);
  const runner = new RecordedToolRunner(recorded.flatMap(({ calls }) => calls));
  const request = { ...requestOf(run), ...(model === undefined ? {} : { model }) };
  const models = openModels(config);
  try {
    const catalog = new MemoryToolCatalog(new PostgresCatalogStore(database), {} as Channels, silentLogger);
    await catalog.refresh();
    const { messages } = await conversationOf(request, run.principal, runs);
    const deadline = new Deadline(steadyNow() + config.limits.turn_ms);
    const maxRounds = Math.min(request.maxToolRounds ?? Infinity, config.limits.rounds);
    const turn: Turn = {
      runId: mintRunId(),
      sessionId: run.sessionId ?? '',
      request,
      context: { principal: run.principal, requestId: run.requestId, signal: options.signal, deadline },
      route: models.resolve(request.model),
      offer: offerTools(request, catalog, config.limits.tools),
      state: new TurnState(messages, config.limits, maxRounds, deadline),
      announce: true,
      open: [],
    };
    const replayed: { round: NewRound; calls: PlannedCall[] }[] = [];
    const add = (round: NewRound, calls: PlannedCall[]) => Promise.resolve(void replayed.push({ round, calls }));
    await runTurn(turn, turnPorts(models, runner, config), {
      emit: () => undefined,
      commit: add,
      finish: (_done, round) => (round === undefined ? Promise.resolve() : add(round, [])),
    });
    const shown = {
      recorded: recorded.map((round) => showRound(round, round.calls, undefined)),
      replayed: replayed.map(({ round, calls }) => showRound(round, calls, runner.sources)),
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

/** Every call of an offered tool is answered, whatever the policy says today: nothing runs. */
function turnPorts(models: ReturnType<typeof openModels>, runner: RecordedToolRunner, { limits, tools }: Config) {
  return {
    models,
    runner,
    limits,
    validator: new CompiledArgumentValidator(argumentBounds({ limits, tools }), silentLogger),
    decide: () => ({ effect: 'allow' as const, rule: 'replay' }),
    deniedTool: () => undefined,
    notes: { write: () => Promise.resolve() },
    budgets: { spentBy: () => undefined, knownSpent: () => undefined },
    approvalRoom: { approvalOf: () => Promise.reject(new Error('nothing is asked')) },
    approvals: {} as Waits,
    waitStore: { byIds: () => Promise.resolve([]) },
    questions: { open: () => Promise.resolve([]) },
    journal: { get: () => Promise.resolve(undefined), plan: () => Promise.resolve() },
  };
}

function showRound(
  round: NewRound | StoredRound,
  calls: readonly (PlannedCall & { state?: string })[],
  sources: ReadonlyMap<string, ResultSource> | undefined,
): ShownRound {
  const byId = new Map(calls.map((call) => [call.id, call]));
  return {
    round: round.round,
    model: `${round.provider}/${round.model}`,
    text: round.content,
    calls: round.toolCalls.map(({ id, function: { name, arguments: text } }) => {
      const call = byId.get(id);
      const source = sources?.get(id);
      const state = call?.outcome?.state ?? call?.state ?? (source === undefined ? 'client' : 'completed');
      return { name, arguments: text, state, ...(source === undefined ? {} : { result: source }) };
    }),
    finish_reason: round.finishReason,
    tokens: round.usage.total_tokens,
  };
}

const callsOf = (rounds: readonly ShownRound[]): string =>
  JSON.stringify(rounds.flatMap(({ calls }) => calls.map((call) => [call.name, call.arguments])));
