// The call whose answer is being read. A question on its stream belongs to that call, and extends the exchange's time limit.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Answer, Question } from '#libs/waits/question.js';
import type { SamplingAnswer, SamplingRequest } from '#libs/waits/sampling-request.js';
import type { ToolJob, ToolLog, ToolLogLevel } from '#libs/schemas/tool-job.js';
import type { Progress } from './guarded-transport.js';

export interface ToolCallOptions {
  /** Whose files the call may read and write; absent if it has none. */
  user?: { sessionId: string; directory: string };
  /** Whose call it is, for servers that are told. */
  job?: Pick<ToolJob, 'roles' | 'sessionId' | 'runId'>;
  /** Keeps what is sent for this call out of logs and the audit. */
  holdSecrets?(secrets: readonly string[]): void;
  signal: AbortSignal;
  /** Limit for calls whose server reports progress. */
  maxTimeoutMs: number;
  onProgress(progress: Progress): void;
  /** Asks the caller; absent if nobody can be asked. Rejects on abort, or with an error for the server. */
  onQuestion?: ((question: Question, signal: AbortSignal) => Promise<Answer>) | undefined;
  /** Asks a model, like `onQuestion`. */
  onSampling?: ((request: SamplingRequest, signal: AbortSignal) => Promise<SamplingAnswer>) | undefined;
  /** The server's log messages from this level on are wanted. */
  logLevel?: ToolLogLevel | undefined;
  onLog?: ((log: ToolLog) => void) | undefined;
  /** Maximum time for questions, on top of the call's time. */
  questionsMs?: number;
}

export const callScope = new AsyncLocalStorage<ToolCallOptions>();
