// Renders turn events as strict OpenAI chunks for the `/v1` dialect. Leaves out server calls, which a client would run again.
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { ChunkRenderer } from './chunk-renderer.js';
import { callDelta, deltaOf } from './chunk-writer.js';
import { besideChoices, type Rendering } from './render-json.js';

export class OpenAiSseRenderer extends ChunkRenderer {
  constructor(
    rendering: Rendering,
    private readonly includeUsage: boolean,
  ) {
    super(rendering);
  }

  protected framesOf(event: TurnEvent): string {
    switch (event.type) {
      case 'start':
        this.chunks.model = event.model;
        return frame(this.chunks.chunk({ role: 'assistant', content: '' }));
      case 'content':
        if (event.extras === undefined && event.choice === undefined) return frame(this.chunks.text(event.text));
        return frame(this.chunks.chunk(deltaOf(event), { extras: event.extras, choice: event.choice }));
      case 'reasoning':
        return frame(this.chunks.chunk(deltaOf(event), { choice: event.choice }));
      case 'tool_call':
        return this.renderCall(event);
      case 'done':
        return this.renderDone(event);
      case 'tool_progress':
      case 'tool_result':
      case 'approval_required':
      case 'sign_in_required':
      case 'error':
      case 'rewind':
        return '';
    }
  }

  private renderCall(event: Extract<TurnEvent, { type: 'tool_call' }>): string {
    const delta = event.clientIndex === null ? {} : callDelta(event, this.rendering);
    return Object.keys(delta).length === 0 ? '' : frame(this.chunks.chunk(delta));
  }

  private renderDone(event: Extract<TurnEvent, { type: 'done' }>): string {
    const members = besideChoices(event);
    const reasons = event.finishReasons ?? [event.finishReason];
    const finish = reasons.map((finishReason, choice) =>
      frame(this.chunks.chunk({}, { finishReason, choice, extras: choice === 0 ? event.extras : undefined, members })),
    );
    if (this.includeUsage) finish.push(frame(this.chunks.withoutChoices({ usage: event.usage })));
    return finish.join('');
  }
}

const frame = (data: string): string => `data: ${data}\n\n`;
