// The shell around CallRunner: takes jobs from the queue, receives cancellations, stops in order.
import type { Backing } from '#libs/backing/backing.js';
import type { JobConsumer, JobDelivery } from '#libs/backing/job-queue.js';
import type { Logger } from '#libs/logging/logger.js';
import { parseJson } from '#libs/schemas/json.js';
import { channelNames, toolControlSchema } from '#libs/schemas/tool-job.js';
import type { ReplySender } from './reply-sender.js';
import type { CallRunner } from './run-call.js';
import type { RunningCalls } from './running-calls.js';
import type { SessionAffinity } from './session-affinity.js';

export interface ProcessorParts {
  workerId: string;
  concurrency: number;
  backing: Pick<Backing, 'consume' | 'channels'>;
  calls: CallRunner;
  affinity: SessionAffinity;
  running: RunningCalls;
  replies: ReplySender;
  logger: Logger;
}

export class JobProcessor {
  private consumer?: JobConsumer;
  private unsubscribe?: () => Promise<void>;

  constructor(private readonly parts: ProcessorParts) {}

  /** Subscribes to cancellations before any job is taken. */
  async start(): Promise<void> {
    const { backing, workerId, concurrency } = this.parts;
    this.unsubscribe = await backing.channels.subscribe(channelNames.workers, (message) => this.control(message));
    this.consumer = await backing.consume((delivery) => this.handle(delivery), { worker: workerId, concurrency });
  }

  handle(delivery: JobDelivery): Promise<void> {
    return this.parts.affinity.run(delivery.job, () => this.parts.calls.run(delivery));
  }

  /** Takes no new job; resolves when running ones have ended and their replies are sent. Rejects on abort. */
  async drain(signal: AbortSignal): Promise<void> {
    const { affinity, replies } = this.parts;
    await Promise.all([this.consumer?.drain(signal), affinity.leave()]);
    // Gateways may have sent calls to this worker before they knew about the stop.
    await affinity.handBack();
    await replies.settle();
  }

  /** Stops at once: running jobs are delivered again, and the journal decides about them. */
  async close(): Promise<void> {
    await this.unsubscribe?.();
    await this.consumer?.close();
    await this.parts.replies.settle();
  }

  private control(message: string): void {
    const parsed = toolControlSchema.safeParse(parseJson(message));
    if (!parsed.success) {
      this.parts.logger.warn(
        { metadata: { bytes: message.length } },
        'a control message of an unknown shape was ignored',
      );
      return;
    }
    const { callIds, reason } = parsed.data;
    this.parts.running.cancel(callIds, reason === 'tool_timeout' ? 'tool_timeout' : 'cancelled');
  }
}
