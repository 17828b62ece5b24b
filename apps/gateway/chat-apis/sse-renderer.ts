// The port between the HTTP side and the dialects: renders a turn's events as a stream.
import type { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';

export interface SseRenderer {
  /** One turn event as complete SSE events; '' if the dialect does not show it. */
  render(event: TurnEvent, n: number): string;
  /** The end of a stream whose turn failed. */
  renderError(error: AppError, requestId: string): string;
  /** The end of a stream whose turn succeeded. */
  readonly end: string;
  /** Sent when there was no event for some time. */
  readonly keepAlive: string;
}

export const commentKeepAlive = ': keep-alive\n\n';
