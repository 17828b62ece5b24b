// Logs the stages of a model's calls for debugging: streaming, complete, round over. The result of each call is logged by
// the tool call itself. Never logs arguments or results.
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

  /** No call runs before the model's message has ended, so the first event after the calls shows that they are complete. */
  private complete(): void {
    if (this.streaming.length === 0) return;
    for (const { id, name } of this.streaming) {
      this.logger.debug({ ...this.fields, tool: name, metadata: { callId: id } }, 'call complete');
    }
    this.streaming = [];
  }
}
