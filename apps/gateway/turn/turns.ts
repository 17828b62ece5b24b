// Starts the turn of a request: chooses model, tools and history, and decides between a new run, attaching to a run, and
// continuing an interrupted run. loop.ts runs the turn; record.ts stores it.
import { setMaxListeners } from 'node:events';
import type { Config } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import type { NewRun, RunEnd, RunStore, StoredRun } from '#libs/runs/run-store.js';
import type { RequestContext, StoppableContext } from '#libs/schemas/call-context.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import { turnSpan } from '#libs/tracing/spans.js';
import { type Span, tracing } from '#libs/tracing/tracing.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import type { Waits } from '../govern/waits.js';
import type { CatalogOf } from '../govern/tool-policy.js';
import { runTurn, type TurnPorts } from './loop.js';
import type { Turn } from './turn.js';
import { takeDecisions } from './wait.js';
import type { ModelRoute, ModelRouter } from '../models/model-provider.js';
import { knownModel, requireModel } from '../models/require-model.js';
import { countTokens } from './runs/count-tokens.js';
import { type FollowPorts, followRun, type RunReader } from './follow.js';
import { offerTools, type ToolOffer } from './offer-tools.js';
import { TurnMeasure, type TurnMeasuring } from './runs/measure-turn.js';
import { conversationFor, readsStore } from './offer/recall-found.js';
import { conversation } from './runs/restore-history.js';
import { earlierRound, type RestoredTurn, restoreTurn } from './runs/restore-rounds.js';
import type { ActiveRun, ActiveRuns } from './runs/active-runs.js';
import { endOf, storedError } from './runs/run-errors.js';
import { type RecordPorts, RunRecord, type TakeTurnEvents } from './record.js';
import { continuedRun, newRun } from './runs/new-run.js';
import { type StartedTurn, TurnHere } from './runs/started-turn.js';
import { TurnState } from './turn-state.js';
import { replayedEvents } from './replay-events.js';
import { turnOfCall } from './runs/turn-of-call.js';
import { requestOf, type TurnRequest } from './turn-request.js';
import { throwIfWaits } from './runs/own-call-waits.js';

const newReader: RunReader = { afterN: 0, rewinds: false };

export interface TurnsPorts extends Omit<TurnPorts, 'limits' | 'approvals' | 'models'>, FollowPorts {
  models: ModelRouter;
  approvals: Waits;
  catalogOf: CatalogOf;
  activeRuns: ActiveRuns;
  announce: RecordPorts['announce'];
  /** Takes over the end of a run that could not be written. */
  endLater: (runId: string, end: RunEnd) => void;
  /** Metrics and the log line of the turns that this gateway runs. */
  measuring: TurnMeasuring;
  logger: Logger;
}

export interface StartOptions {
  request: TurnRequest;
  context: StoppableContext;
  idempotencyKey: string | undefined;
  /** The run is a task for so long, and is written before anything runs, so that its id can be given away at once. */
  taskTtlMs?: number;
}

type Begun = Awaited<ReturnType<RunStore['begin']>>;

interface Prepared extends Pick<StartOptions, 'request' | 'context'> {
  /** The tools that the caller may use. */
  catalog: ToolCatalog;
  offer: ToolOffer;
  run: NewRun;
  stored: boolean;
  /** Somebody may ask for the run without the id from its answer. */
  returns: boolean;
}

/** A run that is registered, so that it can be stopped. */
interface RegisteredRun {
  prepared: Prepared;
  run: NewRun;
  /** The stored run, if it was written already. */
  written: StoredRun | undefined;
  active: ActiveRun;
  span: Span | undefined;
  context: RequestContext;
}

/** A turn that is ready to run here. */
interface Execution {
  turn: Turn;
  /** Set for a run that is continued. */
  past: RestoredTurn | undefined;
  record: RunRecord;
  active: ActiveRun;
}

export class Turns {
  /** Whether the last run that began here could be written. */
  private storeTakesRuns = true;
  private readonly recordPorts: RecordPorts;
  private readonly turnPorts: TurnPorts;

  constructor(
    private readonly ports: TurnsPorts,
    private readonly config: Pick<Config, 'limits' | 'tools'>,
    private readonly gatewayId: string,
  ) {
    this.recordPorts = { ...ports, begin: (run) => this.begin(run) };
    this.turnPorts = { ...ports, limits: config.limits };
  }

  /** Returns no promise if nothing has to be loaded or written. @throws AppError for any failure before the first model call */
  start(options: StartOptions): StartedTurn | Promise<StartedTurn> {
    if (options.context.parentCall === undefined) return this.startHere(this.prepare(options), options.idempotencyKey);
    return turnOfCall(options, this.ports.models).then((asked) =>
      this.startHere(this.prepare(asked), asked.idempotencyKey),
    );
  }

  private startHere(prepared: Prepared, idempotencyKey: string | undefined): StartedTurn | Promise<StartedTurn> {
    if (!prepared.stored) return this.execute(prepared);
    if (idempotencyKey === undefined && prepared.run.taskTtlMs === undefined) {
      // Without a worker nothing is written, because nobody could come back to the run.
      this.requireWorker(prepared.offer);
      // No other request can have this run, so the model is asked while the run is written. An answer is lost, and paid for
      // all the same, if that write fails: after a failure, runs are written first.
      if (this.storeTakesRuns) return this.execute(prepared);
    }
    return this.startWritten(prepared);
  }

  private async startWritten(prepared: Prepared): Promise<StartedTurn> {
    const { run } = prepared;
    const release = this.ports.activeRuns.reserve(run.id);
    let begun: Begun;
    try {
      begun = await this.begin(run);
      if (begun.created) return await this.execute(prepared, begun.run);
    } finally {
      release();
    }
    if (begun.run.requestHash !== run.requestHash) {
      throw new AppError('idempotency_mismatch', 'This Idempotency-Key was used with another request');
    }
    return this.attach(prepared, begun.run);
  }

  /**
   * Continues an interrupted run here, without a request for it.
   * @throws AppError if the request cannot be served any more: the run stays interrupted
   */
  advance(run: StoredRun, context: StoppableContext): Promise<StartedTurn | undefined> {
    const prepared = this.prepare({ request: requestOf(run), context, idempotencyKey: run.idempotencyKey });
    const [own] = prepared.request.call === undefined ? [] : prepared.offer.tools.values();
    // Only a retry brings the caller's headers, which the server of an own call may need.
    if (own?.tool?.forwardHeaders !== undefined) return Promise.resolve(undefined);
    return this.continueHere(prepared, run);
  }

  private async begin(run: NewRun): Promise<Begun> {
    try {
      const begun = await this.ports.runs.begin(run);
      this.storeTakesRuns = true;
      return begun;
    } catch (error) {
      this.storeTakesRuns = false;
      throw error;
    }
  }

  /**
   * The tokens that the first model call of this turn would have; nothing is run or stored.
   * @throws AppError invalid_value for a model that does not count
   */
  countTokens(request: TurnRequest, context: RequestContext): Promise<number> {
    return countTokens(request, context, { ...this.ports, settings: this.config });
  }

  private prepare(options: StartOptions): Prepared {
    const { request, context, idempotencyKey, taskTtlMs } = options;
    const asksModel = request.call === undefined;
    if (asksModel) requireModel(request.model, context.access, this.ports.models);
    const catalog = this.ports.catalogOf(context);
    const offer = offerTools(request, catalog, this.config);
    const run: NewRun = { ...newRun(request, context, idempotencyKey, this.gatewayId), taskTtlMs };
    if (asksModel) run.model = knownModel(request.model, this.ports.models);
    const returns = run.detached || idempotencyKey !== undefined || request.store === true;
    return { request, context, catalog, offer, run, stored: offer.runsHere || returns, returns };
  }

  /** Makes the turn that runs here. `written`: the run is stored. `from`: the run is continued after its last complete round. */
  private execute(prepared: Prepared, written?: StoredRun, from?: StoredRun): StartedTurn | Promise<StartedTurn> {
    const here = this.register(prepared, written, from);
    if (written !== undefined || readsStore(prepared)) return this.restore(here, from);
    try {
      const { request } = prepared;
      const route = this.routeOf(prepared);
      return this.started(here, this.turnOf(here, route, conversation(request, request.messages)), undefined);
    } catch (error) {
      release(here, error);
      throw error;
    }
  }

  private async restore(here: RegisteredRun, from: StoredRun | undefined): Promise<StartedTurn> {
    const { prepared, run, context, active, written } = here;
    try {
      const route = this.routeOf(prepared);
      const { messages, open } = await conversationFor(prepared, from, this.ports.runs);
      if (open.length > 0) await takeDecisions(open, context, this.ports.approvals);
      const turn = this.turnOf(here, route, messages);
      turn.open = open.map((round) => earlierRound(round, turn, this.ports.runner));
      const past = from === undefined ? undefined : await restoreTurn(turn, from, this.ports);
      return this.started(here, turn, past);
    } catch (error) {
      release(here, error);
      const underWay = from !== undefined;
      if (written) {
        const end = endOf(error, active.signal, { ...prepared.run, underWay });
        await this.ports.runs.end(run.id, this.gatewayId, end).catch(() => this.ports.endLater(run.id, end));
      }
      throw error;
    }
  }

  private register(prepared: Prepared, written?: StoredRun, from?: StoredRun): RegisteredRun {
    const run = from === undefined ? prepared.run : continuedRun(prepared.run, from);
    const { id: runId, sessionId } = run;
    const { model, dialect, call } = prepared.request;
    const active = this.ports.activeRuns.register(runId, prepared.context, run);
    // Each of a turn's many calls listens to the signal: Node would warn of a leak.
    if (prepared.offer.runsHere) setMaxListeners(0, active.signal);
    const turnIs = { runId, sessionId, model, dialect };
    const span = call === undefined ? tracing?.start(turnSpan(turnIs), prepared.context.traceparent) : undefined;
    let context: RequestContext = prepared.context;
    if (run.detached) context = { ...context, signal: active.signal };
    if (span !== undefined) context = { ...context, traceparent: span.traceparent };
    return { prepared, run, written, active, span, context };
  }

  /** @throws AppError no_worker, model_not_found */
  private routeOf({ offer, request }: Prepared): ModelRoute {
    if (request.call !== undefined) return { candidates: [] };
    this.requireWorker(offer);
    return this.ports.models.resolve(request.model);
  }

  private turnOf({ prepared, run, context }: RegisteredRun, route: ModelRoute, messages: ChatMessage[]): Turn {
    const { request, offer } = prepared;
    const { limits } = this.config;
    const maxRounds = Math.min(request.maxToolRounds ?? Infinity, limits.rounds);
    const state = new TurnState(messages, limits, maxRounds, context.deadline);
    state.addWarnings(request.warnings);
    const { id: runId, sessionId } = run;
    return { runId, sessionId: sessionId!, request, context, route, offer, state, announce: true, open: [] };
  }

  private started(here: RegisteredRun, turn: Turn, past: RestoredTurn | undefined) {
    const { prepared, run, written, active, span } = here;
    const { requestId, traceparent, keyId, ip } = here.context;
    const asksModel = prepared.request.call === undefined;
    const record = new RunRecord(this.recordPorts, {
      run,
      createdAt: written?.createdAt ?? new Date(),
      storing: written !== undefined ? 'begun' : prepared.stored ? 'begins' : 'late',
      streams: prepared.request.stream,
      returns: prepared.returns,
      audit: { requestId, traceparent, keyId, ip, model: undefined },
      active,
      lastN: past?.lastN ?? 0,
      measure: asksModel ? new TurnMeasure(turn, this.ports.measuring, span) : undefined,
    });
    if (asksModel) prepared.context.runsTurn = true;
    const runHere: StartedTurn['run'] = (take, reader) => this.run({ turn, past, record, active }, take, reader);
    return new TurnHere(run, prepared.catalog, record, runHere);
  }

  private async run(
    { turn, past, record, active }: Execution,
    take: TakeTurnEvents,
    reader = newReader,
  ): Promise<void> {
    record.open(take);
    try {
      if (past !== undefined) await record.replay(past.emitted, reader);
      await runTurn(turn, this.turnPorts, record);
    } catch (error) {
      throw await record.fail(error);
    } finally {
      record.close();
      if (record.ending === undefined) active.release();
      else this.ports.activeRuns.releaseAfter(turn.runId, record.ending);
    }
  }

  private requireWorker(offer: ToolOffer): void {
    if (!offer.runsHere || this.ports.runner.hasWorker()) return;
    throw new AppError('no_worker', 'No worker is running that could run tools', { retryAfterSeconds: 5 });
  }

  /** Serves a request with the key and body of an earlier one: all events from the start. An interrupted run is continued here. */
  private async attach(prepared: Prepared, run: StoredRun): Promise<StartedTurn> {
    const adopted = run.state === 'interrupted' ? await this.returnTo(prepared, run) : undefined;
    if (adopted !== undefined) return adopted;
    if (run.state === 'cancelled') throw new AppError('cancelled', 'The run of this Idempotency-Key was cancelled');
    if (run.state === 'failed') throw storedError(run);
    return {
      runId: run.id,
      catalog: prepared.catalog,
      createdAt: run.createdAt,
      detached: true,
      run: (take) => this.follow(prepared, run, take),
    };
  }

  /** Continues an interrupted run for its caller. @throws ApprovalNeeded for an own call that still waits: nothing is written */
  private async returnTo(prepared: Prepared, run: StoredRun): Promise<StartedTurn | undefined> {
    if (prepared.request.call !== undefined) await throwIfWaits(run, prepared.context, this.ports);
    return this.continueHere(prepared, run);
  }

  /** Continues an interrupted run. Undefined if another gateway was quicker, or if this one still runs it. */
  private async continueHere(prepared: Prepared, run: StoredRun): Promise<StartedTurn | undefined> {
    const release = this.ports.activeRuns.reserve(run.id);
    try {
      if (!(await this.ports.runs.adopt(run.id, this.gatewayId))) return undefined;
      // This gateway was suspended and counted as dead, but still runs the turn; the run is its own again.
      if (this.ports.activeRuns.isRunning(run.id)) return undefined;
      return await this.execute(prepared, run, run);
    } finally {
      release();
    }
  }

  private async follow(prepared: Prepared, run: StoredRun, take: TakeTurnEvents): Promise<void> {
    const { request, context } = prepared;
    const { principal, signal } = context;
    const showsRewinds = request.stream && request.dialect === 'events';
    const reader = { afterN: 0, rewinds: showsRewinds || request.call !== undefined };
    for (;;) {
      for await (const numbered of followRun({ principal, runId: run.id, signal, ...reader }, this.ports)) {
        if (numbered.event.type === 'error') throw storedError({ ...run, error: numbered.event.error });
        reader.afterN = numbered.n;
        await take([numbered]);
        if (numbered.event.type === 'done') return;
      }
      const now = await this.ports.runs.get(principal, run.id);
      if (now?.state === 'done' && now.answer !== null && reader.afterN === 0) {
        await take(await replayedEvents(now, this.ports));
        return;
      }
      if (now?.state === 'failed') throw storedError(now);
      if (now === undefined || !['interrupted', 'running'].includes(now.state)) break;
      const adopted = now.state === 'interrupted' ? await this.returnTo(prepared, now) : undefined;
      if (adopted === undefined) continue;
      return adopted.run(take, reader);
    }
    throw new AppError('cancelled', 'The run of this Idempotency-Key was cancelled');
  }
}

/** Releases a run whose turn does not start. */
function release({ span, active }: RegisteredRun, error: unknown): void {
  span?.end(toAppError(error).code);
  active.release();
}
