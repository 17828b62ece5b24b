// Runs tools in the workers, through the queue: admits or refuses at once, adds the job, and leaves the waiting to
// DispatchedCall. The call has been journaled as planned before it comes here.
import { setMaxListeners } from 'node:events';
import type { Backing } from '#libs/backing/backing.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import type { PostgresSessionStore } from '#libs/runs/sessions/postgres-session-store.js';
import type { ProcessRegistry } from '#libs/runs/processes/process-registry.js';
import type { AuditContext, Journal, PlannedCall } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { CatalogTool } from '#libs/schemas/tool-definition.js';
import { maxCarriedArgumentsBytes, type ToolJob } from '#libs/schemas/tool-job.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { DispatchedCall } from './dispatched-call.js';
import { FairSlots } from '#libs/concurrency/fair-slots.js';
import type { LateCancels } from './late-cancels.js';
import { QueueGauge } from './queue-gauge.js';
import { ReplyInbox } from './reply-inbox.js';
import { SessionRoutes } from './session-routes.js';
import type { RunnableCall, ToolProgress, ToolRunner } from './tool-runner.js';
import { WorkerWatch } from './worker-watch.js';

export interface QueuedToolRunnerParts {
  gatewayId: string;
  backing: Pick<Backing, 'queue' | 'channels'>;
  journal: Journal;
  /** The sessions that were made with their calls: the worker is told where. */
  sessions: Pick<PostgresSessionStore, 'known'>;
  registry: ProcessRegistry;
  lateCancels: LateCancels;
  limits: {
    sessionCalls: number;
    principalCalls: number;
    queueLength: number;
    cancelGraceMs: number;
    workerWaitMs: number;
  };
  logger: Logger;
}

/** How many may wait for a place, by key, before the answer is 429. */
const waitingPerPlace = 32;

export class QueuedToolRunner implements ToolRunner {
  private readonly inbox: ReplyInbox;
  private readonly watch: WorkerWatch;
  private readonly routes: SessionRoutes;
  private readonly gauge: QueueGauge;
  private readonly sessions: FairSlots;
  private readonly principals: FairSlots;
  private readonly active = new Map<DispatchedCall, Promise<ToolOutcome>>();
  private closing = false;

  constructor(private readonly parts: QueuedToolRunnerParts) {
    const { backing, gatewayId, limits, logger, registry } = parts;
    this.inbox = new ReplyInbox(backing.channels, gatewayId, logger);
    this.watch = new WorkerWatch(registry, backing.channels, logger);
    this.routes = new SessionRoutes(this.watch);
    this.gauge = new QueueGauge(backing.queue, limits.queueLength);
    this.sessions = new FairSlots(limits.sessionCalls, limits.sessionCalls * waitingPerPlace, 'session');
    this.principals = new FairSlots(limits.principalCalls, limits.principalCalls * waitingPerPlace, 'principal');
  }

  async start(): Promise<void> {
    await Promise.all([this.inbox.start(), this.watch.start()]);
  }

  /** Cancels what still runs and waits for its outcomes, as long as the grace time allows. */
  async close(): Promise<void> {
    this.closing = true;
    this.watch.endWaits();
    await Promise.all([...this.active.keys()].map((call) => call.stop('cancelled')));
    await Promise.allSettled(this.active.values());
    await Promise.all([this.inbox.close(), this.watch.close()]);
  }

  hasWorker(): boolean {
    return this.watch.hasWorker;
  }

  /**
   * While no worker runs, calls wait for one: for a bounded time, and no longer than they may take themselves.
   * @throws AppError no_worker, shutting_down; the signal's reason when that aborts first
   */
  async untilWorker(
    { timeoutMs }: Pick<CatalogTool, 'timeoutMs'>,
    { signal, deadline }: Pick<RequestContext, 'signal' | 'deadline'>,
    since = steadyNow(),
  ): Promise<void> {
    if (this.watch.hasWorker) return;
    // One request's signal may stand over all of its calls that wait: Node would warn of a leak.
    setMaxListeners(0, signal);
    const until = Math.min(since + Math.min(this.parts.limits.workerWaitMs, timeoutMs), deadline);
    await this.watch.untilWorker(until - steadyNow(), signal);
    signal.throwIfAborted();
    if (this.closing) throw shuttingDown();
    if (!this.watch.hasWorker) throw new AppError('no_worker', 'No worker is running', { retryAfterSeconds: 2 });
  }

  /** The journal's row of a call that this runner would run. */
  planCall(tool: CatalogTool, args: JsonObject, context: CallContext): PlannedCall {
    return {
      id: context.callId,
      kind: 'server',
      principal: context.principal,
      sessionId: context.sessionId,
      name: tool.name,
      server: tool.server,
      tool: tool.tool,
      definitionHash: tool.definitionHash,
      arguments: args,
      safe: tool.safe,
      job: toJob(this.parts.gatewayId, { tool, arguments: args }, context),
    };
  }

  async run(
    call: RunnableCall,
    context: CallContext,
    onProgress: (progress: ToolProgress) => void,
  ): Promise<ToolOutcome> {
    const audit = auditContext(context);
    const places: (() => void)[] = [];
    try {
      try {
        await this.admit(call.tool, context, places);
      } catch (error) {
        return await this.neverQueued(error, context);
      }
      const { parts } = this;
      const job = this.toJobInSession(call, context);
      // One that its worker has to ask the journal for, first of all, would keep the others of its job.
      const again = call.again === true;
      const together = isQuick(call.tool) && job.version === 1 && !again;
      const dispatched = new DispatchedCall(
        {
          queue: parts.backing.queue,
          channels: parts.backing.channels,
          journal: parts.journal,
          inbox: this.inbox,
          routes: this.routes,
          lateCancels: parts.lateCancels,
          cancelGraceMs: parts.limits.cancelGraceMs,
          logger: parts.logger,
        },
        job,
        { audit, signal: context.signal, deadline: context.deadline, together, again, onProgress },
      );
      const outcome = dispatched.run();
      this.active.set(dispatched, outcome);
      return await outcome.finally(() => this.active.delete(dispatched));
    } finally {
      for (const giveBack of places) giveBack();
    }
  }

  /** The worker of a stateful server makes the session itself: it may have an instance to spare for it. */
  private toJobInSession(call: { tool: CatalogTool; arguments: JsonObject }, context: CallContext): ToolJob {
    const { gatewayId, sessions } = this.parts;
    const job = toJob(gatewayId, call, context);
    const made = job.stateful === true ? undefined : sessions.known(context.principal, context.sessionId);
    return made === undefined ? job : { ...job, sessionDirectory: made.directory };
  }

  private async admit(tool: CatalogTool, context: CallContext, places: (() => void)[]): Promise<void> {
    if (this.closing) throw shuttingDown();
    const since = steadyNow();
    const session = `${context.principal}\n${context.sessionId}`;
    // Always in this order, so that two calls never wait for each other.
    places.push(await this.sessions.take(session, context));
    places.push(await this.principals.take(context.principal, context));
    // With its places: so many wait, and no more.
    await this.untilWorker(tool, context, since);
    await this.gauge.admit();
  }

  /** A call that will not be queued is ended in the journal too; a caller who left gets an outcome, others the error. */
  private async neverQueued(error: unknown, context: CallContext): Promise<ToolOutcome> {
    const audit = auditContext(context);
    try {
      await this.parts.journal.cancelPlanned([context.callId], audit);
    } catch (cause) {
      this.parts.logger.warn({ error: cause }, 'a refused call could not be ended in the journal');
      this.parts.lateCancels.add(context.callId, audit);
    }
    if (context.signal.aborted) return failedOutcome('cancelled', 'cancelled', 'The call was cancelled');
    throw error;
  }
}

const shuttingDown = () => new AppError('shutting_down', 'The gateway is stopping', { retryAfterSeconds: 2 });

export function auditContext(context: RequestContext & Pick<CallContext, 'model'>): AuditContext {
  return {
    requestId: context.requestId,
    ...(context.traceparent === undefined ? {} : { traceparent: context.traceparent }),
    ...(context.keyId === undefined ? {} : { keyId: context.keyId }),
    ...(context.ip === undefined ? {} : { ip: context.ip }),
    ...(context.model === undefined ? {} : { model: context.model }),
  };
}

/** Reads what is at hand in the worker itself. */
const isQuick = ({ safe, isolation }: CatalogTool): boolean => safe && isolation === 'builtin';

function toJob(gatewayId: string, call: { tool: CatalogTool; arguments: JsonObject }, context: CallContext): ToolJob {
  const { tool } = call;
  const queuedAt = steadyNow();
  const left = Math.max(1, Math.floor(context.deadline - queuedAt));
  const isCarried = Buffer.byteLength(JSON.stringify(call.arguments)) <= maxCarriedArgumentsBytes;
  return {
    ...(isCarried ? { version: 1, arguments: call.arguments } : { version: 2 }),
    callId: context.callId,
    replyTo: gatewayId,
    principal: context.principal,
    ...auditContext(context),
    ...(context.runId === undefined ? {} : { runId: context.runId }),
    ...(context.round === undefined ? {} : { round: context.round }),
    sessionId: context.sessionId,
    server: tool.server,
    tool: tool.tool,
    name: tool.name,
    definitionHash: tool.definitionHash,
    safe: tool.safe,
    ...(tool.stateful === true ? { stateful: true } : {}),
    ...(context.sealedHeaders === undefined ? {} : { sealedHeaders: context.sealedHeaders }),
    priority: context.priority,
    timeoutMs: Math.min(tool.timeoutMs, left),
    maxTimeoutMs: Math.min(Math.max(tool.maxTimeoutMs, tool.timeoutMs), left),
    deadline: Math.min(queuedAt + tool.timeoutMs, context.deadline),
    queuedAt,
  };
}
