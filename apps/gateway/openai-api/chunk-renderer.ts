// The part that both streams of chunks share: the end, errors, and calls in the caller's own terms.
import { renderError } from '#libs/http-server/render-error.js';
import type { AppError } from '#libs/schemas/errors.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { CallerEvents } from '../chat-apis/caller-events.js';
import { commentKeepAlive, type SseRenderer } from '../chat-apis/sse-renderer.js';
import { ChunkWriter } from './chunk-writer.js';
import type { Rendering } from './render-json.js';

export abstract class ChunkRenderer implements SseRenderer {
  readonly end = 'data: [DONE]\n\n';
  readonly keepAlive = commentKeepAlive;
  protected readonly chunks: ChunkWriter;
  private readonly caller: CallerEvents | undefined;

  constructor(protected readonly rendering: Rendering) {
    this.chunks = new ChunkWriter(rendering);
    this.caller = rendering.forms && new CallerEvents(rendering.forms);
  }

  render(event: TurnEvent, n = 0): string {
    if (this.caller === undefined) return this.framesOf(event, n);
    let text = '';
    for (const each of this.caller.of(event)) text += this.framesOf(each, n);
    return text;
  }

  /** No `[DONE]` follows an error. */
  renderError(error: AppError, requestId: string): string {
    return `data: ${JSON.stringify(renderError(error, requestId))}\n\n`;
  }

  protected abstract framesOf(event: TurnEvent, n: number): string;
}
