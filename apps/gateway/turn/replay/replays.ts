// Replays stored runs, as runs of their own: the turn runs here without a request that waits for it. A replay that loses its
// gateway is over.
import type { KeyStore } from '#libs/access/key-store.js';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { AuditNotes } from '#libs/audit/audit-notes.js';
import type { Config } from '#libs/config/schema.js';
import type { JudgedCaller, PolicySource } from '#libs/policy/decision.js';
import type { NewRun, RunStore, StoredRun } from '#libs/runs/run-store.js';
import type { RequestContext, StoppableContext } from '#libs/schemas/call-context.js';
import { turnSpan } from '#libs/tracing/spans.js';
import { tracing } from '#libs/tracing/tracing.js';
import type { ToolPolicy } from '../../govern/tool-policy.js';
import type { ModelRouter } from '../../models/model-provider.js';
import { knownModel, requireModel } from '../../models/require-model.js';
import type { ToolCatalog } from '../../tools/tool-catalog.js';
import { runTurn, type TurnPorts } from '../loop.js';
import { RunRecord, type RecordPorts } from '../record.js';
import type { ActiveRun, ActiveRuns } from '../runs/active-runs.js';
import { TurnMeasure, type TurnMeasuring } from '../runs/measure-turn.js';
import { newRun } from '../runs/new-run.js';
import type { Turn } from '../turn.js';
import { TurnState } from '../turn-state.js';
import { type JudgeCall, RecordedCalls } from './recorded-calls.js';
import {
  recordedRounds,
  type ReplayChanges,
  replayedOffer,
  replayedRequest,
  replayPorts,
  replayRecord,
} from './replayed-turn.js';

export interface ReplaysPorts extends Pick<TurnPorts, 'validator' | 'budgets'>, Omit<RecordPorts, 'begin' | 'runs'> {
  models: ModelRouter;
  runs: RunStore;
  catalog: ToolCatalog;
  policy: Pick<ToolPolicy, 'catalogOf' | 'drafted'>;
  keys: Pick<KeyStore, 'inForce'>;
  activeRuns: Pick<ActiveRuns, 'register' | 'reserve'>;
  measuring: TurnMeasuring;
  notes: Pick<AuditNotes, 'write'>;
}

export interface AskedReplay extends ReplayChanges {
  /** A policy that judges the calls. */
  policy?: PolicySource['policy'] | undefined;
}

interface ReadyReplay {
  run: NewRun;
  turn: Turn;
  recorded: RecordedCalls;
}

export class Replays {
  /** Turns that no request waits for. These promises never reject. */
  private readonly underWay = new Set<Promise<void>>();

  constructor(
    private readonly ports: ReplaysPorts,
    private readonly config: Pick<Config, 'limits' | 'tools'>,
    private readonly gatewayId: string,
  ) {}

  /**
   * Returns the id of the replay once its run is stored; the turn goes on, and `onEnded` is called at its end.
   * @throws AppError for what is wrong with the run or what is asked: then nothing was written, and `onEnded` is not called
   */
  async start(original: StoredRun, asked: AskedReplay, caller: RequestContext, onEnded: () => void): Promise<string> {
    const stop = new AbortController();
    const context: StoppableContext = {
      ...whoAsks(caller),
      signal: stop.signal,
      abort: (reason) => stop.abort(reason),
      deadline: new Deadline(steadyNow() + this.config.limits.turn_ms),
    };
    const ready = await this.prepare(original, asked, context);
    const { run } = ready;
    const { activeRuns, runs } = this.ports;
    const release = activeRuns.reserve(run.id);
    try {
      // The row of the audit comes first: there is no replay without one.
      await this.note(original, asked, context, run.id);
      const begun = await runs.begin(run);
      const active = activeRuns.register(run.id, context, run);
      const turn = this.run(ready, begun.run, active).finally(onEnded);
      this.underWay.add(turn);
      void turn.then(() => this.underWay.delete(turn));
    } finally {
      release();
    }
    return run.id;
  }

  /** Resolves when all replays have ended. Call it after all turns were stopped. */
  async close(): Promise<void> {
    await Promise.all(this.underWay);
  }

  private async prepare(original: StoredRun, asked: AskedReplay, context: RequestContext): Promise<ReadyReplay> {
    const { models, runs, catalog, policy } = this.ports;
    const { limits } = this.config;
    const rounds = await recordedRounds(original, runs);
    const { sessionId: _own, ...request } = await replayedRequest(original, asked, runs);
    // Whoever follows the run sees the answer as it comes.
    request.stream = true;
    requireModel(request.model, context.access, models);
    const route = models.resolve(request.model);
    const view = policy.catalogOf(context);
    const offering = { view, whole: catalog, settings: this.config };
    const offer = await replayedOffer(request, { ...offering, original, recorded: rounds }, runs);
    const isOwn = original.principal === context.principal;
    const inSession = isOwn && original.sessionId !== undefined ? { sessionId: original.sessionId } : {};
    const run: NewRun = {
      ...newRun({ ...request, ...inSession }, context, undefined, this.gatewayId),
      replayOf: original.id,
      model: knownModel(request.model, models),
    };
    const maxRounds = Math.min(request.maxToolRounds ?? Infinity, limits.rounds);
    const state = new TurnState([...request.messages], limits, maxRounds, context.deadline);
    state.addWarnings(request.warnings);
    const calls = rounds.flatMap((round) => round.calls);
    const recorded = new RecordedCalls(calls, await this.judgeOf(original, asked, context));
    const about = { runId: run.id, sessionId: run.sessionId! };
    return { run, recorded, turn: { ...about, request, context, route, offer, state, announce: true, open: [] } };
  }

  /** A draft is asked about the caller of the recorded run. */
  private async judgeOf(
    { principal, keyId }: StoredRun,
    { policy }: AskedReplay,
    asks: RequestContext,
  ): Promise<JudgeCall | undefined> {
    if (policy === undefined) return undefined;
    const key = keyId === undefined || keyId === asks.keyId ? undefined : await this.ports.keys.inForce(keyId);
    const roles = key?.roles ?? (principal === asks.principal ? asks.roles : undefined);
    const caller: JudgedCaller = {
      principal,
      ...(keyId === undefined ? {} : { keyId }),
      ...(roles === undefined ? {} : { roles }),
    };
    const draft = this.ports.policy.drafted(policy);
    return (tool, args) => draft.decide(tool, args, caller);
  }

  private note(original: StoredRun, asked: AskedReplay, caller: RequestContext, runId: string): Promise<void> {
    const changed = Object.entries(asked).flatMap(([name, value]) => (value === undefined ? [] : [name]));
    return this.ports.notes.write({
      ...caller,
      kind: 'replay',
      state: 'started',
      success: true,
      runId,
      arguments: { replay_of: original.id, principal: original.principal, changed },
    });
  }

  /** Never rejects: how the turn ended is in its run and in its log line. */
  private async run({ run, turn, recorded }: ReadyReplay, stored: StoredRun, active: ActiveRun): Promise<void> {
    const { ports, config } = this;
    const { requestId, traceparent, keyId, ip } = turn.context;
    const { runId, sessionId, request } = turn;
    const { model, dialect } = request;
    const span = tracing?.start(turnSpan({ runId, sessionId, model, dialect }), traceparent);
    if (span !== undefined) turn.context = { ...turn.context, traceparent: span.traceparent };
    const record = new RunRecord(
      { ...ports, begin: (begins) => ports.runs.begin(begins) },
      {
        run,
        createdAt: stored.createdAt,
        storing: 'begun',
        streams: true,
        returns: true,
        audit: { requestId, traceparent, keyId, ip },
        active,
        lastN: 0,
        measure: new TurnMeasure({ request, context: turn.context, runId, isReplay: true }, ports.measuring, span),
      },
    );
    record.open(() => undefined);
    try {
      const turnPorts = replayPorts(recorded, { ...ports, limits: config.limits });
      await runTurn(turn, turnPorts, replayRecord(record, recorded));
    } catch (error) {
      await record.fail(error);
    } finally {
      record.close();
      active.release();
    }
  }
}

const whoAsks = ({ principal, keyId, roles, access, ip, requestId, traceparent }: RequestContext) => ({
  principal,
  requestId,
  traceparent,
  ...(keyId === undefined ? {} : { keyId }),
  ...(roles === undefined ? {} : { roles }),
  ...(access === undefined ? {} : { access }),
  ...(ip === undefined ? {} : { ip }),
});
