// From a read request to the numbered events of its turn: who answers, which tools, which history, and whether this is a
// new run, one to attach to, or one to go on with. The loop itself is chat-turn.ts.
import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { Config } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import type { NewRun, NumberedEvent, RunEnd, RunStore, StoredRun } from '#libs/runs/run-store.js';
import type { RequestContext, StoppableContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRunId, mintSessionId } from '#libs/schemas/identifiers.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolCatalog } from '../tools/tool-catalog.js';
import { runChatTurn, type Turn, type TurnPorts } from './chat-turn.js';
import { countTokens } from './count-tokens.js';
import { EagerIteration } from './eager-iteration.js';
import { answerEvents, type TurnAnswer, TurnFold } from './fold-turn.js';
import { type FollowPorts, followRun } from './follow-run.js';
import { offerTools, type ToolOffer } from './offer-tools.js';
import { type RecordPorts, TurnRecorder } from './record-turn.js';
import { conversationOf } from './restore-history.js';
import { resumeTurn } from './resume-turn.js';
import type { RunCancels } from './run-cancels.js';
import { endOf, stoppedAs, storedError } from './run-errors.js';
import { TurnState } from './turn-state.js';
import type { TurnRequest } from './turn-request.js';

export interface StartedTurn {
  runId: string;
  createdAt: Date;
  /** In batches of what happened together. */
  events: AsyncIterable<readonly NumberedEvent[]>;
  /** The caller may go and the turn goes on: keep reading the events. */
  detached: boolean;
}

export interface ChatPorts extends Omit<TurnPorts, 'commitRound' | 'limits'>, FollowPorts {
  catalog: ToolCatalog;
  cancels: RunCancels;
  announce: RecordPorts['announce'];
  /** Takes over the end of a run that could not be written. */
  endLater: (runId: string, end: RunEnd) => void;
  /** Watches the events of each turn that this gateway runs (metrics, the log line of the turn). */
  measure: (
    turn: { request: TurnRequest; context: RequestContext; runId: string },
    batches: AsyncIterable<readonly NumberedEvent[]>,
  ) => AsyncIterable<readonly NumberedEvent[]>;
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
    // Without a key nobody could come back to it: refused before anything is written.
    if (options.idempotencyKey === undefined) this.requireWorker(prepared.offer);
    const release = this.ports.cancels.hold(run.id);
    let begun: Begun;
    try {
      const beginning = this.begin(run);
      // Without a key it is nobody else's: the first model call need not wait for it. But one that comes to nothing is paid
      // for, so it does while the store fails.
      if (options.idempotencyKey === undefined && this.storeTakesRuns) {
        return await this.execute(prepared, { begun: beginning });
      }
      begun = await beginning;
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
    const offer = offerTools(request, this.ports.catalog, this.config.limits.tools);
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

  /** Runs the turn here, beside the writing of its run; `from` a stored run it goes on after its last complete round. */
  private async execute(
    prepared: Prepared,
    at: { begun?: Begun | Promise<Begun>; from?: StoredRun },
  ): Promise<StartedTurn> {
    const { request, offer } = prepared;
    const id = at.from?.id ?? prepared.run.id;
    const cancel = this.ports.cancels.register(id, prepared.context, prepared.run.detached);
    // Each call of the turn listens; a turn may have many.
    if (offer.runsHere) setMaxListeners(0, cancel.signal);
    const context: RequestContext = { ...prepared.context, signal: cancel.signal };
    const fold = new TurnFold();
    let stored = at.begun !== undefined || at.from !== undefined;
    try {
      this.requireWorker(offer);
      const route = this.ports.models.resolve(request.model);
      const messages = await conversationOf(request, context.principal, this.ports.runs);
      const maxRounds = Math.min(request.maxToolRounds ?? Infinity, this.config.limits.rounds);
      const state = new TurnState(messages, this.config.limits, maxRounds, context.deadline);
      const sessionId = at.from?.sessionId ?? prepared.run.sessionId!;
      const turn: Turn = { runId: id, sessionId, request, context, route, offer, state, announce: true };
      const past = at.from === undefined ? undefined : await resumeTurn(turn, at.from, this.ports);
      const recorder = new TurnRecorder(
        {
          append: async (runId, events) => {
            await at.begun;
            await this.ports.log.append(runId, events);
          },
          end: async (end) => {
            await at.begun;
            await this.ports.runs.end(id, this.gatewayId, end);
          },
          logger: this.ports.logger,
          announce: this.ports.announce,
          endLater: (end) => this.ports.endLater(id, end),
        },
        {
          runId: id,
          isStored: () => stored,
          signal: cancel.signal,
          whenStopped: () => stoppedAs(cancel.signal, prepared),
          lastN: past?.lastN ?? 0,
          fold,
          onEnd: () => cancel.release(),
        },
      );
      const commitRound: TurnPorts['commitRound'] = async (round) => {
        await at.begun;
        if (!stored) {
          await this.ports.runs.begin(prepared.run);
          stored = true;
        }
        const { requestId, traceparent, keyId, ip } = context;
        const audit = { requestId, ...defined({ traceparent, keyId, ip }), model: `${round.provider}/${round.model}` };
        const owned = { runId: id, owner: this.gatewayId, lastEvent: recorder.lastN };
        await recorder.storeWith((events) => this.ports.runs.planRound({ ...round, ...owned, events }, audit));
        this.ports.announce(id);
      };
      const loop = past?.ends ?? runChatTurn(turn, { ...this.ports, limits: this.config.limits, commitRound });
      for (const { event } of past?.told ?? []) fold.add(event);
      const recorded = recorder.record(past === undefined ? loop : chain([past.results], loop));
      const own = this.ports.measure({ request, context, runId: id }, recorded);
      const events = past === undefined ? own : chain([past.told], own);
      const { detached } = prepared.run;
      if (at.begun === undefined) return { runId: id, createdAt: at.from?.createdAt ?? new Date(), events, detached };
      const begun = new EagerIteration(events);
      try {
        // As it is stored: whoever attaches is told the same.
        const { createdAt } = (await at.begun).run;
        return { runId: id, createdAt, events: begun, detached };
      } catch (error) {
        // Nothing of it was shown to anyone, and there is no run that could be ended.
        stored = false;
        cancel.abort(new AppError('cancelled', 'The run could not be written'));
        void begun.return().catch(() => undefined);
        throw error;
      }
    } catch (error) {
      cancel.release();
      if (stored) await this.endEarly(id, at.begun, endOf(error, cancel.signal, prepared));
      throw error;
    }
  }

  /** A run that was refused, or stopped, before it told anything. */
  private async endEarly(id: string, begun: Begun | Promise<Begun> | undefined, end: RunEnd): Promise<void> {
    try {
      await begun;
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
    return { runId: run.id, createdAt: run.createdAt, events: this.follow(prepared, run), detached: true };
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

  private async *follow(prepared: Prepared, run: StoredRun): AsyncGenerator<readonly NumberedEvent[]> {
    const { principal, signal } = prepared.context;
    let lastN = 0;
    for (;;) {
      for await (const numbered of followRun({ principal, runId: run.id, afterN: lastN, signal }, this.ports)) {
        if (numbered.event.type === 'error') throw storedError({ ...run, error: numbered.event.error });
        lastN = numbered.n;
        yield [numbered];
        if (numbered.event.type === 'done') return;
      }
      const now = await this.ports.runs.get(principal, run.id);
      if (now?.state === 'done' && now.answer !== null && lastN === 0) {
        yield [...answerEvents(now.answer as unknown as TurnAnswer)].map((event, index) => ({ n: index + 1, event }));
        return;
      }
      if (now?.state === 'failed') throw storedError(now);
      if (now === undefined || !['interrupted', 'running'].includes(now.state)) break;
      const adopted = now.state === 'interrupted' ? await this.goOn(prepared, now) : undefined;
      if (adopted === undefined) continue;
      for await (const batch of adopted.events) yield batch.filter(({ n }) => n > lastN);
      return;
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

async function* chain<T>(first: Iterable<T>, second: AsyncIterable<T>): AsyncGenerator<T> {
  yield* first;
  yield* second;
}
