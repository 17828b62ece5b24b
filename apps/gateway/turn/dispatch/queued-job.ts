// The job of a dispatched call in the queue: added, added again if the queue lost it, called back from a worker that is gone, taken out.
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { RunnableCall } from '../call.js';
import type { DispatchServices } from './dispatch-services.js';

const storeTimeoutMs = 2_000;
/** Shorter: with what comes before and after it, a caller is refused within two seconds when the queue is silent. */
const addSilenceMs = 1_700;

export class QueuedJob {
  /** The worker into whose own queue the job went. */
  private sentTo: string | undefined;

  constructor(
    private readonly services: Pick<DispatchServices, 'queue' | 'journal' | 'routes' | 'logger'>,
    private readonly job: ToolJob,
  ) {}

  /** False: somebody else has begun the call, or ended it. @throws AppError store_unavailable */
  async add({ tool, job, again }: Pick<RunnableCall, 'tool' | 'job' | 'again'>, signal: AbortSignal): Promise<boolean> {
    const { queue, routes, journal } = this.services;
    const worker = routes.of(job);
    // A quick call that is safe to be delivered twice shares its job with others. One that the worker has to ask the journal for
    // first would hold them up.
    const together = tool.safe && tool.isolation === 'builtin' && job.version === 1 && !again;
    if (again) {
      // The journal names this gateway's job from now on.
      if (!(await journal.replan(job))) return false;
      // An earlier job would tell the gateway that is gone. One that a worker has taken meanwhile stays: the journal decides.
      await queue.remove(job.callId, AbortSignal.timeout(storeTimeoutMs));
    }
    await queue.add(job, { signal, silenceMs: addSilenceMs, together, again, worker });
    this.sentTo = worker;
    if (worker !== undefined) await this.callBackFromGone();
    return true;
  }

  async addAgainWhenLost(): Promise<void> {
    const { queue, logger } = this.services;
    const { callId } = this.job;
    await this.callBackFromGone();
    const existing = await queue.existing([callId], AbortSignal.timeout(storeTimeoutMs));
    if (existing.has(callId)) return;
    logger.warn({ tool: this.job.name }, 'the queue lost a planned call: it is added again');
    await queue.add(this.job, { signal: AbortSignal.timeout(storeTimeoutMs), again: true });
  }

  /** Nobody waits for the job: a queue that is away would keep the caller, and the journal refuses the job anyway. */
  takeOut(): void {
    this.services.queue
      .remove(this.job.callId, AbortSignal.timeout(storeTimeoutMs))
      .catch((error: unknown) => this.services.logger.debug({ error }, 'an ended call was not taken out of the queue'));
  }

  /** Nobody looks into the queue of a worker that was given up; one that stops may not look any more. */
  private async callBackFromGone(): Promise<void> {
    const { queue, routes } = this.services;
    if (this.sentTo === undefined || routes.leadsTo(this.sentTo)) return;
    await queue.remove(this.job.callId, AbortSignal.timeout(storeTimeoutMs));
    await queue.add(this.job, { signal: AbortSignal.timeout(storeTimeoutMs), again: true });
    this.sentTo = undefined;
  }
}
