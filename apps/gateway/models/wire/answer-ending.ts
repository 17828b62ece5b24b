// Ends a message once: with its usage, then its end or its error. The readers of all families use it.
import { AppError } from '#libs/schemas/errors.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { Usage } from '#libs/schemas/usage.js';

export class AnswerEnding {
  /** Further events are ignored. */
  over = false;
  usage?: Usage;

  end(ends: readonly ModelEvent[], out: ModelEvent[]): void {
    if (this.over) return;
    this.over = true;
    if (this.usage !== undefined) out.push({ type: 'usage', usage: this.usage });
    out.push(...ends);
  }

  /** Ends with an error, after the usage counted so far. */
  fail(error: AppError, out: ModelEvent[]): void {
    this.end([{ type: 'error', error }], out);
  }
}

/** The body ended before the message did. */
export const cutShort = (provider: string) =>
  new AppError('model_stream_cut', `Model provider '${provider}' cut its answer short`);

export const answeredNothing = (provider: string) =>
  new AppError('model_bad_response', `Model provider '${provider}' answered nothing`);
