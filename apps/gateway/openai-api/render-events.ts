// Renders turn events for the `/api` dialect: typed events that are also valid OpenAI chunks, so that OpenAI's SDKs can read
// the stream too.
import type { JsonObject } from '#libs/schemas/json.js';
import type { AnswerExtras } from '#libs/schemas/model-event.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { ChunkRenderer } from './chunk-renderer.js';
import { callDelta, deltaOf } from './chunk-writer.js';
import { besideChoices, shownReason } from './render-json.js';

export class EventsSseRenderer extends ChunkRenderer {
  protected framesOf(event: TurnEvent, n: number): string {
    return `id: ${n}\ndata: ${this.chunkOf(event)}\n\n`;
  }

  private chunkOf(event: TurnEvent): string {
    const { chunks } = this;
    switch (event.type) {
      case 'start': {
        chunks.model = event.model;
        const members = { run_id: event.runId, session_id: event.sessionId };
        return chunks.chunk({ role: 'assistant' }, { first: { type: 'start' }, members });
      }
      case 'content':
        if (event.extras === undefined && event.choice === undefined) return chunks.text(event.text, true);
        return this.piece(event, event.extras);
      case 'reasoning':
        return this.piece(event);
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
      case 'sign_in_required':
        return chunks.chunk({}, { first: { type: event.type, sign_in: event.signIn } });
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

  private piece(event: Extract<TurnEvent, { type: 'content' | 'reasoning' }>, extras?: AnswerExtras): string {
    const delta = deltaOf(event);
    return this.chunks.chunk(delta, { choice: event.choice, extras, first: { type: event.type, delta } });
  }
}
