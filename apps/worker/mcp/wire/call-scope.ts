// The call whose answer is being read: what is asked on its stream belongs to it, and its exchange lasts as long as it may.
import { AsyncLocalStorage } from 'node:async_hooks';

export interface ScopedCall {
  /** How long its questions may take at most, beside its own time. */
  questionsMs?: number;
}

export const callScope = new AsyncLocalStorage<ScopedCall>();
