// A delivery of a call, step by step: claim (the journal decides who may run it), run, write its one outcome, reply.
// No Nest, no BullMQ. Reliability rules: an unsafe call runs at most once, a late outcome is dropped.
import { PutBack, type JobDelivery } from '#libs/backing/job-queue.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import { requestFields } from '#libs/logging/request-fields.js';
import type { Journal, StoredCall } from '#libs/runs/run-store.js';
import { mintApprovalId } from '#libs/schemas/identifiers.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { isEnded, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { NewSignIn } from '#libs/waits/sign-in.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import { WorkerCall, type CallParts } from './call.js';
import { type Ended, untilStoreAnswers, type OutcomeWriter } from './outcome-writer.js';
import { failed } from './read-result.js';
import type { RunningCalls } from './running-calls.js';
import { runTool, type ToolRunParts } from './run-tool.js';

export interface CallRunnerParts extends ToolRunParts, CallParts {
  journal: Journal;
  outcomes: OutcomeWriter;
  running: RunningCalls;
  /** Where calls wait for the sign-ins of their callers, for how long, and how many of a principal. */
  signIns: { waits: Pick<WaitStore, 'park'> } & Pick<NewSignIn, 'expiresMs' | 'maxWaiting'>;
  /** Whether a worker is still registered: the reaper removes those that stopped. */
  isKnown: (worker: string) => Promise<boolean>;
}

/** The next step of a delivery; the steps after it follow. `drop`: another delivery ends the call. */
type Step = 'run' | 'write' | 'reply' | 'drop';

/** A safe call that waited longer may have been cancelled before this worker could receive it. */
const lookAfterMs = 1_000;
/** How long a call waits until its gateway has got another token for it. */
const exchangeMs = 60_000;
/** How long an unavailable store is retried, even if the call's own time seems to be over. */
const storePatienceMs = 5_000;

export class CallRunner {
  constructor(private readonly parts: CallRunnerParts) {}

  /** Resolves when the delivery is handled. @throws AppError store_unavailable if no store answered in time. */
  async run(delivery: JobDelivery): Promise<void> {
    const { faults, outcomes, pool, replies, running, workerId } = this.parts;
    const { callId, replyTo, server } = delivery.job;
    // The first delivery of this call still runs in this process.
    if (running.has(callId)) return;
    if (outcomes.spool.has(callId)) return;
    if (!outcomes.canKeep(running.size)) throw new PutBack('the outcome spool is full');
    const call = new WorkerCall(delivery, this.parts);
    // Read now: the server's configuration may have changed when the call ends.
    call.isolation = pool.server(server)?.isolation;
    running.begin(call);
    try {
      if (faults !== undefined) await faults.at('before-dispatch');
      const step = this.mayRunAtOnce(call) ? 'run' : await this.claim(call);
      if (step === 'run') {
        if (faults !== undefined) await faults.at('after-dispatch');
        running.markStarted(callId);
        replies.send(replyTo, { kind: 'started', callId, worker: workerId });
        await runTool(this.parts, call);
      }
      const isParked = call.connectionNeeded !== undefined && (await this.park(call, call.connectionNeeded));
      if (isParked) call.outcome = undefined;
      else if (step === 'run' || step === 'write') {
        const ended = await outcomes.end(call.written());
        this.log(call, ended);
        // A retried write may have found its own outcome. The gateway reads the outcome that counts from the journal.
        if (ended === 'stale') call.outcome = call.outcomeText = undefined;
        else if (faults !== undefined) await faults.at('after-outcome');
      }
      if (step !== 'drop') {
        if (faults !== undefined) await faults.at('before-reply');
        replies.send(replyTo, { kind: 'outcome', callId, outcome: call.outcome }, call.outcomeText);
      }
      if (faults !== undefined) await faults.at('before-ack');
    } finally {
      call.forgetSecrets?.();
      running.end(callId);
      call.span?.end(call.outcome?.error?.code);
    }
  }

  /**
   * Parks the call until its caller has signed in. False if it may not wait, or the store does not answer: then it ends without its tool
   * having run.
   */
  private async park(call: WorkerCall, { server, scopes, canSignIn }: ConnectionNeeded): Promise<boolean> {
    const { job, fence, arguments: args = {} } = call;
    const { logger, running, signIns, workerId: worker } = this.parts;
    const { waits, ...bounds } = signIns;
    // No person is waited for, only the gateway of the call.
    if (!canSignIn) bounds.expiresMs = Math.min(bounds.expiresMs, exchangeMs);
    const signIn = {
      id: mintApprovalId(),
      callId: job.callId,
      fence,
      worker,
      server,
      scopes,
      arguments: args,
      ...bounds,
    };
    if (this.parts.faults !== undefined) await this.parts.faults.at('before-park');
    try {
      const parked = await untilStoreAnswers(() => waits.park(signIn), steadyNow() + storePatienceMs);
      if (parked) running.markUnstarted(job.callId);
      return parked;
    } catch (error) {
      logger.warn({ error, tool: job.name }, 'a call could not be parked for a sign-in');
      return false;
    }
  }

  /** True for the usual safe call, which may run twice and is written only with its outcome. */
  private mayRunAtOnce({ job, redelivered, repeated, queueWaitMs }: WorkerCall): boolean {
    const isFirst = !redelivered && !repeated && queueWaitMs <= lookAfterMs;
    const isWanted = steadyNow() <= job.deadline && !this.parts.running.wasCancelled(job.callId);
    return job.safe && job.arguments !== undefined && isFirst && isWanted;
  }

  private async claim(call: WorkerCall): Promise<Step> {
    const { job, redelivered, repeated } = call;
    if (redelivered || repeated || (job.safe && call.queueWaitMs > lookAfterMs)) {
      const stored = await this.stored(job);
      if (stored?.state !== 'planned') return this.judge(call, stored);
    }
    const refusal = await this.refusal(job);
    if (refusal !== undefined) {
      void call.end(refusal);
      return 'write';
    }
    if (job.safe && job.arguments !== undefined) return 'run';
    return (await this.ask(job, () => call.claim())) ? 'run' : this.judge(call, await this.stored(job));
  }

  /** The outcome of a call that is too late or cancelled, and so is not started. */
  private async refusal(job: ToolJob): Promise<ToolOutcome | undefined> {
    if (await this.isLate(job)) return failed('tool_timeout', 'The call waited in the queue until its deadline');
    return this.parts.running.wasCancelled(job.callId) ? failed('cancelled', 'The call was cancelled') : undefined;
  }

  /** Whether the call's deadline has passed. The database's clock confirms it, since the gateway's may differ from ours. */
  private async isLate(job: ToolJob): Promise<boolean> {
    if (steadyNow() <= job.deadline) return false;
    const ask = () => this.parts.journal.plannedSinceMs(job.callId);
    const plannedSinceMs = await untilStoreAnswers(ask, steadyNow() + storePatienceMs);
    return plannedSinceMs !== undefined && plannedSinceMs > job.deadline - job.queuedAt;
  }

  private stored(job: ToolJob): Promise<StoredCall | undefined> {
    return this.ask(job, () => this.parts.journal.get(job.callId));
  }

  private ask<T>({ deadline }: ToolJob, ask: () => Promise<T>): Promise<T> {
    return untilStoreAnswers(ask, Math.max(deadline, steadyNow() + storePatienceMs));
  }

  /** Decides by the journal what to do with a call that is not planned. */
  private async judge(call: WorkerCall, stored: StoredCall | undefined): Promise<Step> {
    const { job } = call;
    const { logger, running, workerId } = this.parts;
    if (stored === undefined) {
      logger.warn({ tool: job.name, requestId: job.requestId }, 'a job without a journaled call was dropped');
      return 'drop';
    }
    if (isEnded(stored.state)) {
      call.outcome = stored.outcome;
      return 'reply';
    }
    // Planned calls (put back between two reads) and parked calls get another job later.
    if (stored.state !== 'dispatched' || stored.fence === null) return 'drop';
    call.fence = stored.fence;
    call.arguments = stored.arguments;
    // The answer to the claim was lost: no worker has started the tool.
    const isUnstarted = stored.worker === workerId && !running.wasStarted(job.callId);
    if (isUnstarted || job.safe) return 'run';
    if (!call.redelivered) return 'drop';
    await this.leaveToItsWorker(stored);
    call.outcome = failed('tool_outcome_unknown', unknown);
    return 'write';
  }

  /** Puts the job back while the other worker is registered: a worker that lost its lock may still write the outcome. */
  private async leaveToItsWorker({ worker }: StoredCall): Promise<void> {
    if (worker === null || worker === this.parts.workerId) return;
    const known = await untilStoreAnswers(() => this.parts.isKnown(worker), steadyNow() + storePatienceMs);
    if (known) throw new PutBack('its worker is not known to have stopped');
  }

  /** The gateway logs each call, so this is `debug`, except for late outcomes, which no gateway sees. */
  private log({ job, outcome }: WorkerCall, ended: Ended): void {
    const { logger } = this.parts;
    const level = ended === 'stale' ? 'info' : 'debug';
    if (!logger.isLevelEnabled(level)) return;
    const { state, error, durationMs } = outcome!;
    const metadata = { server: job.server, state, code: error?.code, ended };
    const fields = { tool: job.name, ...requestFields(job), duration: Math.round(durationMs), metadata };
    logger[level](fields, 'tool call run');
  }
}

const unknown = 'The worker stopped during the call: it is unknown whether it took effect';
