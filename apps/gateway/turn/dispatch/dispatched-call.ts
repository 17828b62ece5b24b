// One call between its job's adding and its outcome: replies first, the journal as the net, a deadline over all.
// Whoever writes the terminal state first decides; this only ever returns what the journal says.
import type { Approval } from '#libs/approvals/approval.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import { channelNames, type ToolControl, type ToolJob, type ToolReply } from '#libs/schemas/tool-job.js';
import { failedOutcome, type ToolOutcome } from '#libs/schemas/tool-outcome.js';
import { ApprovalNeeded } from '../../govern/approval-needed.js';
import { AskedQuestion } from './asked-question.js';
import type { DispatchServices } from './dispatch-services.js';
import type { ReplyListener } from './reply-inbox.js';
import type { ServerCall } from './server-call.js';
import type { ToolProgress } from './tool-runner.js';

const silenceBoundMs = 1_000;
const maxPollMs = 5_000;
const cancelPollMs = 250;
const storeTimeoutMs = 2_000;
/** Shorter: with what comes before and after it, a caller is refused within two seconds when the queue is silent. */
const addSilenceMs = 1_700;
/** What is told of a call before the queue has said that it is in it. */
const maxEarly = 64;
/** The worker's own clock runs out first: its outcome is the better one. */
const workerFirstMs = 500;

/** What is dispatched: a ServerCall. */
export type DispatchableCall = Pick<ServerCall, 'job' | 'tool' | 'context' | 'audit' | 'again'>;

export class DispatchedCall implements ReplyListener {
  private readonly job: ToolJob;
  private started = false;
  private queuedIsTold = false;
  private readonly early: ToolProgress[] = [];
  private stopping = false;
  private polling = false;
  /** The outcome has been handed on: no timer may start again. */
  private over = false;
  /** The worker into whose own queue the job went. */
  private sentTo?: string | undefined;
  private startedAt = steadyNow();
  private pollMs = silenceBoundMs;
  private poll?: NodeJS.Timeout;
  private deadline?: NodeJS.Timeout;
  private readonly question: AskedQuestion;
  private resolve!: (outcome: ToolOutcome) => void;
  private reject!: (error: unknown) => void;
  private stopListening!: () => void;
  /** Whoever still waits for the queue's answer need not. */
  private readonly ending = new AbortController();

  constructor(
    private readonly services: DispatchServices,
    private readonly call: DispatchableCall,
    private readonly onProgress: (progress: ToolProgress) => void,
  ) {
    this.job = call.job;
    this.question = new AskedQuestion(services.questions, call.job);
  }

  /** Call it once. @throws AppError store_unavailable when the job could not be added; the call has not begun then, or is safe, or of a run. */
  run(): Promise<ToolOutcome> {
    const outcome = new Promise<ToolOutcome>((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    const { signal } = this.call.context;
    this.stopListening = this.services.inbox.listen(this.job.callId, this);
    this.armDeadline(this.job.deadline);
    if (signal.aborted) this.aborted();
    else signal.addEventListener('abort', this.aborted, { once: true });
    this.add(this.ending.signal).then(this.added, this.notAdded);
    return outcome;
  }

  private readonly aborted = (): void => void this.stop('cancelled');

  private readonly added = (): void => {
    if (this.over) return;
    this.tellQueued();
    this.armPoll();
  };

  /** A slow queue may answer after the worker, whose word is enough, or after a stop, which settles the call itself. */
  private readonly notAdded = (error: unknown): void => {
    if (!this.over && !this.started && !this.stopping) void this.refused(error);
  };

  private tellQueued(): void {
    if (this.queuedIsTold) return;
    this.queuedIsTold = true;
    this.onProgress({ status: 'queued' });
    for (const progress of this.early.splice(0)) this.onProgress(progress);
  }

  private settle(outcome: ToolOutcome): void {
    if (this.over) return;
    this.tellQueued();
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
    // With a reason: without one, Node makes an exception with a stack for every call.
    this.ending.abort('over');
    this.stopListening();
    this.question.close();
    this.call.context.signal.removeEventListener('abort', this.aborted);
    clearTimeout(this.poll);
    clearTimeout(this.deadline);
  }

  reply(reply: ToolReply): void {
    this.pollMs = silenceBoundMs;
    switch (reply.kind) {
      case 'started':
        if (!this.started) this.startedAt = steadyNow();
        this.started = true;
        this.services.routes.remember(this.job, reply.worker);
        this.extend();
        this.tell({ status: 'running' });
        break;
      case 'progress':
        this.extend();
        this.tell({ status: 'running', progress: reply.progress, total: reply.total, message: reply.message });
        break;
      case 'question':
        if (reply.open) void this.lookForQuestion();
        else this.goOn();
        break;
      case 'outcome':
        if (reply.outcome === undefined) this.gap();
        else this.settle(reply.outcome);
    }
    if (!this.stopping) this.armPoll();
  }

  /**
   * A quick worker may begin before the queue has said that the job is in it. Until then, that it runs is kept, and the latest of
   * what it reported since: the queue may take its time to answer.
   */
  private tell(progress: ToolProgress): void {
    if (this.queuedIsTold) return this.onProgress(progress);
    if (this.early.length === maxEarly) this.early.splice(1, 1);
    this.early.push(progress);
  }

  /** The store says what is asked; without it, the next look. */
  private async lookForQuestion(): Promise<void> {
    const asked = await this.question.look().catch((error: unknown) => {
      this.services.logger.debug({ error }, 'questions of a call could not be read');
    });
    if (this.over || this.stopping || asked === undefined) return;
    if (asked === 'none') return this.goOn();
    if (asked.kind === 'sampling') return this.askModel(asked);
    if (this.call.context.questions !== 'hold') return this.fail(new ApprovalNeeded(asked));
    this.tell({ status: 'waiting_approval', asks: asked });
    // It ends by itself long before.
    this.stopAfter(asked.expiresAt.getTime() - Date.now() + this.job.timeoutMs + workerFirstMs);
  }

  /** Not the tool's own time; the turn's goes on. */
  private askModel(asked: Approval): void {
    const { context } = this.call;
    this.stopAfter(context.deadline + this.question.heldForPeopleMs - steadyNow());
    void this.services.sampling.answer(asked, context, this.question.signal);
  }

  /** Nothing is asked any more: its own time goes on. */
  private goOn(): void {
    if (!this.question.close()) return;
    this.extend();
    this.tell({ status: 'running' });
  }

  gap(): void {
    void this.lookIntoJournal();
  }

  /** Ends the call: at once while it is planned, else through its worker, else here after the grace time. */
  async stop(reason: 'cancelled' | 'tool_timeout'): Promise<void> {
    if (this.stopping || this.over) return;
    this.stopping = true;
    clearTimeout(this.deadline);
    const outcome = this.endedHere(reason);
    const control: ToolControl = { version: 1, kind: 'cancel', callIds: [this.job.callId], reason };
    const told = this.services.channels
      .publish(channelNames.workers, JSON.stringify(control), AbortSignal.timeout(storeTimeoutMs))
      .catch((error: unknown) => this.services.logger.warn({ error }, 'workers could not be told of a cancelled call'));
    if (!this.started && (await this.end(outcome))) {
      this.takeOut();
      this.settle(outcome);
      return;
    }
    await told;
    if (this.over) return;
    this.pollMs = cancelPollMs;
    this.armPoll();
    this.deadline = setTimeout(() => void this.endAfterGrace(outcome), this.services.cancelGraceMs + workerFirstMs);
  }

  private endedHere(reason: 'cancelled' | 'tool_timeout'): ToolOutcome {
    const durationMs = Math.max(0, steadyNow() - this.startedAt);
    if (reason === 'cancelled') return failedOutcome('cancelled', 'cancelled', 'The call was cancelled', durationMs);
    const message = `The tool did not answer within ${this.job.timeoutMs} ms`;
    return failedOutcome('failed', 'tool_timeout', message, durationMs);
  }

  /** Progress moves the deadline, as far as the tool's own maximum and the request allow. */
  private extend(): void {
    if (this.stopping) return;
    const { timeoutMs, maxTimeoutMs } = this.job;
    const most = this.startedAt + maxTimeoutMs + this.question.heldMs;
    this.armDeadline(Math.min(steadyNow() + timeoutMs, most) + workerFirstMs);
  }

  private armDeadline(at: number): void {
    if (this.question.isOpen) return;
    clearTimeout(this.deadline);
    if (this.over) return;
    const end = Math.min(at, this.call.context.deadline + this.question.heldForPeopleMs);
    this.deadline = setTimeout(() => void this.timeIsUp(), Math.max(0, end - steadyNow()));
  }

  private stopAfter(ms: number): void {
    clearTimeout(this.deadline);
    this.deadline = setTimeout(() => void this.stop('tool_timeout'), Math.max(0, ms));
  }

  /** The word that it asks something may have been lost. */
  private async timeIsUp(): Promise<void> {
    await this.lookForQuestion();
    if (!this.over && !this.question.isOpen) await this.stop('tool_timeout');
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
      if (stored?.state === 'planned' && !this.stopping) await this.addAgainWhenLost();
      if (stored?.state === 'dispatched') await this.lookForQuestion();
    } catch (error) {
      this.services.logger.debug({ error }, 'the journal could not be read for an outcome');
    } finally {
      this.polling = false;
    }
    if (!this.stopping) this.pollMs = Math.min(this.pollMs * 2, maxPollMs);
    this.armPoll();
  }

  /** A slow queue is waited for: the call has its deadline. */
  private async add(signal: AbortSignal): Promise<void> {
    const worker = this.services.routes.of(this.job);
    const { again } = this.call;
    const together = maySharePlace(this.call);
    if (again && !(await this.takeUp())) return;
    await this.services.queue.add(this.job, { signal, silenceMs: addSilenceMs, together, again, worker });
    this.sentTo = worker;
    if (worker !== undefined) await this.callBackFromGone();
  }

  /** The journal names this gateway's job from now on; false: somebody has begun the call, or ended it. */
  private async takeUp(): Promise<boolean> {
    const { queue, journal } = this.services;
    if (!(await journal.replan(this.job))) {
      this.gap();
      return false;
    }
    // An earlier job would tell the gateway that is gone. One that a worker has taken meanwhile stays: the journal tells.
    await queue.remove(this.job.callId, AbortSignal.timeout(storeTimeoutMs));
    return true;
  }

  /** Nobody looks into the queue of a worker that was given up; one that stops may not look any more. */
  private async callBackFromGone(): Promise<void> {
    const { queue, routes } = this.services;
    if (this.sentTo === undefined || routes.leadsTo(this.sentTo)) return;
    await queue.remove(this.job.callId, AbortSignal.timeout(storeTimeoutMs));
    await queue.add(this.job, { signal: AbortSignal.timeout(storeTimeoutMs), again: true });
    this.sentTo = undefined;
  }

  private async addAgainWhenLost(): Promise<void> {
    const { queue, logger } = this.services;
    const { callId } = this.job;
    await this.callBackFromGone();
    const existing = await queue.existing([callId], AbortSignal.timeout(storeTimeoutMs));
    if (existing.has(callId)) return;
    logger.warn({ tool: this.job.name }, 'the queue lost a planned call: it is added again');
    await queue.add(this.job, { signal: AbortSignal.timeout(storeTimeoutMs), again: true });
  }

  private async endAfterGrace(outcome: ToolOutcome): Promise<void> {
    try {
      const stored = await this.services.journal.get(this.job.callId);
      if (stored?.outcome !== undefined) return this.settle(stored.outcome);
      if (await this.end(outcome, stored?.fence ?? undefined)) return this.settle(outcome);
      const theirs = await this.services.journal.get(this.job.callId);
      if (theirs?.outcome !== undefined) return this.settle(theirs.outcome);
    } catch (error) {
      this.services.logger.warn({ error, tool: this.job.name }, 'a cancelled call could not be ended in the journal');
    }
    this.settle(failedOutcome('indeterminate', 'tool_outcome_unknown', 'The outcome of the tool is unknown'));
  }

  private async end(outcome: ToolOutcome, fence?: string): Promise<boolean> {
    const { callId } = this.job;
    const end = { callId, outcome, ...this.call.audit, ...(fence === undefined ? {} : { fence }) };
    try {
      return await this.services.journal.end(end);
    } catch (error) {
      this.services.logger.warn({ error }, 'a call could not be ended in the journal');
      return false;
    }
  }

  /** A refusal says that nothing happened, so that its caller asks again: the journal must agree. */
  private async refused(error: unknown): Promise<void> {
    const { callId, runId, safe } = this.job;
    const ended = await this.endPlanned(error);
    if (ended === true) return this.fail(error);
    // Only the queue's answer was lost: a worker has the call.
    if (ended === false) return this.armPoll();
    // Of a run: its end takes the call along.
    if (runId !== undefined) return this.fail(error);
    this.services.lateCancels.add(callId, this.call.audit, error);
    if (safe) return this.fail(error);
    this.settle(failedOutcome('indeterminate', 'tool_outcome_unknown', 'The store failed: the call may have begun'));
  }

  /** False: it is not planned any more; undefined: the journal cannot say. */
  private async endPlanned(why: unknown): Promise<boolean | undefined> {
    const { journal, logger } = this.services;
    try {
      const ended = await journal.cancelPlanned([this.job.callId], this.call.audit, why);
      if (ended.length > 0) this.takeOut();
      return ended.length > 0;
    } catch (error) {
      logger.warn({ error }, 'a call that was not known to be queued could not be ended in the journal');
      return undefined;
    }
  }

  /** Nobody waits for it: a queue that is away would keep the caller, and the journal refuses the job anyway. */
  private takeOut(): void {
    this.services.queue
      .remove(this.job.callId, AbortSignal.timeout(storeTimeoutMs))
      .catch((error: unknown) => this.services.logger.debug({ error }, 'an ended call was not taken out of the queue'));
  }
}

/** Quick, and safe to be delivered twice: its job may carry others. One that the worker has to ask the journal for first
 * would hold them up. */
const maySharePlace = ({ tool, job, again }: DispatchableCall): boolean =>
  tool.safe && tool.isolation === 'builtin' && job.version === 1 && !again;
