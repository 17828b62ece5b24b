// Questions of tool servers to people and models during a call: stored, announced to the call's gateway, and awaited. The
// store decides which answer counts; the channel only says that there is one.
import { answerOf, type Answer, type Question } from '#libs/approvals/question.js';
import type { Approval } from '#libs/approvals/approval.js';
import type { ApprovalStore } from '#libs/approvals/approval-store.js';
import type { NewQuestion, QuestionStore } from '#libs/approvals/question-store.js';
import {
  samplingAnswerOf,
  samplingLeaseMs,
  type SamplingAnswer,
  type SamplingRequest,
} from '#libs/approvals/sampling-request.js';
import type { Channels } from '#libs/backing/channels.js';
import { Bell } from '#libs/concurrency/bell.js';
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintApprovalId } from '#libs/schemas/identifiers.js';
import { channelNames } from '#libs/schemas/tool-job.js';
import { untilStoreAnswers } from './outcome-writer.js';
import type { ReplySender } from './reply-sender.js';
import type { WorkerCall } from './call.js';

export interface QuestionsParts {
  questions: Pick<QuestionStore, 'ask'>;
  approvals: Pick<ApprovalStore, 'get' | 'close'>;
  channels: Pick<Channels, 'publish' | 'subscribe'>;
  replies: Pick<ReplySender, 'send'>;
  logger: Logger;
}

type Asked = NewQuestion extends infer Each ? Omit<Each, 'id' | 'callId' | 'fence' | 'arguments'> : never;
type ReadAnswer<T> = (row: Pick<Approval, 'state' | 'answer' | 'decisionReason'>) => T | undefined;

/** Polls the store, since a channel may lose a message. */
const pollMs = 1_000;
const storeMs = 5_000;
const publishMs = 2_000;
/** Gateways end expired questions; after this time the worker does so itself. */
const expiryGraceMs = 10_000;

export class Questions {
  private readonly bells = new Map<string, Bell>();
  private unsubscribe: (() => Promise<void>) | undefined;

  constructor(private readonly parts: QuestionsParts) {}

  async start(): Promise<void> {
    this.unsubscribe = await this.parts.channels.subscribe(channelNames.approvals, (id) => this.bells.get(id)?.ring());
  }

  async close(): Promise<void> {
    await this.unsubscribe?.();
  }

  /** @throws AppError store_unavailable; tool_failed if the call is not this worker's any more; the signal's reason */
  async ask(call: WorkerCall, question: Question, signal: AbortSignal): Promise<Answer> {
    const { questions: settings } = call.job;
    if (settings === undefined) throw notAsked();
    return this.put(call, { kind: 'question', ...question, ...settings }, answerOf, signal);
  }

  /** Asks a model, through the call's gateway. Throws like `ask`. */
  sample(call: WorkerCall, request: SamplingRequest, signal: AbortSignal): Promise<SamplingAnswer> {
    const asked = { kind: 'sampling', request, expiresMs: samplingLeaseMs, notify: false } as const;
    return this.put(call, asked, samplingAnswerOf, signal);
  }

  private async put<T>(
    { job: { callId, replyTo }, fence, arguments: args = {} }: WorkerCall,
    question: Asked,
    read: ReadAnswer<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { questions, replies } = this.parts;
    if (fence === undefined) throw notAsked();
    const id = mintApprovalId();
    const asked = { ...question, id, callId, fence, arguments: args } as NewQuestion;
    if (!(await untilStoreAnswers(() => questions.ask(asked), steadyNow() + storeMs, signal))) throw notAsked();
    replies.send(replyTo, { kind: 'question', callId, open: true });
    try {
      return await this.answered(asked, read, signal);
    } finally {
      replies.send(replyTo, { kind: 'question', callId, open: false });
    }
  }

  private async answered<T>({ id, expiresMs }: NewQuestion, read: ReadAnswer<T>, signal: AbortSignal): Promise<T> {
    const { approvals, logger } = this.parts;
    let giveUpAt = steadyNow() + expiresMs + expiryGraceMs;
    let expiresAt: number | undefined;
    const bell = new Bell();
    this.bells.set(id, bell);
    try {
      for (;;) {
        const stored = await approvals.get(id).catch((error: unknown) => {
          logger.debug({ error }, 'a question could not be read');
        });
        const answer = stored && read(stored);
        if (answer !== undefined) return answer;
        // The gateway that works on an answer extends the question's expiry.
        if (expiresAt !== undefined && stored !== undefined && stored.expiresAt.getTime() > expiresAt) {
          giveUpAt = steadyNow() + expiresMs + expiryGraceMs;
        }
        expiresAt = stored?.expiresAt.getTime() ?? expiresAt;
        if (signal.aborted) {
          await this.end(id, 'cancelled');
          throw signal.reason;
        }
        if (steadyNow() > giveUpAt) {
          await this.end(id, 'expired');
          return read({ state: 'expired', answer: null, decisionReason: null })!;
        }
        await bell.heard(pollMs, signal);
      }
    } finally {
      this.bells.delete(id);
    }
  }

  /** Ends a question, as gateways do for calls that have ended. */
  private async end(id: string, state: 'cancelled' | 'expired'): Promise<void> {
    const { approvals, channels, logger } = this.parts;
    try {
      await approvals.close(id, state);
      await channels.publish(channelNames.approvals, id, AbortSignal.timeout(publishMs));
    } catch (error) {
      logger.debug({ error }, 'a question could not be ended');
    }
  }
}

const notAsked = () => new AppError('tool_failed', 'The call has ended: nobody is asked');
