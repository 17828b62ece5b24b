// The port to a model. An adapter is two pure functions (request out, events in) and a thin transport; it knows nothing
// of sessions, queues or HTTP replies.
import type { Flow } from '#libs/concurrency/flow.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ToolChoice, ToolDefinition } from '#libs/schemas/tool-definition.js';

export interface ModelRequest {
  /** The upstream's own name of the model. */
  model: string;
  /** Complete: assistant messages carry `provider_state` and `reasoning_content` where they are known. */
  messages: ChatMessage[];
  /** Empty: neither `tools` nor `tool_choice` is sent. */
  tools: ToolDefinition[];
  toolChoice?: ToolChoice;
  parallelToolCalls?: boolean;
  /** The upstream is called as the caller asked. */
  stream: boolean;
  /** Known OpenAI parameters as the caller gave them (`temperature`, `stop`, `response_format`, …). */
  parameters: JsonObject;
  /** Fields that the gateway does not know: passed on to compatible upstreams, dropped by the others. */
  unknown: Record<string, Json>;
}

export interface ModelCall {
  requestId: string;
  /** The turn that asks; request ids are the callers' and may repeat. */
  runId?: string;
  traceparent?: string;
  /** Epoch ms. */
  deadline: number;
  signal: AbortSignal;
}

/** Told each batch of events as it comes; neither throws nor rejects. */
export type TakeModelEvents = (batch: readonly ModelEvent[]) => Flow;

export interface ModelProvider {
  /** The provider's name in the configuration. */
  readonly name: string;
  /**
   * One model call, told in batches of what came together: one read of the network is one batch, and none is empty.
   * `message_start` comes first; the last event is `message_end` or `error`, which a stream that just stops ends with too
   * (`model_stream_cut`). Failures before the first byte are retried within the provider's budget. Resolves after the
   * last batch and never rejects. A taker that has enough, or the signal, closes the upstream connection at once.
   */
  call(request: ModelRequest, call: ModelCall, take: TakeModelEvents): Promise<void>;
  /**
   * How many tokens the request would have, as the upstream itself counts them.
   * @throws AppError invalid_value where it counts none
   */
  countTokens(request: ModelRequest, call: ModelCall): Promise<number>;
  /** Names the upstream lists; an upstream without such a list gives none. */
  listModels(signal: AbortSignal): Promise<string[]>;
  close(): Promise<void>;
}

/** Where a requested name leads: tried in order while nothing has been sent to the caller. */
export interface ModelRoute {
  candidates: { provider: ModelProvider; model: string }[];
}

export interface ModelRouter {
  /** @throws AppError model_not_found */
  resolve(requested: string | undefined): ModelRoute;
  /** Configured models and aliases, as `GET /v1/models` lists them. */
  list(signal: AbortSignal): Promise<{ id: string; owned_by: string }[]>;
  /** Calls the candidates in order; moves on when one fails before its first event other than `message_start`. */
  call(
    route: ModelRoute,
    request: Omit<ModelRequest, 'model'>,
    call: ModelCall,
    take: (batch: readonly RoutedModelEvent[]) => Flow,
  ): Promise<void>;
  /** As the first candidate counts, which is asked first. @throws AppError invalid_value where it counts none */
  countTokens(route: ModelRoute, request: Omit<ModelRequest, 'model'>, call: ModelCall): Promise<number>;
  close(): Promise<void>;
}

/** `provider` and `upstreamModel` say who answers; they come with the first event. */
export type RoutedModelEvent = ModelEvent | { type: 'routed'; provider: string; upstreamModel: string };
