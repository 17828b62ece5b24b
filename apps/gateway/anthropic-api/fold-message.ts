// Folds the events of a stream into the whole message, as Anthropic's SDK does.
import { AppError } from '#libs/schemas/errors.js';
import { jsonObjectOf } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { MessageEvents } from './message-events.js';
import type { WireBlock, WireDelta, WireEvent, WireMessage } from './wire-types.js';

export class MessageFold {
  private readonly events: MessageEvents;
  private message: WireMessage | undefined;
  private json = '';

  constructor(messageId: string) {
    this.events = new MessageEvents(messageId);
  }

  add(event: TurnEvent): void {
    for (const wireEvent of this.events.add(event)) this.take(wireEvent);
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
        if (event.tool_execution !== undefined) message.tool_execution = event.tool_execution;
        if (event.warnings !== undefined) message.warnings = event.warnings;
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
