// One delivery of one call: who may run it (the journal decides), the run, its one recorded outcome, the reply.
// No Nest, no BullMQ. Reliability rules: an unsafe call runs at most once, a late outcome is dropped.
import { strikeOutKnown } from '#libs/audit/known-secrets.js';
import type { Answer, Question } from '#libs/approvals/question.js';
import type { SamplingAnswer, SamplingRequest } from '#libs/approvals/sampling-request.js';
import { PutBack, type JobDelivery } from '#libs/backing/job-queue.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { requestFields } from '#libs/logging/request-fields.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { ToolJob } from '#libs/schemas/tool-job.js';
import { terminalStates, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { Progress } from '../mcp/wire/guarded-transport.js';
import { untilStoreAnswers, type OutcomeWriter } from './outcome-writer.js';
import { failed, type ReadOutcome } from './read-result.js';
import type { Questions } from './questions.js';
import type { ReplySender } from './reply-sender.js';
import type { RunningCalls } from './running-calls.js';
import { runTool, type ToolRunParts } from './run-tool.js';
import { ToolCall, type CallListener } from './tool-call.js';

export interface RunToolCallParts extends ToolRunParts {
  workerId: string;
  journal: Journal;
  outcomes: OutcomeWriter;
  replies: ReplySender;
  running: RunningCalls;
  questions: Pick<Questions, 'ask' | 'sample'>;
  /** Whether a worker is still registered: the reaper removes those that stopped. */
  isKnown: (worker: string) => Promise<boolean>;
}

type StoredCall = NonNullable<Awaited<ReturnType<Journal['get']>>>;

/** A safe call that waited longer may have been cancelled before this worker could receive it. */
const lookAfterMs = 1_000;
/** How long an unavailable store is retried, even if the call's own time seems to be over. */
const storePatienceMs = 5_000;

export class RunToolCall implements CallListener {
  constructor(private readonly parts: RunToolCallParts) {}

  /** Resolves when the delivery is handled. @throws AppError store_unavailable if no store answered in time. */
  async run(delivery: JobDelivery): Promise<void> {
    const { running, outcomes } = this.parts;
    const { callId } = delivery.job;
    // Delivered twice to this process: the first delivery is still running.
    if (running.has(callId)) return;
    // It has ended; its outcome is about to be written to the store, which was unavailable.
    if (outcomes.isSpooled(callId)) return;
    if (!outcomes.canKeep(running.size)) throw new PutBack('the outcome spool is full');
    const call = new ToolCall(delivery, this);
    running.begin(call);
    try {
      if (this.parts.faults !== undefined) await this.parts.faults.at('before-dispatch');
      if (this.mayRunAtOnce(call) || (await this.mayRun(call))) await this.runPermitted(call);
      if (this.parts.faults !== undefined) await this.parts.faults.at('before-ack');
    } finally {
      call.forgetSecrets?.();
      running.end(callId);
      call.span?.end();
    }
  }

  onProgress({ job }: ToolCall, { progress, total, message }: Progress): void {
    this.parts.replies.send(job.replyTo, { kind: 'progress', callId: job.callId, progress, total, message });
  }

  /**
   * A safe call that takes long is claimed after all: otherwise it looks like one that no worker took. If it has ended
   * meanwhile (cancelled, given up), its run is stopped.
   */
  async onLong(call: ToolCall): Promise<void> {
    const { journal, logger, workerId } = this.parts;
    try {
      const claim = await journal.claim({ callId: call.job.callId, worker: workerId });
      if (claim === undefined) call.stop('cancelled');
      else call.fence = claim.fence;
    } catch (error) {
      logger.warn({ error, tool: call.job.name }, 'a long call could not be claimed');
    }
  }

  onQuestion(call: ToolCall, question: Question, signal: AbortSignal): Promise<Answer> {
    return this.parts.questions.ask(call, question, signal);
  }

  onSampling(call: ToolCall, request: SamplingRequest, signal: AbortSignal): Promise<SamplingAnswer> {
    return this.parts.questions.sample(call, request, signal);
  }

  private async runPermitted(call: ToolCall): Promise<void> {
    const { replies, running, workerId } = this.parts;
    const { callId, replyTo } = call.job;
    if (this.parts.faults !== undefined) await this.parts.faults.at('after-dispatch');
    running.markStarted(callId);
    replies.send(replyTo, { kind: 'started', callId, worker: workerId });
    // Read now: the server's configuration may have changed when the call ends.
    call.isolation = this.isolationOf(call);
    const read = await runTool(this.parts, call);
    await this.end(call, withoutSecrets(read), call.queueWaitMs);
  }

  /** The usual safe call: it is written only with its outcome, because running it twice is harmless. */
  private mayRunAtOnce({ job, redelivered, repeated, queueWaitMs }: ToolCall): boolean {
    const isFirst = !redelivered && !repeated && queueWaitMs <= lookAfterMs;
    const isWanted = steadyNow() <= job.deadline && !this.parts.running.wasCancelled(job.callId);
    return job.safe && job.arguments !== undefined && isFirst && isWanted;
  }

  /** False: this delivery may not run the call, and any reply has been sent. */
  private async mayRun(call: ToolCall): Promise<boolean> {
    const { job, redelivered } = call;
    if (redelivered || call.repeated || (job.safe && call.queueWaitMs > lookAfterMs)) {
      const stored = await this.stored(job);
      if (stored?.state !== 'planned') return this.judge(call, stored);
    }
    if (await this.refusedBeforeStart(call)) return false;
    if (job.safe && job.arguments !== undefined) return true;
    const claim = { callId: job.callId, worker: this.parts.workerId, withArguments: job.arguments === undefined };
    const claimed = await this.ask(job, () => this.parts.journal.claim(claim));
    if (claimed === undefined) return this.judge(call, await this.stored(job));
    call.fence = claimed.fence;
    call.arguments ??= claimed.arguments;
    return true;
  }

  /** Its time is over, or it was cancelled before it arrived: it ends without starting. */
  private async refusedBeforeStart(call: ToolCall): Promise<boolean> {
    const late = await this.isLate(call.job);
    if (!late && !this.parts.running.wasCancelled(call.job.callId)) return false;
    const read = late
      ? failed('tool_timeout', 'The call waited in the queue until its deadline')
      : failed('cancelled', 'The call was cancelled');
    call.isolation = this.isolationOf(call);
    await this.end(call, read, call.queueWaitMs);
    return true;
  }

  /** Its times are from its gateway's clock. If that and ours disagree, the database's clock decides. */
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

  /** Like `mayRun`, by the call's state in the journal. */
  private async judge(call: ToolCall, stored: StoredCall | undefined): Promise<boolean> {
    const { job } = call;
    const { logger, running, workerId } = this.parts;
    if (stored === undefined) {
      logger.warn({ tool: job.name, requestId: job.requestId }, 'a job without a journaled call was dropped');
      return false;
    }
    if ((terminalStates as readonly string[]).includes(stored.state)) {
      await this.reply(job, stored.outcome);
      return false;
    }
    // Planned (put back between two reads) and parked calls get a job of their own when their time comes.
    if (stored.state !== 'dispatched' || stored.fence === null) return false;
    call.fence = stored.fence;
    call.arguments = stored.arguments;
    // The answer to the claim was lost: no worker has started the tool.
    const isUnstarted = stored.worker === workerId && !running.wasStarted(job.callId);
    if (isUnstarted || job.safe) return true;
    if (!call.redelivered) return false;
    await this.leaveToItsWorker(stored);
    call.isolation = this.isolationOf(call);
    await this.end(call, failed('tool_outcome_unknown', unknown));
    return false;
  }

  /** A lost lock does not mean a dead worker: until it is given up, its outcome may still arrive. */
  private async leaveToItsWorker({ worker }: StoredCall): Promise<void> {
    if (worker === null || worker === this.parts.workerId) return;
    const known = await untilStoreAnswers(() => this.parts.isKnown(worker), steadyNow() + storePatienceMs);
    if (known) throw new PutBack('its worker is not known to have stopped');
  }

  /** Records the outcome and replies with it. If the call had ended, or runs elsewhere, the journal decides. */
  private async end(call: ToolCall, read: ReadOutcome, queueWaitMs?: number): Promise<void> {
    const { job } = call;
    const outcome: ToolOutcome = {
      state: read.state,
      blocks: read.blocks,
      structuredContent: read.structuredContent,
      error: read.error,
      truncated: read.truncated,
      durationMs: call.durationMs,
      queueWaitMs,
    };
    const ended = await this.parts.outcomes.end({
      callId: job.callId,
      fence: call.fence,
      worker: this.parts.workerId,
      isolation: call.isolation,
      outcome,
      requestId: job.requestId,
      traceparent: job.traceparent,
      keyId: job.keyId,
      ip: job.ip,
      model: job.model,
    });
    this.log(job, outcome, ended);
    // Perhaps ended by this very outcome: the write got no answer and was retried.
    if (ended === 'stale') return this.reply(job, undefined);
    if (this.parts.faults !== undefined) await this.parts.faults.at('after-outcome');
    await this.reply(job, outcome);
    call.span?.end(outcome.error?.code);
  }

  private isolationOf({ job }: ToolCall): string | undefined {
    return this.parts.pool.server(job.server)?.isolation;
  }

  private async reply({ callId, replyTo }: ToolJob, outcome: ToolOutcome | undefined): Promise<void> {
    if (this.parts.faults !== undefined) await this.parts.faults.at('before-reply');
    this.parts.replies.send(replyTo, { kind: 'outcome', callId, outcome });
  }

  /** A call's one line is the gateway's, which also knows of calls that no worker saw. Of an outcome that comes too late it does not. */
  private log(job: ToolJob, outcome: ToolOutcome, ended: string): void {
    const metadata = { server: job.server, state: outcome.state, code: outcome.error?.code, ended };
    this.parts.logger[ended === 'stale' ? 'info' : 'debug'](
      {
        tool: job.name,
        ...requestFields(job),
        duration: Math.round(outcome.durationMs),
        metadata,
      },
      'tool call run',
    );
  }
}

/** What failed tells why, which may be with the very token that was refused. */
function withoutSecrets(read: ReadOutcome): ReadOutcome {
  return read.error === undefined ? read : (JSON.parse(strikeOutKnown(JSON.stringify(read))) as ReadOutcome);
}

const unknown = 'The worker stopped during the call: it is unknown whether it took effect';
