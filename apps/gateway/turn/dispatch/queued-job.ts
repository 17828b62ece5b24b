// Puts the job of a dispatched call into the queue, adds it again if the queue or a worker lost it, and takes it out.
import type { ToolJob } from '#libs/schemas/tool-job.js';
import type { RunnableCall } from '../call.js';
import type { DispatchServices } from './dispatch-services.js';

const storeTimeoutMs = 2_000;
/** Shorter than the store's timeout, so that a caller is refused within two seconds if the queue is silent. */
const addSilenceMs = 1_700;

export class QueuedJob {
  /** The worker to whose own queue the job was added. */
  private sentTo: string | undefined;

  constructor(
    private readonly services: Pick<DispatchServices, 'queue' | 'journal' | 'routes' | 'logger'>,
    private readonly job: ToolJob,
  ) {}

  /** False if somebody else has begun or ended the call. @throws AppError store_unavailable */
  async add({ tool, job, again }: Pick<RunnableCall, 'tool' | 'job' | 'again'>, signal: AbortSignal): Promise<boolean> {
    const { queue, routes, journal } = this.services;
    const worker = routes.of(job);
    // Quick calls that may be delivered twice share a job. A call for which the worker must ask the journal would delay the others.
    const together = tool.safe && tool.isolation === 'builtin' && job.version === 1 && !again;
    if (again) {
      // The job in the journal becomes this gateway's.
      if (!(await journal.replan(job))) return false;
      // An earlier job would reply to a gateway that is gone. If a worker has already taken that job, the journal decides who runs.
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

  /** Removes the job of an ended call. Does not wait for the queue, because the journal refuses the job anyway. */
  takeOut(): void {
    this.services.queue
      .remove(this.job.callId, AbortSignal.timeout(storeTimeoutMs))
      .catch((error: unknown) => this.services.logger.debug({ error }, 'an ended call was not taken out of the queue'));
  }

  /** Moves the job to the common queue if the worker of its queue is gone or stopping. */
  private async callBackFromGone(): Promise<void> {
    const { queue, routes } = this.services;
    if (this.sentTo === undefined || routes.leadsTo(this.sentTo)) return;
    await queue.remove(this.job.callId, AbortSignal.timeout(storeTimeoutMs));
    await queue.add(this.job, { signal: AbortSignal.timeout(storeTimeoutMs), again: true });
    this.sentTo = undefined;
  }
}
