// Logs the milestones of a turn for debugging, one line each: the first token, the complete arguments of each call, the end
// of each round. Made only where debug is on. Never logs content, arguments or results.
import type { LogFields, Logger } from '#libs/logging/logger.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';

export class TurnMilestones {
  private readonly startedAt = performance.now();
  private hasToken = false;
  private round = 1;
  /** Calls of this round whose arguments still come. */
  private streaming: { id: string; name: string }[] = [];
  private calls = 0;
  private ended = 0;

  constructor(
    private readonly logger: Logger,
    private readonly fields: LogFields,
  ) {}

  note(event: TurnEvent): void {
    switch (event.type) {
      case 'tool_call':
        this.noteToken();
        this.noteRound();
        if (event.id !== undefined) this.streaming.push({ id: event.id, name: event.name ?? '' });
        return;
      case 'content':
      case 'reasoning':
        this.noteToken();
        this.noteRound();
        return;
      case 'tool_result':
        this.noteArguments();
        this.ended += 1;
        return;
      case 'done':
        this.noteArguments();
        this.endRound();
        return;
      case 'tool_progress':
      case 'approval_required':
      case 'sign_in_required':
        this.noteArguments();
        return;
      case 'start':
      case 'error':
      case 'rewind':
    }
  }

  private noteToken(): void {
    if (this.hasToken) return;
    this.hasToken = true;
    this.log('first token', {});
  }

  /** No call runs before the model's message has ended: the first event about a call says that all arguments are complete. */
  private noteArguments(): void {
    for (const { id, name } of this.streaming) this.log('arguments complete', { callId: id }, name);
    this.calls += this.streaming.length;
    this.streaming = [];
  }

  /** The model speaks again after results: the round before is over. */
  private noteRound(): void {
    if (this.ended > 0) this.endRound();
  }

  private endRound(): void {
    this.log('round complete', { calls: this.calls });
    this.round += 1;
    this.calls = 0;
    this.ended = 0;
  }

  private log(message: string, more: Record<string, unknown>, tool?: string): void {
    const line: LogFields = {
      ...this.fields,
      duration: performance.now() - this.startedAt,
      metadata: { round: this.round, ...more },
    };
    if (tool !== undefined) line.tool = tool;
    this.logger.debug(line, message);
  }
}
