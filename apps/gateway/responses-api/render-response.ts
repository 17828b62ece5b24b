// Renders a turn as OpenAI's responses stream, or as the whole response.
import type { AppError } from '#libs/schemas/errors.js';
import type { JsonObject } from '#libs/schemas/json.js';
import type { TurnEvent } from '#libs/schemas/turn-event.js';
import { renderError } from '#libs/http-server/render-error.js';
import type { CallerForms } from '../chat-apis/caller-events.js';
import { commentKeepAlive, type SseRenderer } from '../chat-apis/sse-renderer.js';
import { ResponseEvents } from './response-events.js';
import type { WireErrorEvent, WireResponseEvent, WireMcpListTools, WireResponse } from './wire-types.js';

export interface ResponseRendering {
  id: string;
  /** Epoch seconds. */
  created: number;
  echo: JsonObject;
  listed?: readonly WireMcpListTools[] | undefined;
  /** Set if the caller knows some tools in another form than the model. */
  forms?: CallerForms | undefined;
}

export function newResponse({ id, created, echo }: ResponseRendering): WireResponse {
  return {
    id,
    object: 'response',
    created_at: created,
    status: 'in_progress',
    model: '',
    output: [],
    error: null,
    incomplete_details: null,
    ...echo,
  };
}

export class ResponseFold {
  private readonly events: ResponseEvents;

  constructor(rendering: ResponseRendering) {
    this.events = new ResponseEvents(newResponse(rendering), rendering);
  }

  add(event: TurnEvent): void {
    this.events.add(event);
  }

  get answer(): WireResponse {
    return this.events.response;
  }
}

export class ResponseSseRenderer implements SseRenderer {
  /** `response.completed` already ends the stream. */
  readonly end = '';
  readonly keepAlive = commentKeepAlive;
  private readonly events: ResponseEvents;
  private sent = 0;
  private text = '';

  constructor(rendering: ResponseRendering) {
    const emit = (event: WireResponseEvent) => void (this.text += this.frame(event));
    this.events = new ResponseEvents(newResponse(rendering), { ...rendering, emit });
  }

  render(event: TurnEvent): string {
    this.text = '';
    this.events.add(event);
    return this.text;
  }

  renderError(error: AppError, requestId: string): string {
    const shown = { code: 'server_error' as const, message: `${error.code}: ${error.message}` };
    const { response, begun } = this.events;
    const failed: WireResponse = { ...response, status: 'failed', error: shown };
    const { code, message, param = null } = error;
    const body = renderError(error, requestId);
    return (
      (begun ? this.frame({ type: 'response.failed', response: failed }) : '') +
      this.frame({ type: 'error', code, message, param, ...body })
    );
  }

  private frame(event: WireResponseEvent | Omit<WireErrorEvent, 'sequence_number'>): string {
    return `event: ${event.type}\ndata: ${JSON.stringify(event).slice(0, -1)},"sequence_number":${this.sent++}}\n\n`;
  }
}
