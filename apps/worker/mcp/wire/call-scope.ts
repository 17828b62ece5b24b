// The call whose answer is being read: what is asked on its stream belongs to it, and its exchange lasts as long as it may.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Answer, Question } from '#libs/approvals/question.js';
import type { SamplingAnswer, SamplingRequest } from '#libs/approvals/sampling-request.js';
import type { Progress } from './guarded-transport.js';

/** What a connection needs of a call. */
export interface CallOptions {
  signal: AbortSignal;
  /** Limit for calls whose server reports progress. */
  maxTimeoutMs: number;
  onProgress(progress: Progress): void;
  /** Absent: nobody can be asked. Rejects when the signal aborts, and with an error for the server to see. */
  onQuestion?: ((question: Question, signal: AbortSignal) => Promise<Answer>) | undefined;
  /** The same, for a model. */
  onSampling?: ((request: SamplingRequest, signal: AbortSignal) => Promise<SamplingAnswer>) | undefined;
  /** How long its questions may take at most, beside its own time. */
  questionsMs?: number;
}

export const callScope = new AsyncLocalStorage<CallOptions>();
