// What a chat API makes of a turn's events on a stream: the port between the HTTP side and the dialects.
import type { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';

export interface SseRenderer {
  /** The bytes of one event, whole SSE events; '' when this dialect does not show it. */
  render(event: TurnEvent, n: number): string;
  /** What a reader is told when the turn breaks in the middle. Nothing comes after it. */
  renderError(error: AppError, requestId: string): string;
  /** What ends a stream that ended well. */
  readonly end: string;
  /** Sent in silence. */
  readonly keepAlive: string;
}

export const commentKeepAlive = ': keep-alive\n\n';
