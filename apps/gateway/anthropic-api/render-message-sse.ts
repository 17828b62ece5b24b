// Renders a turn as Anthropic's event stream (https://platform.claude.com/docs/en/api/streaming).
import type { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { SseRenderer } from '../chat-apis/sse-renderer.js';
import { MessageEvents } from './message-events.js';
import { renderMessageError } from './render-message-error.js';

export class MessageSseRenderer implements SseRenderer {
  /** `message_stop` already ends the stream. */
  readonly end = '';
  readonly keepAlive = frame({ type: 'ping' });
  private readonly events: MessageEvents;

  constructor(messageId: string) {
    this.events = new MessageEvents(messageId);
  }

  render(event: TurnEvent): string {
    let text = '';
    for (const wireEvent of this.events.add(event)) text += frame(wireEvent);
    return text;
  }

  renderError(error: AppError, requestId: string): string {
    return frame(renderMessageError(error, requestId));
  }
}

function frame(event: { type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
