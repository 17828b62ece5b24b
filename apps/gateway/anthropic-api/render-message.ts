// Renders a turn as Anthropic's event stream (https://platform.claude.com/docs/en/api/streaming), or as the whole message,
// which is folded from the events as Anthropic's SDK does it.
import { AppError } from '#libs/schemas/errors.js';
import { jsonObjectOf } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import type { SseRenderer } from '../chat-apis/sse-renderer.js';
import { MessageEvents } from './message-events.js';
import { renderMessageError } from './render-message-error.js';
import type { WireBlock, WireDelta, WireEvent, WireMessage } from './wire-types.js';

export class MessageSseRenderer implements SseRenderer {
  /** `message_stop` already ends the stream. */
  readonly end = '';
  readonly keepAlive = frame({ type: 'ping' });
  private readonly events: MessageEvents;
  private text = '';

  constructor(messageId: string) {
    this.events = new MessageEvents(messageId, (event) => (this.text += frame(event)));
  }

  render(event: TurnEvent): string {
    this.text = '';
    this.events.add(event);
    return this.text;
  }

  renderError(error: AppError, requestId: string): string {
    return frame(renderMessageError(error, requestId));
  }
}

function frame(event: { type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

export class MessageFold {
  private readonly events: MessageEvents;
  private message: WireMessage | undefined;
  private json = '';

  constructor(messageId: string) {
    this.events = new MessageEvents(messageId, (event) => this.take(event));
  }

  add(event: TurnEvent): void {
    this.events.add(event);
  }

  /** After the last event. */
  get answer(): WireMessage {
    const { message } = this;
    if (message === undefined || message.stop_reason === null) {
      throw new AppError('internal_error', 'Internal error', { cause: 'a turn that never ended' });
    }
    // A call that was cut does not count.
    if (message.stop_reason === 'tool_use') return message;
    return { ...message, content: message.content.filter((block) => block.type !== 'tool_use') };
  }

  private take(event: WireEvent): void {
    const { message } = this;
    if (event.type === 'message_start') {
      this.message = { ...event.message, content: [] };
      return;
    }
    if (message === undefined) return;
    switch (event.type) {
      case 'content_block_start':
        this.json = '';
        message.content.push({ ...event.content_block });
        break;
      case 'content_block_delta':
        this.extend(message.content.at(-1)!, event.delta);
        break;
      case 'content_block_stop': {
        const block = message.content.at(-1)!;
        if (block.type === 'tool_use' || block.type === 'mcp_tool_use') block.input = jsonObjectOf(this.json);
        break;
      }
      case 'message_delta':
        message.stop_reason = event.delta.stop_reason;
        message.usage = event.usage;
        message.tool_execution = event.tool_execution;
        message.warnings = event.warnings;
        break;
      case 'message_stop':
        break;
    }
  }

  private extend(block: WireBlock, delta: WireDelta): void {
    if (delta.type === 'input_json_delta') this.json += delta.partial_json;
    else if (delta.type === 'text_delta' && block.type === 'text') block.text += delta.text;
    else if (delta.type === 'thinking_delta' && block.type === 'thinking') block.thinking += delta.thinking;
  }
}
