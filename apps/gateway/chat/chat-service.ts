// From a read request to the numbered events of its turn: who answers, which tools, which history, and whether this is a
// new run, one to attach to, or one to go on with. The loop itself is chat-turn.ts.
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Config } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import type { NewRun, RunEnd, RunStore, StoredRun } from '#libs/runs/run-store.js';
import type { RequestContext, StoppableContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRunId, mintSessionId } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import { runChatTurn, type Turn, type TurnPorts } from './chat-turn.js';
import { requireModel } from '../models/require-model.js';
import { visibleTools } from '../tools/visible-tools.js';
import { countTokens } from './count-tokens.js';
import { type FollowPorts, followRun } from './follow-run.js';
import { offerTools, type ToolOffer } from './offer-tools.js';
import { TurnMeasure, type TurnMeasuring } from './measure-turn.js';
import { conversationOf } from './restore-history.js';
import { type ResumedTurn, resumeTurn } from './resume-turn.js';
import type { RunCancel, RunCancels } from './run-cancels.js';
import { endOf, stoppedAs, storedError } from './run-errors.js';
import { type RecordOptions, type RecordPorts, RunRecord, type TakeTurnEvents } from './run-record.js';
import { TurnState } from './turn-state.js';
import { allEvents } from './tell-run.js';
import type { TurnRequest } from './turn-request.js';

export interface StartedTurn {
  runId: string;
  /** The gateway's own time until the run has been written. */
  createdAt: Date;
  /** The caller may go and the turn goes on. */
  detached: boolean;
  /**
   * Runs the turn, or follows the run that is there, and tells what happens; once only. Resolves after the last event.
   * @throws AppError for a turn that fails
   */
  tell: (take: TakeTurnEvents) => Promise<void>;
}

export interface ChatPorts extends Omit<TurnPorts, 'limits'>, FollowPorts {
  catalog: ToolCatalog;
  cancels: RunCancels;
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
  idempotencyKey?: string;
}

type Begun = Awaited<ReturnType<RunStore['begin']>>;

interface Prepared extends StartOptions {
  offer: ToolOffer;
  run: NewRun;
  stored: boolean;
}

export class ChatService {
  /** Whether the last run that was to begin here could be written. */
  private storeTakesRuns = true;

  constructor(
    private readonly ports: ChatPorts,
    private readonly config: Pick<Config, 'limits'>,
    private readonly gatewayId: string,
  ) {}

  /** @throws AppError for everything that is wrong before the first model call */
  async start(options: StartOptions): Promise<StartedTurn> {
    const prepared = this.prepare(options);
    const { run, stored } = prepared;
    if (!stored) return this.execute(prepared, {});
    if (options.idempotencyKey === undefined) {
      // Nobody could come back to it: refused before anything is written.
      this.requireWorker(prepared.offer);
      // It is nobody else's: the first model call need not wait for it. But one that comes to nothing is paid for, so it
      // does while the store fails.
      if (this.storeTakesRuns) return this.execute(prepared, {});
    }
    const release = this.ports.cancels.hold(run.id);
    let begun: Begun;
    try {
      begun = await this.begin(run);
      if (begun.created) return await this.execute(prepared, { begun });
    } finally {
      release();
    }
    if (begun.run.requestHash !== run.requestHash) {
      throw new AppError('idempotency_mismatch', 'This Idempotency-Key was used with another request');
    }
    return this.attach(prepared, begun.run);
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
    return countTokens(request, context, { ...this.ports, maxTools: this.config.limits.tools });
  }

  private prepare(options: StartOptions): Prepared {
    const { request, context, idempotencyKey } = options;
    requireModel(request.model, context.access, this.ports.models);
    const offer = offerTools(request, visibleTools(this.ports.catalog, context.access), this.config.limits.tools);
    const detached = request.onDisconnect === 'detach';
    const run: NewRun = {
      id: mintRunId(),
      principal: context.principal,
      requestId: context.requestId,
      requestHash: idempotencyKey === undefined ? '' : hashRequest(request),
      sessionId: request.sessionId ?? mintSessionId(),
      dialect: request.dialect,
      detached,
      request: request as unknown as JsonObject,
      owner: this.gatewayId,
      ...(context.keyId === undefined ? {} : { keyId: context.keyId }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    };
    const stored = offer.runsHere || detached || idempotencyKey !== undefined || request.store === true;
    return { ...options, offer, run, stored };
  }

  /** The turn as it runs here, beside the writing of its run; `from` a stored run it goes on after its last complete round. */
  private async execute(
    prepared: Prepared,
    { begun, from }: { begun?: Begun; from?: StoredRun },
  ): Promise<StartedTurn> {
    const { request, offer, run } = prepared;
    const id = from?.id ?? run.id;
    const cancel = this.ports.cancels.register(id, prepared.context, run.detached);
    // Each call of the turn listens; a turn may have many.
    if (offer.runsHere) setMaxListeners(0, cancel.signal);
    const context: RequestContext = { ...prepared.context, signal: cancel.signal };
    try {
      this.requireWorker(offer);
      const route = this.ports.models.resolve(request.model);
      const messages = await conversationOf(request, context.principal, this.ports.runs);
      const maxRounds = Math.min(request.maxToolRounds ?? Infinity, this.config.limits.rounds);
      const state = new TurnState(messages, this.config.limits, maxRounds, context.deadline);
      const turn: Turn = {
        runId: id,
        sessionId: from?.sessionId ?? run.sessionId!,
        request,
        context,
        route,
        offer,
        state,
        announce: true,
      };
      const past = from === undefined ? undefined : await resumeTurn(turn, from, this.ports);
      const storing = begun !== undefined || from !== undefined ? 'begun' : prepared.stored ? 'begins' : 'late';
      const started: StartedTurn = {
        runId: id,
        createdAt: (from ?? begun?.run)?.createdAt ?? new Date(),
        detached: run.detached,
        tell: (take) => {
          const begin = async () => {
            // As it is stored: whoever attaches is told the same.
            started.createdAt = (await this.begin(run)).run.createdAt;
          };
          const record = this.record(turn, prepared, { storing, begin, past, cancel }, take);
          return this.run(turn, past, cancel, record);
        },
      };
      return started;
    } catch (error) {
      cancel.release();
      if (begun !== undefined || from !== undefined) {
        await this.endEarly(id, endOf(error, cancel.signal, prepared));
      }
      throw error;
    }
  }

  private record(
    turn: Turn,
    prepared: Prepared,
    at: Pick<RecordOptions, 'storing' | 'begin'> & { past: ResumedTurn | undefined; cancel: RunCancel },
    take: TakeTurnEvents,
  ): RunRecord {
    const { storing, begin, past, cancel } = at;
    const { requestId, traceparent, keyId, ip } = turn.context;
    // Its caller may come back to it while it goes on or later, other than by the id that came with its answer.
    const returns = prepared.idempotencyKey !== undefined || prepared.run.detached || turn.request.store === true;
    return new RunRecord(
      this.ports,
      {
        runId: turn.runId,
        owner: this.gatewayId,
        storing,
        begin,
        shows: turn.request.stream,
        keepsEvents: returns || turn.request.stream,
        endsBehind: !returns,
        audit: { requestId, ...defined({ traceparent, keyId, ip }) },
        signal: cancel.signal,
        whenStopped: () => stoppedAs(cancel.signal, prepared),
        stop: () => cancel.abort(new AppError('cancelled', 'The run could not be written')),
        lastN: past?.lastN ?? 0,
        measure: new TurnMeasure(turn, this.ports.measuring),
      },
      take,
    );
  }

  private async run(turn: Turn, past: ResumedTurn | undefined, cancel: RunCancel, record: RunRecord): Promise<void> {
    try {
      if (past !== undefined) {
        await record.retell(past.told);
        if (past.results.length > 0) await record.tell(past.results);
      }
      if (past?.ends === undefined) await runChatTurn(turn, { ...this.ports, limits: this.config.limits }, record);
      else await record.finish(past.ends);
    } catch (error) {
      throw await record.fail(error);
    } finally {
      record.close();
      if (record.ending === undefined) cancel.release();
      else this.ports.cancels.releaseAfter(turn.runId, record.ending);
    }
  }

  /** A run that was refused, or stopped, before it told anything. */
  private async endEarly(id: string, end: RunEnd): Promise<void> {
    try {
      await this.ports.runs.end(id, this.gatewayId, end);
    } catch {
      // What was wrong is told all the same.
    }
  }

  private requireWorker(offer: ToolOffer): void {
    if (!offer.runsHere || this.ports.runner.hasWorker()) return;
    throw new AppError('no_worker', 'No worker is running that could run tools', { retryAfterSeconds: 5 });
  }

  /** The same key and body again: its events from the start, whoever runs it; goes on with what was interrupted. */
  private async attach(prepared: Prepared, run: StoredRun): Promise<StartedTurn> {
    const adopted = run.state === 'interrupted' ? await this.goOn(prepared, run) : undefined;
    if (adopted !== undefined) return adopted;
    if (run.state === 'cancelled') throw new AppError('cancelled', 'The run of this Idempotency-Key was cancelled');
    if (run.state === 'failed') throw storedError(run);
    return {
      runId: run.id,
      createdAt: run.createdAt,
      detached: true,
      tell: (take) => this.follow(prepared, run, take),
    };
  }

  /** With an interrupted run; undefined when another was quicker, or when it goes on here. */
  private async goOn(prepared: Prepared, run: StoredRun): Promise<StartedTurn | undefined> {
    const release = this.ports.cancels.hold(run.id);
    try {
      if (!(await this.ports.runs.adopt(run.id, this.gatewayId))) return undefined;
      // Given up while this gateway was stopped, which is still at it: now the store knows.
      if (this.ports.cancels.isRunning(run.id)) return undefined;
      return await this.execute(prepared, { from: run });
    } finally {
      release();
    }
  }

  private async follow(prepared: Prepared, run: StoredRun, take: TakeTurnEvents): Promise<void> {
    const { principal, signal } = prepared.context;
    let lastN = 0;
    for (;;) {
      for await (const numbered of followRun({ principal, runId: run.id, afterN: lastN, signal }, this.ports)) {
        if (numbered.event.type === 'error') throw storedError({ ...run, error: numbered.event.error });
        lastN = numbered.n;
        await take([numbered]);
        if (numbered.event.type === 'done') return;
      }
      const now = await this.ports.runs.get(principal, run.id);
      if (now?.state === 'done' && now.answer !== null && lastN === 0) {
        await take(await allEvents(now, this.ports));
        return;
      }
      if (now?.state === 'failed') throw storedError(now);
      if (now === undefined || !['interrupted', 'running'].includes(now.state)) break;
      const adopted = now.state === 'interrupted' ? await this.goOn(prepared, now) : undefined;
      if (adopted === undefined) continue;
      return adopted.tell((batch) => take(batch.filter(({ n }) => n > lastN)));
    }
    throw new AppError('cancelled', 'The run of this Idempotency-Key was cancelled');
  }
}

function hashRequest(request: TurnRequest): string {
  return createHash('sha256').update(JSON.stringify(request)).digest('hex');
}

function defined<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as never;
}
