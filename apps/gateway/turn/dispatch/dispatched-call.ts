// Dispatches one call and waits for its outcome: by the worker's replies, with the journal as a fallback, until a deadline.
// Whoever writes the terminal state first decides how a call ends; the returned outcome is the journal's.
import type { Wait } from '#libs/waits/wait.js';
import { stopClocks, isForPeople, waitKinds } from '#libs/waits/wait-kinds.js';
import { Deadline } from '#libs/concurrency/deadline.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { channelNames, type ToolControl, type ToolJob, type ToolReply } from '#libs/schemas/tool-job.js';
import { failedOutcome, stoppedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import type { RunnableCall } from '../call.js';
import { isHandedOver } from '../runs/active-runs.js';
import type { DispatchServices } from './dispatch-services.js';
import { QueuedJob } from './queued-job.js';
import type { ReplyListener } from './reply-inbox.js';
import type { ToolProgress } from './tool-runner.js';

const silenceBoundMs = 1_000;
const maxPollMs = 5_000;
const cancelPollMs = 250;
const storeTimeoutMs = 2_000;
/** Bound of the progress that waits until the queue has confirmed the job. */
const maxPending = 64;
/** How much later than the worker's this deadline is: a worker's outcome says more. */
const workerFirstMs = 500;

export type DispatchableCall = Pick<RunnableCall, 'job' | 'tool' | 'context' | 'audit' | 'again'>;

/** An unanswered question that the tool server asks during the call. */
interface OpenQuestion {
  asked: Wait;
  /** Lets the time of the tool, and of the turn, go on. */
  goOn: () => void;
  /** Aborted when nobody needs an answer any more. */
  over: AbortController;
}

export class DispatchedCall implements ReplyListener {
  private readonly job: ToolJob;
  private started = false;
  private queuedIsReported = false;
  private readonly pending: ToolProgress[] = [];
  private stopping = false;
  private polling = false;
  /** The outcome was returned: no timer may start again. */
  private over = false;
  private startedAt = steadyNow();
  /** The tool's maximum time; the time of its questions does not count. */
  private most: Deadline;
  /** When the tool must have reported progress, by `steadyNow()`. */
  private dueAt: number;
  private pollMs = silenceBoundMs;
  private poll?: NodeJS.Timeout;
  private deadline?: NodeJS.Timeout;
  private question: OpenQuestion | undefined;
  private readonly queued: QueuedJob;
  private resolve!: (outcome: ToolOutcome) => void;
  private reject!: (error: unknown) => void;
  private stopListening!: () => void;
  /** Ends the wait for the queue's answer. */
  private readonly ending = new AbortController();

  constructor(
    private readonly services: DispatchServices,
    private readonly call: DispatchableCall,
    private readonly onProgress: (progress: ToolProgress) => void,
  ) {
    this.job = call.job;
    this.queued = new QueuedJob(services, call.job);
    this.dueAt = this.job.deadline;
    this.most = new Deadline(this.startedAt + this.job.maxTimeoutMs);
  }

  /** Call it once. @throws AppError store_unavailable if the job could not be added and the call did not begin, is safe, or has a run */
  run(): Promise<ToolOutcome> {
    const outcome = new Promise<ToolOutcome>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    const { signal } = this.call.context;
    this.stopListening = this.services.inbox.listen(this.job.callId, this);
    this.armDeadline();
    if (signal.aborted) this.aborted();
    else signal.addEventListener('abort', this.aborted, { once: true });
    // A slow queue may take until the call's deadline.
    this.queued.add(this.call, this.ending.signal).then(this.added, this.notAdded);
    return outcome;
  }

  private readonly aborted = (): void => {
    const { signal } = this.call.context;
    if (isHandedOver(signal)) this.fail(signal.reason);
    else void this.stop('cancelled');
  };

  /** `isOurs` false: somebody else has begun or ended the call; the journal knows its outcome. */
  private readonly added = (isOurs: boolean): void => {
    if (this.over) return;
    if (!isOurs) this.gap();
    this.reportQueued();
    this.armPoll();
  };

  /** The job could not be added. After the worker's reply, or during a stop, that answer of the queue comes too late to matter. */
  private readonly notAdded = (error: unknown): void => {
    if (!this.over && !this.started && !this.stopping) void this.refused(error);
  };

  private reportQueued(): void {
    if (this.queuedIsReported) return;
    this.queuedIsReported = true;
    this.onProgress({ status: 'queued' });
    for (const progress of this.pending.splice(0)) this.onProgress(progress);
  }

  private settle(outcome: ToolOutcome): void {
    if (this.over) return;
    this.reportQueued();
    this.finish();
    this.resolve(outcome);
  }

  private fail(error: unknown): void {
    if (this.over) return;
    this.finish();
    this.reject(error);
  }

  private finish(): void {
    this.over = true;
    // Without a reason Node would make an exception with a stack for every call.
    this.ending.abort('over');
    this.stopListening();
    this.closeQuestion();
    this.call.context.signal.removeEventListener('abort', this.aborted);
    clearTimeout(this.poll);
    clearTimeout(this.deadline);
  }

  reply(reply: ToolReply): void {
    this.pollMs = silenceBoundMs;
    switch (reply.kind) {
      case 'started':
        if (!this.started) {
          this.startedAt = steadyNow();
          this.most = new Deadline(this.startedAt + this.job.maxTimeoutMs);
        }
        this.started = true;
        this.services.routes.remember(this.job, reply.worker);
        this.extend();
        this.report({ status: 'running' });
        break;
      case 'progress':
        this.extend();
        this.report({ status: 'running', progress: reply.progress, total: reply.total, message: reply.message });
        break;
      case 'log':
        this.report({ status: 'running', log: reply.log });
        break;
      case 'question':
        if (reply.open) void this.lookForQuestion();
        else this.endQuestion();
        break;
      case 'outcome':
        if (reply.outcome === undefined) this.gap();
        else this.settle(reply.outcome);
    }
    if (!this.stopping) this.armPoll();
  }

  /**
   * A quick worker may begin before the queue has confirmed the job. Until then progress stays pending: the first, which says that
   * the tool runs, and the newest.
   */
  private report(progress: ToolProgress): void {
    if (this.queuedIsReported) return this.onProgress(progress);
    if (this.pending.length === maxPending) this.pending.splice(1, 1);
    this.pending.push(progress);
  }

  /** Reads the open question of the call from the store. While the store is away, the next poll tries again. */
  private async lookForQuestion(): Promise<void> {
    const open = await this.services.waits
      .open([this.job.callId])
      .catch((error: unknown) => this.services.logger.debug({ error }, 'questions of a call could not be read'));
    if (this.over || this.stopping || !Array.isArray(open)) return;
    const [asked] = open;
    if (asked === undefined) this.endQuestion();
    else if (asked.id !== this.question?.asked.id) this.waitForAnswer(asked);
  }

  private waitForAnswer(asked: Wait): void {
    this.closeQuestion();
    const { context } = this.call;
    const goOn = stopClocks(waitKinds[asked.kind], { tool: this.most, turn: context.deadline });
    const { over } = (this.question = { asked, goOn, over: new AbortController() });
    if (!isForPeople(asked)) {
      this.stopAfter(context.deadline.at - steadyNow());
      void this.services.sampling.answer(asked, context, over.signal);
    } else if (context.questions !== 'hold') {
      this.fail(new ApprovalNeeded(asked));
    } else {
      this.report({ status: 'waiting_approval', asks: asked });
      // The question expires long before this timer.
      this.stopAfter(asked.expiresAt.getTime() - Date.now() + this.job.timeoutMs + workerFirstMs);
    }
  }

  /** Closes the question; the tool's time runs again. */
  private endQuestion(): void {
    if (!this.closeQuestion()) return;
    this.extend();
    this.report({ status: 'running' });
  }

  /** False if no question was open. */
  private closeQuestion(): boolean {
    if (this.question === undefined) return false;
    this.question.goOn();
    this.question.over.abort('The question is no longer open');
    this.question = undefined;
    return true;
  }

  /** A worker has parked the call. But a parked call that may run is also what this gateway has just begun to plan. */
  private parkedFor([wait]: Wait[]): void {
    if (wait !== undefined && (wait.state === 'waiting' || this.queuedIsReported)) this.fail(new ApprovalNeeded(wait));
  }

  gap(): void {
    void this.lookIntoJournal();
  }

  /** Ends the call: at once while it is planned, otherwise by its worker, or here when the worker's grace time is over. */
  async stop(reason: 'cancelled' | 'tool_timeout'): Promise<void> {
    if (this.stopping || this.over) return;
    this.stopping = true;
    clearTimeout(this.deadline);
    const outcome = stoppedOutcome(reason, this.job, Math.max(0, steadyNow() - this.startedAt));
    const control: ToolControl = { version: 1, kind: 'cancel', callIds: [this.job.callId], reason };
    const sent = this.services.channels
      .publish(channelNames.workers, JSON.stringify(control), AbortSignal.timeout(storeTimeoutMs))
      .catch((error: unknown) =>
        this.services.logger.warn({ error }, 'workers could not be notified of a cancelled call'),
      );
    if (!this.started && (await this.end(outcome))) {
      this.queued.takeOut();
      this.settle(outcome);
      return;
    }
    await sent;
    if (this.over) return;
    this.pollMs = cancelPollMs;
    this.armPoll();
    this.deadline = setTimeout(() => void this.endAfterGrace(outcome), this.services.cancelGraceMs + workerFirstMs);
  }

  /** Progress moves the deadline, as far as the tool's own maximum and the request allow. */
  private extend(): void {
    if (this.stopping) return;
    const { timeoutMs } = this.job;
    this.dueAt = Math.min(steadyNow() + timeoutMs, this.most.at) + workerFirstMs;
    this.armDeadline();
  }

  private get endsAt(): number {
    return Math.min(this.dueAt, this.call.context.deadline.at);
  }

  private armDeadline(): void {
    if (this.question !== undefined) return;
    clearTimeout(this.deadline);
    if (this.over) return;
    this.deadline = setTimeout(() => void this.timeIsUp(), Math.max(0, this.endsAt - steadyNow()));
  }

  private stopAfter(ms: number): void {
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => void this.stop('tool_timeout'), Math.max(0, ms));
  }

  private async timeIsUp(): Promise<void> {
    // The deadline has moved, because another call of the turn waits for a person.
    if (steadyNow() < this.endsAt) return this.armDeadline();
    // The message that the tool asks a question may have been lost.
    await this.lookForQuestion();
    if (!this.over && this.question === undefined) await this.stop('tool_timeout');
  }

  private armPoll(): void {
    clearTimeout(this.poll);
    if (this.over) return;
    this.poll = setTimeout(() => void this.lookIntoJournal(), this.pollMs);
  }

  private async lookIntoJournal(): Promise<void> {
    if (this.polling) return;
    this.polling = true;
    try {
      const stored = await this.services.journal.get(this.job.callId);
      if (stored?.outcome !== undefined) return this.settle(stored.outcome);
      if (stored?.state === 'planned' && !this.stopping) await this.queued.addAgainWhenLost();
      if (stored?.state === 'dispatched') await this.lookForQuestion();
      if (stored?.state === 'parked') this.parkedFor(await this.services.waits.byIds([stored.waitId!]));
    } catch (error) {
      this.services.logger.debug({ error }, 'the journal could not be read for an outcome');
    } finally {
      this.polling = false;
    }
    if (!this.stopping) this.pollMs = Math.min(this.pollMs * 2, maxPollMs);
    this.armPoll();
  }

  private async endAfterGrace(outcome: ToolOutcome): Promise<void> {
    try {
      // Meanwhile a worker may claim the call, or end it.
      for (let tries = 3; tries > 0; tries -= 1) {
        const stored = await this.services.journal.get(this.job.callId);
        if (stored?.outcome !== undefined) return this.settle(stored.outcome);
        // A call whose worker was lost is planned again, and keeps the fence of the lost claim.
        const claim = stored?.state === 'dispatched' ? stored.fence : null;
        if (tries > 1 && (await this.end(outcome, claim ?? undefined))) return this.settle(outcome);
      }
    } catch (error) {
      this.services.logger.warn({ error, tool: this.job.name }, 'a cancelled call could not be ended in the journal');
    }
    this.settle(failedOutcome('indeterminate', 'tool_outcome_unknown', 'The outcome of the tool is unknown'));
  }

  private async end(outcome: ToolOutcome, fence?: string): Promise<boolean> {
    const end = { callId: this.job.callId, outcome, fence, ...this.call.audit };
    try {
      return await this.services.journal.end(end);
    } catch (error) {
      this.services.logger.warn({ error }, 'a call could not be ended in the journal');
      return false;
    }
  }

  /** Ends a call whose job could not be added. The caller of a refused call may repeat it, so the journal must end the call first. */
  private async refused(error: unknown): Promise<void> {
    const { callId, runId, safe } = this.job;
    const ended = await this.endPlanned(error);
    if (ended === true) return this.fail(error);
    // A worker has the call: only the queue's answer was lost.
    if (ended === false) return this.armPoll();
    // The end of the run ends its calls.
    if (runId !== undefined) return this.fail(error);
    this.services.lateCancels.add(callId, this.call.audit, error);
    if (safe) return this.fail(error);
    this.settle(failedOutcome('indeterminate', 'tool_outcome_unknown', 'The store failed: the call may have begun'));
  }

  /** False if the call is not planned any more; undefined if the journal does not answer. */
  private async endPlanned(why: unknown): Promise<boolean | undefined> {
    const { journal, logger } = this.services;
    try {
      const ended = await journal.cancelPlanned([this.job.callId], this.call.audit, why);
      if (ended.length > 0) this.queued.takeOut();
      return ended.length > 0;
    } catch (error) {
      logger.warn({ error }, 'a call that was not known to be queued could not be ended in the journal');
      return undefined;
    }
  }
}
