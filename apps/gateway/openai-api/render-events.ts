// Renders turn events for the `/api` dialect: typed events that are also valid OpenAI chunks, so that OpenAI's SDKs can read
// the stream too.
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { CallerEvents } from '../chat-apis/caller-events.js';
import { commentKeepAlive, type SseRenderer } from '../chat-apis/sse-renderer.js';
import { callDelta, ChunkWriter, deltaOf } from './chunk-writer.js';
import { renderChunkError } from './render-chunk-error.js';
import { besideChoices, type Rendering, shownReason } from './render-json.js';

export class EventsSseRenderer implements SseRenderer {
  readonly end = 'data: [DONE]\n\n';
  readonly keepAlive = commentKeepAlive;
  readonly renderError = renderChunkError;
  private readonly chunks: ChunkWriter;
  private readonly caller: CallerEvents | undefined;

  constructor(private readonly rendering: Rendering) {
    this.chunks = new ChunkWriter(rendering);
    this.caller = rendering.forms && new CallerEvents(rendering.forms);
  }

  render(event: TurnEvent, n: number): string {
    if (this.caller === undefined) return this.frame(event, n);
    return this.caller
      .of(event)
      .map((each) => this.frame(each, n))
      .join('');
  }

  private frame(event: TurnEvent, n: number): string {
    return `id: ${n}\ndata: ${this.chunkOf(event)}\n\n`;
  }

  private chunkOf(event: TurnEvent): string {
    const { chunks } = this;
    switch (event.type) {
      case 'start': {
        chunks.model = event.model;
        const session: JsonObject = event.sessionId === undefined ? {} : { session_id: event.sessionId };
        return chunks.chunk(
          { role: 'assistant' },
          { first: { type: 'start' }, members: { run_id: event.runId, ...session } },
        );
      }
      case 'content': {
        const delta = deltaOf(event);
        return chunks.chunk(delta, { ...event, first: { type: 'content', delta } });
      }
      case 'reasoning': {
        const delta = deltaOf(event);
        return chunks.chunk(delta, { choice: event.choice, first: { type: 'reasoning', delta } });
      }
      case 'tool_call': {
        const shown = deltaOf({ ...event, clientIndex: event.index });
        const choice = event.clientIndex === null ? {} : callDelta(event, this.rendering);
        return chunks.chunk(choice, { first: { type: 'tool_call', delta: shown } });
      }
      case 'tool_progress': {
        const { type, callId, ...progress } = event;
        return chunks.chunk({}, { first: { type, tool_call_id: callId, ...progress } });
      }
      case 'tool_result': {
        const result = event.result as unknown as JsonObject;
        return chunks.chunk({}, { first: { type: event.type, tool_call_id: event.callId, result } });
      }
      case 'approval_required':
        return chunks.chunk({}, { first: { type: event.type, approval: event.approval } });
      case 'done':
        return chunks.chunk(
          {},
          {
            finishReason: event.finishReason,
            finishReasons: event.finishReasons,
            extras: event.extras,
            first: {
              type: 'done',
              finish_reason: shownReason(event.finishReason, this.rendering.legacyFunctions),
              usage: event.usage,
            },
            members: besideChoices(event),
          },
        );
      case 'rewind':
        return chunks.chunk({}, { first: { type: event.type, to: event.to } });
      case 'error':
        return JSON.stringify({ error: event.error });
    }
  }
}
