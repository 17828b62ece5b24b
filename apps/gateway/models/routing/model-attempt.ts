// Describes attempts of a model call: a failed one that another follows, and how each candidate ended. For metrics, logs and reports.
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

/** A candidate answered, or failed with `error`. */
export interface EndedCandidate {
  provider: string;
  model: string;
  error: AppError | undefined;
  /** The caller left before the end, which says nothing about the provider. */
  isCancelled: boolean;
  tookMs: number;
  /** Until the first part of a streamed answer. */
  firstPartMs: number | undefined;
}
