// What every dispatched call uses.
import type { QuestionStore } from '#libs/approvals/question-store.js';
import type { Channels } from '#libs/backing/channels.js';
import type { JobQueue } from '#libs/backing/job-queue.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { LateCancels } from './late-cancels.js';
import type { ReplyInbox } from './reply-inbox.js';
import type { SessionRoutes } from './session-routes.js';

export interface DispatchServices {
  queue: JobQueue;
  channels: Channels;
  journal: Journal;
  inbox: ReplyInbox;
  routes: SessionRoutes;
  lateCancels: LateCancels;
  questions: Pick<QuestionStore, 'open'>;
  /** How long a cancelled tool may take to stop, ms. */
  cancelGraceMs: number;
  logger: Logger;
}
