// One delivery of one call: who may run it (the journal decides), the run, its one recorded outcome, the reply.
// No Nest, no BullMQ. Reliability rules: an unsafe call runs at most once, a late outcome is dropped.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { noFaults, type Faults, type WorkerFaultPoint } from '#libs/config/fault-points.js';
import { PutBack, type JobDelivery } from '#libs/backing/job-queue.js';
import type { Logger } from '#libs/logging/logger.js';
import type { AuditContext, CallEnd, Journal } from '#libs/runs/run-store.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { terminalStates, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { OutcomeWriter } from './outcome-writer.js';
import { untilStoreAnswers } from './outcome-writer.js';
import { failed, type ReadOutcome } from './read-result.js';
import type { ReplySender } from './reply-sender.js';
import { Stopped, type RunningCalls } from './running-calls.js';
import { runTool, type ToolRunParts } from './run-tool.js';

export interface RunToolCallParts extends ToolRunParts {
  workerId: string;
  journal: Journal;
  outcomes: OutcomeWriter;
  replies: ReplySender;
  running: RunningCalls;
  /** Whether a worker stands among the living: the reaper takes those out that stopped. */
  isKnown: (worker: string) => Promise<boolean>;
  faults?: Faults;
  logger: Logger;
}

type StoredCall = NonNullable<Awaited<ReturnType<Journal['get']>>>;

/** May run: under this fence, or under none (safe calls whose job carries all that they need). */
type Permit = { fence?: string; arguments: JsonObject };

/** Shorter safe calls are written with their outcome only. */
const CLAIM_AFTER_MS = 1_000;
/** A safe call that waited longer may have been cancelled before this worker could hear of it. */
const LOOK_AFTER_MS = 1_000;
/** A store that is away is asked for so long, also where the call's own time seems to be over. */
const storePatienceMs = 5_000;

export class RunToolCall {
  constructor(private readonly parts: RunToolCallParts) {}

  /** Resolves when the delivery is dealt with. @throws AppError store_unavailable when nobody could be asked in time. */
  async run({ job, redelivered, repeated = false }: JobDelivery): Promise<void> {
    const { running, outcomes } = this.parts;
    // Delivered twice to this process: the first one is still at it.
    if (running.has(job.callId)) return;
    // It has ended; the store, which was away, is about to be told.
    if (outcomes.isSpooled(job.callId)) return;
    if (!outcomes.canKeep(running.size)) throw new PutBack('the outcome spool is full');
    const controller = running.begin(job.callId);
    try {
      // No longer than it may have: the gateway's clock may be another one.
      const queueWaitMs = Math.min(Math.max(0, steadyNow() - job.queuedAt), job.deadline - job.queuedAt);
      const permit = await this.#permit(job, { redelivered, repeated, queueWaitMs });
      if (permit !== undefined) await this.#runPermitted(job, { permit, queueWaitMs, controller });
      await this.#fault('before-ack');
    } finally {
      running.end(job.callId);
    }
  }

  async #runPermitted(
    job: ToolJob,
    start: { permit: Permit; queueWaitMs: number; controller: AbortController },
  ): Promise<void> {
    const { replies, running, workerId } = this.parts;
    await this.#fault('after-dispatch');
    running.markStarted(job.callId);
    replies.send(job.replyTo, { kind: 'started', callId: job.callId, worker: workerId });
    const startedAt = performance.now();
    // Asked now: its server may be configured otherwise when it ends.
    const isolation = this.#isolationOf(job);
    const late = start.permit.fence === undefined ? new LateClaim(this.parts, job, start.controller) : undefined;
    const read = await runTool(
      this.parts,
      { ...job, arguments: start.permit.arguments },
      {
        signal: start.controller,
        onProgress: (progress) => replies.send(job.replyTo, { kind: 'progress', callId: job.callId, ...progress }),
        afterEffect: () => this.#fault('after-effect'),
      },
    );
    const durationMs = Math.round((performance.now() - startedAt) * 1_000) / 1_000;
    const fence = start.permit.fence ?? (await late?.settle());
    await this.#end(job, { ...read, durationMs, queueWaitMs: start.queueWaitMs }, { ...isolation, ...fenceOf(fence) });
  }

  /** Undefined: this delivery may not run the call, and what there was to say has been said. */
  async #permit(
    job: ToolJob,
    { redelivered, repeated, queueWaitMs }: { redelivered: boolean; repeated: boolean; queueWaitMs: number },
  ): Promise<Permit | undefined> {
    await this.#fault('before-dispatch');
    if (redelivered || repeated || (job.safe && queueWaitMs > LOOK_AFTER_MS)) {
      const stored = await this.#stored(job);
      if (stored?.state !== 'planned') return this.#judge(job, stored, redelivered);
    }
    if (await this.#refusedBeforeStart(job, queueWaitMs)) return undefined;
    // A safe call is written with its outcome only: running it twice harms nobody.
    if (job.safe && job.arguments !== undefined) return { arguments: job.arguments };
    const claim = { callId: job.callId, worker: this.parts.workerId, withArguments: job.arguments === undefined };
    const claimed = await untilStoreAnswers(
      () => this.parts.journal.claim(claim),
      Math.max(job.deadline, steadyNow() + storePatienceMs),
    );
    if (claimed !== undefined) return { fence: claimed.fence, arguments: job.arguments ?? claimed.arguments! };
    return this.#judge(job, await this.#stored(job), redelivered);
  }

  /** Its time is over, or it was cancelled before it came here: it ends without having begun. */
  async #refusedBeforeStart(job: ToolJob, queueWaitMs: number): Promise<boolean> {
    const late = await this.#isLate(job);
    if (!late && !this.parts.running.wasCancelled(job.callId)) return false;
    const read: ReadOutcome = late
      ? failed('tool_timeout', 'The call waited in the queue for longer than its time')
      : failed('cancelled', 'The call was cancelled');
    await this.#end(job, { ...read, durationMs: 0, queueWaitMs }, this.#isolationOf(job));
    return true;
  }

  /** Its time was written by its gateway's clock. Where that and ours disagree, the database's is asked. */
  async #isLate(job: ToolJob): Promise<boolean> {
    if (steadyNow() <= job.deadline) return false;
    const ask = () => this.parts.journal.plannedSinceMs(job.callId);
    const plannedSinceMs = await untilStoreAnswers(ask, steadyNow() + storePatienceMs);
    return plannedSinceMs !== undefined && plannedSinceMs > job.deadline - job.queuedAt;
  }

  #stored(job: ToolJob): Promise<StoredCall | undefined> {
    return untilStoreAnswers(
      () => this.parts.journal.get(job.callId),
      Math.max(job.deadline, steadyNow() + storePatienceMs),
    );
  }

  async #judge(job: ToolJob, stored: StoredCall | undefined, redelivered: boolean): Promise<Permit | undefined> {
    if (stored === undefined) {
      this.parts.logger.warn(
        { tool: job.name, requestId: job.requestId },
        'a job without a journaled call was dropped',
      );
      return undefined;
    }
    if ((terminalStates as readonly string[]).includes(stored.state)) {
      await this.#reply(job, stored.outcome);
      return undefined;
    }
    // Planned (put back between two looks) and parked calls get a job of their own when their time comes.
    if (stored.state !== 'dispatched' || stored.fence === null) return undefined;
    // The claim's answer was lost on its way: the tool has not been started by anyone.
    if (stored.worker === this.parts.workerId && !this.parts.running.wasStarted(job.callId)) {
      return { fence: stored.fence, arguments: stored.arguments };
    }
    if (job.safe) return { fence: stored.fence, arguments: stored.arguments };
    if (redelivered) {
      await this.#leaveToItsWorker(stored);
      const unknown = failed(
        'tool_outcome_unknown',
        'The worker stopped during the call: whether it took effect is unknown',
      );
      await this.#end(job, { ...unknown, durationMs: 0 }, { ...this.#isolationOf(job), fence: stored.fence });
    }
    return undefined;
  }

  /** A lost lock is no death: while nobody has given its worker up, that one's outcome is on its way. */
  async #leaveToItsWorker({ worker }: StoredCall): Promise<void> {
    if (worker === null || worker === this.parts.workerId) return;
    const known = await untilStoreAnswers(() => this.parts.isKnown(worker), steadyNow() + storePatienceMs);
    if (known) throw new PutBack('its worker has not been given up');
  }

  /** Records the outcome and replies with it. When the call had ended, or runs elsewhere, that is for the journal to say. */
  async #end(job: ToolJob, outcome: ToolOutcome, ran: Pick<CallEnd, 'isolation' | 'fence'>): Promise<void> {
    const { outcomes, workerId } = this.parts;
    const end: CallEnd = {
      callId: job.callId,
      worker: workerId,
      ...auditOf(job),
      ...ran,
      outcome,
    };
    const ended = await outcomes.end(end);
    this.#log(job, outcome, ended);
    // Ended by this very outcome, perhaps: its writing got no answer and was tried again.
    if (ended === 'stale') return this.#reply(job, undefined);
    await this.#fault('after-outcome');
    await this.#reply(job, outcome);
  }

  #isolationOf({ server }: ToolJob): Pick<CallEnd, 'isolation'> {
    const isolation = this.parts.pool.server(server)?.isolation;
    return isolation === undefined ? {} : { isolation };
  }

  async #reply(job: ToolJob, outcome: ToolOutcome | undefined): Promise<void> {
    await this.#fault('before-reply');
    const reply = { kind: 'outcome' as const, callId: job.callId };
    this.parts.replies.send(job.replyTo, outcome === undefined ? reply : { ...reply, outcome });
  }

  #log(job: ToolJob, outcome: ToolOutcome, ended: string): void {
    this.parts.logger.info(
      {
        tool: job.name,
        requestId: job.requestId,
        sessionId: job.sessionId,
        userId: job.principal,
        ...(job.runId === undefined ? {} : { runId: job.runId }),
        duration: Math.round(outcome.durationMs),
        metadata: {
          server: job.server,
          state: outcome.state,
          ...(outcome.error === undefined ? {} : { code: outcome.error.code }),
          ended,
        },
      },
      'tool call',
    );
  }

  #fault(point: WorkerFaultPoint): Promise<void> {
    return (this.parts.faults ?? noFaults).at(point);
  }
}

/**
 * A safe call that takes its time is claimed after all: otherwise nobody could tell it from one that was never taken.
 * When it has ended meanwhile (cancelled, given up) its run is stopped.
 */
class LateClaim {
  readonly #timer: NodeJS.Timeout;
  #claiming?: Promise<string | undefined>;

  constructor(parts: RunToolCallParts, job: ToolJob, controller: AbortController) {
    this.#timer = setTimeout(() => {
      this.#claiming = parts.journal.claim({ callId: job.callId, worker: parts.workerId }).then(
        (claim) => {
          if (claim === undefined) controller.abort(new Stopped('cancelled'));
          return claim?.fence;
        },
        (error: unknown) => {
          parts.logger.warn({ error, tool: job.name }, 'a long call could not be claimed');
          return undefined;
        },
      );
    }, CLAIM_AFTER_MS);
  }

  /** The fence of the claim, where there is one by now. */
  async settle(): Promise<string | undefined> {
    clearTimeout(this.#timer);
    return this.#claiming;
  }
}

const fenceOf = (fence: string | undefined): Pick<CallEnd, 'fence'> => (fence === undefined ? {} : { fence });

function auditOf(job: ToolJob): AuditContext {
  return {
    requestId: job.requestId,
    ...(job.traceparent === undefined ? {} : { traceparent: job.traceparent }),
    ...(job.keyId === undefined ? {} : { keyId: job.keyId }),
    ...(job.ip === undefined ? {} : { ip: job.ip }),
    ...(job.model === undefined ? {} : { model: job.model }),
  };
}
