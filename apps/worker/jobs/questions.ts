// Questions of tool servers to people and models during a call: stored, announced to the call's gateway, and awaited.
import { steadyNow } from '#libs/concurrency/steady-now.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintApprovalId } from '#libs/schemas/identifiers.js';
import type { Answer, Question } from '#libs/waits/question.js';
import { samplingLeaseMs, type SamplingAnswer, type SamplingRequest } from '#libs/waits/sampling-request.js';
import type { WaitAnnouncements } from '#libs/waits/wait-announcements.js';
import { type WaitKind, waitKinds } from '#libs/waits/wait-kinds.js';
import type { Ending, NewWait, WaitStore } from '#libs/waits/wait-store.js';
import type { WorkerCall } from './call.js';
import { untilStoreAnswers } from './outcome-writer.js';
import type { ReplySender } from './reply-sender.js';

export interface QuestionsParts {
  waits: Pick<WaitStore, 'ask' | 'close'>;
  announcements: WaitAnnouncements;
  replies: Pick<ReplySender, 'send'>;
  logger: Logger;
}

type Asked = NewWait extends infer Each ? Omit<Each, 'id' | 'callId' | 'fence' | 'arguments'> : never;

const storeMs = 5_000;
/** Gateways end expired questions; after this time the worker does so itself. */
const expiryGraceMs = 10_000;

export class Questions {
  constructor(private readonly parts: QuestionsParts) {}

  /** @throws AppError store_unavailable; tool_failed if the call is not this worker's any more; the signal's reason */
  async ask(call: WorkerCall, question: Question, signal: AbortSignal): Promise<Answer> {
    const { questions: settings } = call.job;
    if (settings === undefined) throw notAsked();
    return this.put(call, { kind: 'question', ...question, ...settings }, waitKinds.question, signal);
  }

  /** Asks a model, through the call's gateway. Throws like `ask`. */
  sample(call: WorkerCall, request: SamplingRequest, signal: AbortSignal): Promise<SamplingAnswer> {
    const asked = { kind: 'sampling', request, expiresMs: samplingLeaseMs, notify: false } as const;
    return this.put(call, asked, waitKinds.sampling, signal);
  }

  private async put<T>(
    { job: { callId, name, replyTo }, fence, arguments: args = {} }: WorkerCall,
    question: Asked,
    kind: WaitKind<T>,
    signal: AbortSignal,
  ): Promise<T> {
    const { waits, replies } = this.parts;
    if (fence === undefined) throw notAsked();
    const asked = { ...question, id: mintApprovalId(), callId, fence, arguments: args } as NewWait;
    if (!(await untilStoreAnswers(() => waits.ask(asked), steadyNow() + storeMs, signal))) throw notAsked();
    replies.send(replyTo, { kind: 'question', callId, open: true });
    try {
      return await this.answered({ ...asked, name }, kind, signal);
    } finally {
      replies.send(replyTo, { kind: 'question', callId, open: false });
    }
  }

  private async answered<T>(asked: NewWait & { name: string }, kind: WaitKind<T>, signal: AbortSignal): Promise<T> {
    const { id, expiresMs, name } = asked;
    const ending: Ending = { id, kind: asked.kind, name, rule: null, reason: null, decisionReason: null };
    let giveUpAt = steadyNow() + expiresMs + expiryGraceMs;
    let expiresAt: number | undefined;
    try {
      return await this.parts.announcements.until(id, signal, async (wait) => {
        const answer = wait && kind.given(wait);
        if (answer !== undefined) return answer;
        // The gateway that works on an answer extends the question's expiry.
        if (expiresAt !== undefined && wait !== undefined && wait.expiresAt.getTime() > expiresAt) {
          giveUpAt = steadyNow() + expiresMs + expiryGraceMs;
        }
        expiresAt = wait?.expiresAt.getTime() ?? expiresAt;
        if (steadyNow() <= giveUpAt) return undefined;
        await this.end(ending, 'expired');
        return kind.given({ ...ending, state: 'expired', answer: null });
      });
    } catch (error) {
      if (signal.aborted) await this.end(ending, 'cancelled');
      throw error;
    }
  }

  /** Ends a question, as gateways do for calls that have ended. */
  private async end(wait: Ending, state: 'cancelled' | 'expired'): Promise<void> {
    const { waits, announcements, logger } = this.parts;
    try {
      await waits.close(wait, state);
      await announcements.announce(wait.id);
    } catch (error) {
      logger.debug({ error }, 'a question could not be ended');
    }
  }
}

const notAsked = () => new AppError('tool_failed', 'The call has ended: nobody is asked');
