// What an observer of model calls is told when one try failed that another follows, or would if it might; for metrics and logs only.
import type { AppError } from '#libs/schemas/errors.js';

export interface ModelAttempt {
  provider: string;
  /** The upstream's own name of the model. */
  model: string;
  requestId: string;
  /** The try that failed, from 1. */
  attempt: number;
  error: AppError;
  /**
   * `retry`: the same upstream after `waitMs`; `fallback`: the next candidate, at once; `none`: the retry that would follow
   * is more than the provider's budget of retries has.
   */
  next: 'retry' | 'fallback' | 'none';
  waitMs: number;
}

export type AttemptObserver = (attempt: ModelAttempt) => void;
