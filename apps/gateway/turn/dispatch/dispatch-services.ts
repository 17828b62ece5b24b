// What every dispatched call uses.
import type { Approval } from '#libs/approvals/approval.js';
import type { QuestionStore } from '#libs/approvals/question-store.js';
import type { Channels } from '#libs/backing/channels.js';
import type { JobQueue } from '#libs/backing/job-queue.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import type { LateCancels } from './late-cancels.js';
import type { ReplyInbox } from './reply-inbox.js';
import type { SessionRoutes } from './session-routes.js';

/** Who is asked for an answer: the caller of the call, whose models they are. */
export type SamplingCaller = RequestContext & Pick<CallContext, 'runId'>;

/** Answers what tool servers ask models. */
export interface SamplingDesk {
  /** `signal`: nobody waits for the answer any more. Never rejects. */
  answer(asked: Approval, caller: SamplingCaller, signal: AbortSignal): Promise<void>;
  /** For a caller that waits for calls that it did not begin: what people are asked. What models are asked is answered here. */
  open(callIds: readonly string[], caller: SamplingCaller): Promise<Approval[]>;
}

export type DispatchQueue = Pick<JobQueue, 'add' | 'existing' | 'remove'>;

export interface DispatchServices {
  queue: DispatchQueue;
  channels: Channels;
  journal: Journal;
  inbox: ReplyInbox;
  routes: SessionRoutes;
  lateCancels: LateCancels;
  questions: Pick<QuestionStore, 'open'>;
  sampling: SamplingDesk;
  /** How long a cancelled tool may take to stop, ms. */
  cancelGraceMs: number;
  logger: Logger;
}
