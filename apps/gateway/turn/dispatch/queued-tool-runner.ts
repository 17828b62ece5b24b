// Runs tools in the workers, through the queue: answers a call from the cache, or admits or refuses it; DispatchedCall adds the job
// and waits. Every call is in the journal before.
import { setMaxListeners } from 'node:events';
import type { WaitStore } from '#libs/waits/wait-store.js';
import type { Backing } from '#libs/backing/backing.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Config } from '#libs/config/schema.js';
import type { Logger } from '#libs/logging/logger.js';
import type { PostgresSessionStore } from '#libs/runs/sessions/postgres-session-store.js';
import type { ProcessRegistry } from '#libs/runs/processes/process-registry.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { CallContext, RequestDeadline } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { tracing } from '#libs/tracing/tracing.js';
import type { Call, JobOptions, RunnableCall } from '../call.js';
import { isHandedOver } from '../runs/active-runs.js';
import type { DispatchServices, SamplingDesk, ServerTokens } from './dispatch-services.js';
import { DispatchedCall } from './dispatched-call.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { ApprovalSettings } from '../../govern/decide.js';
import { ForwardedHeaders } from './forwarded-headers.js';
import { CachedResults, type CachedResultsParts } from './cached-results.js';
import type { FairSlots } from '#libs/concurrency/fair-slots.js';
import { SharedPlaces } from '#libs/limits/shared-places.js';
import type { LateCancels } from './late-cancels.js';
import { ToolCallMeasure, type ToolMeasuring } from './measure-tool-calls.js';
import { QueueGauge } from './queue-gauge.js';
import { ReplyInbox } from './reply-inbox.js';
import { SessionRoutes } from './session-routes.js';
import type { ToolProgress, ToolRunner } from './tool-runner.js';
import { endToolSpan, startToolSpan, TracedQueue } from './trace-tool-call.js';
import { WorkerWatch } from './worker-watch.js';

export const dispatchLimits = ({ limits, tools }: Pick<Config, 'limits' | 'tools'>) => ({
  sessionCalls: limits.session_calls,
  principalCalls: limits.principal_calls,
  queueLength: limits.queue_length,
  cancelGraceMs: tools.cancel_grace_ms,
  workerWaitMs: tools.worker_wait_ms,
});

export interface QueuedToolRunnerParts {
  gatewayId: string;
  backing: Pick<Backing, 'queue' | 'channels' | 'cache' | 'counters'>;
  journal: Journal;
  /** Knows the directories of sessions that were made with their calls. */
  sessions: Pick<PostgresSessionStore, 'known'>;
  registry: ProcessRegistry;
  lateCancels: LateCancels;
  waits: Pick<WaitStore, 'open' | 'byIds'>;
  /** Gets tokens that calls of some servers need. Undefined: there is no such server. */
  exchanges?: ServerTokens | undefined;
  approval: ApprovalSettings;
  sampling: SamplingDesk;
  limits: ReturnType<typeof dispatchLimits>;
  measuring: ToolMeasuring;
  /** Counts look-ups in the cache: found, not found, or not wanted. */
  onCacheLookup: CachedResultsParts['onLookup'];
  fileIdentity: CachedResultsParts['fileIdentity'];
  logger: Logger;
}

/** How many calls may wait for each place before the answer is 429. */
const waitingPerPlace = 32;

export class QueuedToolRunner implements ToolRunner {
  private readonly inbox: ReplyInbox;
  private readonly watch: WorkerWatch;
  private readonly routes: SessionRoutes;
  private readonly gauge: QueueGauge;
  /** Places that gateways share. Closed with the runner. */
  readonly places: SharedPlaces;
  private readonly sessions: FairSlots;
  private readonly principals: FairSlots;
  private readonly measure: ToolCallMeasure;
  private readonly cached: CachedResults;
  private readonly headers: ForwardedHeaders;
  private readonly services: DispatchServices;
  private readonly jobs: JobOptions;
  private readonly active = new Map<DispatchedCall, Promise<ToolOutcome>>();
  private closing = false;

  constructor(private readonly parts: QueuedToolRunnerParts) {
    const { backing, gatewayId, journal, lateCancels, limits, logger, registry, sampling } = parts;
    this.jobs = { replyTo: gatewayId, questions: parts.approval };
    this.inbox = new ReplyInbox(backing.channels, gatewayId, logger);
    this.watch = new WorkerWatch(registry, backing.channels, logger);
    this.routes = new SessionRoutes(this.watch);
    this.gauge = new QueueGauge(backing.queue, limits.queueLength);
    const isAlone = () => registry.peers(gatewayId) === 0;
    this.places = new SharedPlaces({ counters: backing.counters, holder: gatewayId, isAlone, logger });
    this.sessions = this.slotsOf('session', limits.sessionCalls);
    this.principals = this.slotsOf('principal', limits.principalCalls);
    this.measure = new ToolCallMeasure(parts.measuring);
    const { fileIdentity, onCacheLookup: onLookup } = parts;
    this.cached = new CachedResults({ cache: backing.cache, journal, fileIdentity, onLookup, logger });
    this.headers = new ForwardedHeaders(backing.cache, logger);
    const { waits } = parts;
    const { queue, channels } = backing;
    const { inbox, routes } = this;
    const { cancelGraceMs } = limits;
    this.services = {
      queue: tracing === undefined ? queue : new TracedQueue(queue, tracing),
      channels,
      journal,
      inbox,
      routes,
      lateCancels,
      cancelGraceMs,
      waits,
      sampling,
      logger,
    };
  }

  async start(): Promise<void> {
    await Promise.all([this.inbox.start(), this.watch.start()]);
  }

  /** Cancels running calls and waits for their outcomes, as long as the grace time allows. */
  async close(): Promise<void> {
    this.closing = true;
    this.watch.endWaits();
    await Promise.all([...this.active.keys()].map((call) => call.stop('cancelled')));
    await Promise.allSettled(this.active.values());
    await Promise.all([this.inbox.close(), this.watch.close(), this.places.close()]);
  }

  private slotsOf(what: string, limit: number): FairSlots {
    return this.places.slots({ name: `${what}_calls`, limit, maxWaiting: limit * waitingPerPlace, what });
  }

  hasWorker(): boolean {
    return this.watch.hasWorker;
  }

  async untilWorker(
    { timeoutMs }: Pick<CatalogTool, 'timeoutMs'>,
    { signal, deadline }: { signal: AbortSignal; deadline: Pick<RequestDeadline, 'at'> },
    since = steadyNow(),
  ): Promise<void> {
    if (this.watch.hasWorker) return;
    // Many waiting calls may listen to one request's signal: Node would warn of a leak.
    setMaxListeners(0, signal);
    const until = Math.min(since + Math.min(this.parts.limits.workerWaitMs, timeoutMs), deadline.at);
    await this.watch.untilWorker(until - steadyNow(), signal);
    signal.throwIfAborted();
    if (this.closing) throw shuttingDown();
    if (!this.watch.hasWorker) throw new AppError('no_worker', 'No worker is running', { retryAfterSeconds: 2 });
  }

  plan(call: Call, tool: CatalogTool, args: JsonObject): RunnableCall {
    return call.prepare(tool, args, this.jobs);
  }

  run(call: RunnableCall, onProgress: (progress: ToolProgress) => void): Promise<ToolOutcome> {
    const span = tracing && startToolSpan(tracing, call);
    const measured = this.measure.start(call);
    const end = (outcome: ToolOutcome | undefined, error?: unknown) => {
      measured(outcome, error);
      if (span !== undefined) endToolSpan(span, outcome, error);
    };
    return this.cached
      .answer(call, () => this.send(call, onProgress))
      .then(
        (outcome) => {
          end(outcome);
          return outcome;
        },
        (error: unknown) => {
          end(undefined, error);
          throw error;
        },
      );
  }

  async answer(call: Call, args: JsonObject, work: () => Promise<ToolOutcome>): Promise<void> {
    const measured = this.measure.start(call);
    const since = steadyNow();
    try {
      const outcome = { ...(await work()), durationMs: Math.round(steadyNow() - since) };
      call.answer(args, outcome);
      measured(outcome);
    } catch (error) {
      measured(undefined, error);
      throw error;
    }
  }

  async skip({ id: callId, audit }: RunnableCall, outcome: ToolOutcome): Promise<void> {
    await this.parts.journal.end({ ...audit, callId, outcome });
  }

  private send(call: RunnableCall, onProgress: (progress: ToolProgress) => void): Promise<ToolOutcome> {
    const { exchanges } = this.parts;
    if (exchanges?.isFor(call.tool.server) !== true) return this.sendAtOnce(call, onProgress);
    return this.sendWithToken(call, onProgress, exchanges);
  }

  /** A call whose server refuses the token before anything has run is parked by its worker, and runs with another one. */
  private async sendWithToken(
    call: RunnableCall,
    onProgress: (progress: ToolProgress) => void,
    exchanges: ServerTokens,
  ): Promise<ToolOutcome> {
    try {
      if (await exchanges.beforeCall(call.tool.server, call.context)) call.job.renewsToken = true;
    } catch (error) {
      return this.neverQueued(error, call);
    }
    for (;;) {
      try {
        return await this.sendAtOnce(call, onProgress);
      } catch (error) {
        const parkedFor =
          error instanceof ApprovalNeeded && error.approval.kind === 'sign_in' ? error.approval : undefined;
        if (parkedFor === undefined) throw error;
        const outcome = await exchanges.again(parkedFor, call.context).catch((e: unknown) => this.neverQueued(e, call));
        if (outcome !== undefined) return outcome;
        call.again = true;
      }
    }
  }

  private sendAtOnce(call: RunnableCall, onProgress: (progress: ToolProgress) => void): Promise<ToolOutcome> {
    if (call.forwarded === undefined) return this.dispatch(call, onProgress);
    return this.sendWithHeaders(call, onProgress);
  }

  private async sendWithHeaders(
    call: RunnableCall,
    onProgress: (progress: ToolProgress) => void,
  ): Promise<ToolOutcome> {
    try {
      await this.headers.keep(call);
    } catch (error) {
      return this.neverQueued(error, call);
    }
    try {
      return await this.dispatch(call, onProgress);
    } finally {
      this.headers.forget(call);
    }
  }

  private async dispatch(call: RunnableCall, onProgress: (progress: ToolProgress) => void): Promise<ToolOutcome> {
    const places: (() => void)[] = [];
    let dispatched: DispatchedCall | undefined;
    try {
      if (!this.admitAtOnce(call.context, places)) {
        try {
          await this.admit(call.tool, call.context, places);
        } catch (error) {
          return await this.neverQueued(error, call);
        }
      }
      call.begin();
      this.nameDirectory(call.job);
      dispatched = new DispatchedCall(this.services, call, onProgress);
      const outcome = dispatched.run();
      this.active.set(dispatched, outcome);
      return await outcome;
    } finally {
      if (dispatched !== undefined) this.active.delete(dispatched);
      for (const giveBack of places) giveBack();
    }
  }

  /** Takes all places that are free now. False if the call must wait, or be refused. */
  private admitAtOnce({ principal, sessionId, signal }: CallContext, places: (() => void)[]): boolean {
    if (this.closing || signal.aborted || !this.watch.hasWorker) return false;
    const ofSession = this.sessions.takeFree(sessionKey(principal, sessionId));
    const ofPrincipal = ofSession && this.principals.takeFree(principal);
    if (ofSession === undefined || ofPrincipal === undefined || !this.gauge.admitAtOnce()) {
      ofSession?.();
      ofPrincipal?.();
      return false;
    }
    places.push(ofSession, ofPrincipal);
    return true;
  }

  /** Adds the directory of a session that was made with the call. A stateful server's worker makes its own, or uses a standby. */
  private nameDirectory(job: ToolJob): void {
    if (job.stateful === true) return;
    const made = this.parts.sessions.known(job.principal, job.sessionId);
    if (made !== undefined) job.sessionDirectory = made.directory;
  }

  private async admit(tool: CatalogTool, context: CallContext, places: (() => void)[]): Promise<void> {
    if (this.closing) throw shuttingDown();
    const since = steadyNow();
    const session = sessionKey(context.principal, context.sessionId);
    const patience = { signal: context.signal, deadline: context.deadline.at };
    // Session before principal, always, so that two calls never wait for each other.
    places.push(await this.counted('session_calls', this.sessions.take(session, patience)));
    places.push(await this.counted('principal_calls', this.principals.take(context.principal, patience)));
    // The call has its places while it waits for a worker, so the places bound how many wait.
    await this.untilWorker(tool, context, since);
    await this.counted('queue_length', this.gauge.admit());
  }

  private async counted<Result>(limit: string, admitted: Promise<Result>): Promise<Result> {
    try {
      return await admitted;
    } catch (error) {
      const refused = error instanceof AppError && ['concurrency_exceeded', 'queue_full'].includes(error.code);
      if (refused) this.parts.measuring.metrics.rateLimited.inc({ limit });
      throw error;
    }
  }

  /** Ends a call that will not be queued in the journal. A caller who left gets an outcome, any other the error. */
  private async neverQueued(error: unknown, { id, context, audit, again }: RunnableCall): Promise<ToolOutcome> {
    if (isHandedOver(context.signal)) throw error;
    const why = context.signal.aborted ? undefined : error;
    // An approved call that no model made stays parked, so that its caller can repeat the call without another approval.
    const staysParked = again && context.model === undefined;
    try {
      if (!staysParked) await this.parts.journal.cancelPlanned([id], audit, why);
    } catch (cause) {
      this.parts.logger.warn({ error: cause }, 'a refused call could not be ended in the journal');
      this.parts.lateCancels.add(id, audit, why);
    }
    if (context.signal.aborted) return failedOutcome('cancelled', 'cancelled', 'The call was cancelled');
    throw error;
  }
}

const sessionKey = (principal: string, sessionId: string): string => `${principal}\n${sessionId}`;

const shuttingDown = () => new AppError('shutting_down', 'The gateway is stopping', { retryAfterSeconds: 2 });
