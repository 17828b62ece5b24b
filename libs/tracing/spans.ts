// The names of all spans, attributes and events, and what they may carry: names, ids, counts and codes, never content (no
// argument, result, message, path or query). Semantic conventions of OpenTelemetry for HTTP, messaging, GenAI and MCP.
// https://opentelemetry.io/docs/specs/semconv, https://github.com/open-telemetry/semantic-conventions-genai
import { usageDetail, type Usage } from '#libs/schemas/usage.js';
import type { SpanAttributes, SpanStart } from './tracing.js';

const names = {
  requestId: 'signalbox.request.id',
  runId: 'signalbox.run.id',
  dialect: 'signalbox.dialect',
  rounds: 'signalbox.rounds',
  toolServer: 'signalbox.tool.server',
  toolState: 'signalbox.tool.state',
  cached: 'signalbox.tool.cached',
  attempt: 'signalbox.attempt',
  waitMs: 'signalbox.wait_ms',
  errorType: 'error.type',
  httpMethod: 'http.request.method',
  httpRoute: 'http.route',
  httpStatus: 'http.response.status_code',
  operation: 'gen_ai.operation.name',
  agent: 'gen_ai.agent.name',
  provider: 'gen_ai.provider.name',
  conversation: 'gen_ai.conversation.id',
  requestModel: 'gen_ai.request.model',
  requestStream: 'gen_ai.request.stream',
  responseModel: 'gen_ai.response.model',
  responseId: 'gen_ai.response.id',
  finishReasons: 'gen_ai.response.finish_reasons',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cachedTokens: 'gen_ai.usage.cache_read.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tool: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  messaging: 'messaging.system',
  destination: 'messaging.destination.name',
  messageId: 'messaging.message.id',
  messagingOperation: 'messaging.operation.name',
  messagingType: 'messaging.operation.type',
  mcpMethod: 'mcp.method.name',
  mcpSession: 'mcp.session.id',
  mcpVersion: 'mcp.protocol.version',
  transport: 'network.transport',
  protocol: 'network.protocol.name',
} as const;

export const errorTypeName = names.errorType;

/** A request to the gateway. Its path may name files, so only the route is reported. */
export function requestSpan(method: string, route: string | undefined, requestId: string): SpanStart {
  return {
    name: route === undefined ? method : `${method} ${route}`,
    kind: 'server',
    attributes: { [names.httpMethod]: method, [names.httpRoute]: route, [names.requestId]: requestId },
  };
}

export const answered = (status: number): SpanAttributes => ({ [names.httpStatus]: status });

export interface TracedTurn {
  runId: string;
  sessionId: string | undefined;
  model: string | undefined;
  dialect: string;
}

/** A turn: its model calls and tool calls are its children. */
export function turnSpan({ runId, sessionId, model, dialect }: TracedTurn): SpanStart {
  return {
    name: 'invoke_agent signalbox',
    kind: 'internal',
    attributes: {
      [names.operation]: 'invoke_agent',
      [names.agent]: 'signalbox',
      [names.requestModel]: model,
      [names.conversation]: sessionId,
      [names.runId]: runId,
      [names.dialect]: dialect,
    },
  };
}

export const turnEnd = (finishReason: string, usage: Usage, rounds: number): SpanAttributes => ({
  [names.finishReasons]: [finishReason],
  [names.rounds]: rounds,
  ...usageAttributes(usage),
});

/** A call of one candidate of a route, retries included. */
export function modelCallSpan(provider: string, model: string, stream: boolean): SpanStart {
  return {
    name: `chat ${model}`,
    kind: 'client',
    attributes: {
      [names.operation]: 'chat',
      // The conventions' name for Gemini; our names are those of the configuration.
      [names.provider]: provider === 'gemini' ? 'gcp.gemini' : provider,
      [names.requestModel]: model,
      ...(stream ? { [names.requestStream]: true } : {}),
    },
  };
}

export const modelAnswers = (model: string, responseId: string): SpanAttributes => ({
  [names.responseModel]: model,
  [names.responseId]: responseId,
});

export const firstChunk = (afterMs: number): SpanAttributes => ({ [names.timeToFirstChunk]: afterMs / 1_000 });

export const finished = (reason: string): SpanAttributes => ({ [names.finishReasons]: [reason] });

export const usageAttributes = (usage: Usage): SpanAttributes => ({
  [names.inputTokens]: countOf(usage.prompt_tokens),
  [names.outputTokens]: countOf(usage.completion_tokens),
  [names.cachedTokens]: countOf(usageDetail(usage, 'prompt_tokens_details', 'cached_tokens')) || undefined,
  [names.reasoningTokens]: countOf(usageDetail(usage, 'completion_tokens_details', 'reasoning_tokens')) || undefined,
});

export const retryEvent = 'signalbox.retry';
export const retried = (attempt: number, code: string, waitMs: number): SpanAttributes => ({
  [names.attempt]: attempt,
  [names.errorType]: code,
  [names.waitMs]: waitMs,
});

export interface TracedTool {
  /** The tool's name as callers know it. */
  name: string;
  server: string;
  callId: string;
}

/** A tool call as the gateway sees it: the cache, the wait for a place, the queue and the worker. */
export function toolSpan({ name, server, callId }: TracedTool): SpanStart {
  return {
    name: `execute_tool ${name}`,
    kind: 'internal',
    attributes: {
      [names.operation]: 'execute_tool',
      [names.tool]: name,
      [names.toolCallId]: callId,
      [names.toolServer]: server,
    },
  };
}

export const toolEnd = (state: string, cached: boolean | undefined): SpanAttributes => ({
  [names.toolState]: state,
  [names.cached]: cached,
});

/** A job on its way into the queue. */
export const sendSpan = (callId: string): SpanStart => queueSpan('send', 'producer', callId);

/** A job in a worker, from its delivery to its reply. */
export const processSpan = (callId: string): SpanStart => queueSpan('process', 'consumer', callId);

function queueSpan(operation: 'send' | 'process', kind: 'producer' | 'consumer', callId: string): SpanStart {
  return {
    name: `${operation} tools`,
    kind,
    attributes: {
      [names.messaging]: 'signalbox',
      [names.destination]: 'tools',
      [names.messagingOperation]: operation,
      [names.messagingType]: operation,
      [names.messageId]: callId,
    },
  };
}

/** How a tool server is reached; absent for one of this process. */
export interface McpPeer {
  transport: 'pipe' | 'tcp';
  sessionId: string | undefined;
  protocolVersion: string | undefined;
}

/** `tools/call` to a tool server. */
export function mcpClientSpan(tool: string, server: string, peer: McpPeer | undefined): SpanStart {
  return {
    name: `tools/call ${tool}`,
    kind: 'client',
    attributes: {
      ...mcpCall(tool),
      [names.toolServer]: server,
      [names.mcpSession]: peer?.sessionId,
      [names.mcpVersion]: peer?.protocolVersion,
      [names.transport]: peer?.transport,
      ...(peer?.transport === 'tcp' ? { [names.protocol]: 'http' } : {}),
    },
  };
}

/** `tools/call` of a client of ours. */
export function mcpServerSpan(tool: string, sessionId: string | undefined): SpanStart {
  return {
    // A client may send any name.
    name: toolName.test(tool) ? `tools/call ${tool}` : 'tools/call',
    kind: 'server',
    attributes: {
      ...mcpCall(tool),
      [names.mcpSession]: sessionId,
      [names.transport]: 'tcp',
      [names.protocol]: 'http',
    },
  };
}

/** The `error.type` of a result with `isError`. */
export const toolErrorType = 'tool_error';

const toolName = /^[\w.:/-]{1,128}$/;

const mcpCall = (tool: string): SpanAttributes => ({
  [names.mcpMethod]: 'tools/call',
  [names.operation]: 'execute_tool',
  [names.tool]: tool,
});

/** Providers may send anything. */
const countOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;
