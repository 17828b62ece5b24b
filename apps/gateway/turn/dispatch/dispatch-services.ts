// The services that dispatched calls share.
import type { Wait } from '#libs/waits/wait.js';
import type { WaitStore } from '#libs/waits/wait-store.js';
import type { Channels } from '#libs/backing/channels.js';
import type { JobQueue } from '#libs/backing/job-queue.js';
import type { Logger } from '#libs/logging/logger.js';
import type { Journal } from '#libs/runs/run-store.js';
import type { CallContext, RequestContext } from '#libs/schemas/call-context.js';
import type { ToolOutcome } from '#libs/schemas/tool-outcome.js';
import type { LateCancels } from './late-cancels.js';
import type { ReplyInbox } from './reply-inbox.js';
import type { SessionRoutes } from './session-routes.js';

/** The caller of the call, whose models answer. */
export type SamplingCaller = RequestContext & Pick<CallContext, 'runId'>;

/** Answers the requests of tool servers to models. */
export interface SamplingDesk {
  /** `signal` aborts when nobody waits for the answer any more. Never rejects. */
  answer(asked: Wait, caller: SamplingCaller, signal: AbortSignal): Promise<void>;
  /** Open questions to people of calls that the caller waits for but did not begin. Open requests to models are answered. */
  open(callIds: readonly string[], caller: SamplingCaller): Promise<Wait[]>;
}

/** Gets the token that a call of a tool server needs, for its worker. */
export interface ServerTokens {
  isFor(server: string): boolean;
  /** False if the caller has nothing that a token could be got with: then no other one could be. @throws AppError; the signal's reason */
  beforeCall(server: string, caller: RequestContext): Promise<boolean>;
  /** Gets another token for a call that is parked for it, and lets the call run; or ends the call. @throws AppError; the signal's reason */
  again(wait: Wait, caller: RequestContext): Promise<ToolOutcome | undefined>;
}

export type DispatchQueue = Pick<JobQueue, 'add' | 'existing' | 'remove'>;

export interface DispatchServices {
  queue: DispatchQueue;
  channels: Channels;
  journal: Journal;
  inbox: ReplyInbox;
  routes: SessionRoutes;
  lateCancels: LateCancels;
  waits: Pick<WaitStore, 'open' | 'byIds'>;
  sampling: SamplingDesk;
  /** How long a cancelled tool may take to stop, ms. */
  cancelGraceMs: number;
  logger: Logger;
}
