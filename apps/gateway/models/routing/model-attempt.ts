// Describes a failed attempt of a model call that another follows; for metrics and logs.
import type { AppError } from '#libs/schemas/errors.js';

export interface ModelAttempt {
  provider: string;
  /** The model's name at the upstream. */
  model: string;
  requestId: string;
  /** The number of the failed attempt, from 1. */
  attempt: number;
  error: AppError;
  /** `retry`: the same upstream after `waitMs`. `fallback`: the next candidate at once. */
  next: 'retry' | 'fallback';
  waitMs: number;
}

export type AttemptObserver = (attempt: ModelAttempt) => void;
