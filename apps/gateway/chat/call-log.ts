// What becomes of a model's calls, line by line, for whoever debugs a turn: streaming, complete, round over. What each
// call did is the one line of the tool call itself; never arguments or results.
import type { LogFields, Logger } from '#libs/logging/logger.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';

export class CallLog {
  private streaming: { id: string; name: string }[] = [];
  private ended = 0;

  constructor(
    private readonly logger: Logger,
    private readonly fields: LogFields,
  ) {}

  note(event: TurnEvent): void {
    if (event.type !== 'tool_call') this.complete();
    if (event.type === 'tool_result') this.ended++;
    else if (event.type !== 'tool_progress' && this.ended > 0) {
      this.logger.debug({ ...this.fields, metadata: { calls: this.ended } }, 'round complete');
      this.ended = 0;
    }
    if (event.type !== 'tool_call' || event.id === undefined) return;
    const { id, name = '' } = event;
    this.streaming.push({ id, name });
    this.logger.debug({ ...this.fields, tool: name, metadata: { callId: id } }, 'arguments streaming');
  }

  /** Nothing runs before the model's message has ended: the first event after its calls says that they are whole. */
  private complete(): void {
    if (this.streaming.length === 0) return;
    for (const { id, name } of this.streaming) {
      this.logger.debug({ ...this.fields, tool: name, metadata: { callId: id } }, 'call complete');
    }
    this.streaming = [];
  }
}
