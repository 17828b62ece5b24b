// The port to a model. An adapter writes requests and reads answers with pure functions over a thin transport, and
// knows nothing of sessions, queues or our own HTTP answers.
import type { Flow } from '#libs/concurrency/flow.js';
import type { Json, JsonObject } from '#libs/schemas/json.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import type { ChatMessage } from '#libs/schemas/message.js';
import type { ModelEvent } from '#libs/schemas/model-event.js';
import type { ProviderTool, ToolChoice, ToolDefinition } from '#libs/schemas/tool-definition.js';
import type { Span } from '#libs/tracing/tracing.js';
import type { ModelsReport } from './routing/models-report.js';

export interface ModelRequest {
  /** The model's name at the upstream. */
  model: string;
  /** The whole history; assistant messages include `provider_state` and `reasoning_content` where known. */
  messages: ChatMessage[];
  /** If empty, neither `tools` nor `tool_choice` is sent. */
  tools: ToolDefinition[];
  /** Tools that run at the provider; those of another API are left out with a warning. */
  providerTools?: readonly ProviderTool[];
  /**
   * The function of `tools` that finds others, if there is one, and the names in a result of it. What it found is in `tools` too; a
   * family whose API has a form of its own for searches uses that.
   */
  search?: { name: string; namesIn: (result: string) => string[] };
  toolChoice?: ToolChoice;
  parallelToolCalls?: boolean;
  /** Whether to stream from the upstream; the same as the caller asked for. */
  stream: boolean;
  /** Known OpenAI parameters, unchanged (`temperature`, `stop`, `response_format`, …). */
  parameters: JsonObject;
  /** Fields that the gateway does not know. OpenAI-compatible upstreams get them, other families do not. */
  unknown: Record<string, Json>;
}

export interface ModelCall {
  requestId: string;
  /** Who pays for the call, and in which round of the turn; absent: the call is not counted. */
  paidBy?: Pick<RequestContext, 'principal' | 'keyId' | 'access' | 'parentCall'> & { round: number };
  /** Identifies the turn; `requestId` may come from the client and repeat. */
  runId?: string;
  traceparent?: string;
  /** The span of this candidate's call, which has the span's `traceparent`; retries are its events. */
  span?: Span;
  /** Epoch ms. */
  deadline: number;
  signal: AbortSignal;
}

/** Receives each batch of events as it arrives. Must neither throw nor reject. */
export type TakeModelEvents = (batch: readonly ModelEvent[]) => Flow;

export interface ModelProvider {
  /** The provider's name in the configuration. */
  readonly name: string;
  /**
   * One model call. Each read from the network is passed to `take` as one batch, never empty. The first event is
   * `message_start`, the last is `message_end` or `error`; a stream that stops early ends with the error
   * `model_stream_cut`. Failures before the first byte are retried within the provider's budget. Resolves after the last
   * batch and never rejects. If `take` returns `enough`, or the signal aborts, the upstream connection is closed at once.
   */
  call(request: ModelRequest, call: ModelCall, take: TakeModelEvents): Promise<void>;
  /**
   * The number of input tokens, as counted by the upstream.
   * @throws AppError invalid_value if the upstream cannot count tokens
   */
  countTokens(request: ModelRequest, call: ModelCall): Promise<number>;
  /** The model names that the upstream lists; empty if it has no such list. */
  listModels(signal: AbortSignal): Promise<string[]>;
  close(): Promise<void>;
}

/** The candidates for a requested name, tried in order until something was sent to the caller. */
export interface ModelRoute {
  candidates: { provider: ModelProvider; model: string }[];
}

export interface ModelRouter {
  /** The name that a request gives; undefined for the default model. */
  named(requested: string | undefined): string | undefined;
  /** @throws AppError model_not_found */
  resolve(requested: string | undefined): ModelRoute;
  /** Configured models and aliases, for `GET /v1/models`. */
  list(signal: AbortSignal): Promise<{ id: string; owned_by: string }[]>;
  /** The known state of the providers. Asks again if it is old, and waits a moment for providers never asked. */
  health(signal: AbortSignal): Promise<ModelsHealth>;
  /** The same in detail, with what the calls of this gateway have shown. */
  report(signal: AbortSignal): Promise<ModelsReport>;
  /** Calls the candidates in order. Tries the next if one fails before any event but `message_start` and `usage`. */
  call(
    route: ModelRoute,
    request: Omit<ModelRequest, 'model'>,
    call: ModelCall,
    take: (batch: readonly RoutedModelEvent[]) => Flow,
  ): Promise<void>;
  /** The first candidate counts. @throws AppError invalid_value if it cannot count tokens */
  countTokens(route: ModelRoute, request: Omit<ModelRequest, 'model'>, call: ModelCall): Promise<number>;
  close(): Promise<void>;
}

export interface ModelsHealth {
  /** The model for requests that name none. */
  model: string;
  /** Sentences for the operator: which providers cannot be used and why, and names that lead to no model. */
  problems: readonly string[];
}

/** `routed` names the candidate that answers, and comes before all other events. */
export type RoutedModelEvent = ModelEvent | { type: 'routed'; provider: string; upstreamModel: string };
