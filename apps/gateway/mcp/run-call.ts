// Serves `tools/call` of MCP clients on the path of the tools API, with progress and cancelling. A tool's failure is a result; a
// failure that keeps the tool from running is thrown.
import {
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Wait } from '#libs/waits/wait.js';
import { callMetaKeys, errorCodeMetaKey } from '#libs/mcp-server/call-meta.js';
import { exchangeOf, type McpExchange } from '#libs/mcp-server/endpoint/exchange.js';
import { failedResult } from '#libs/mcp-server/served-tool.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError, toAppError, toolErrorCodes } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { mcpServerSpan, toolErrorType } from '#libs/tracing/spans.js';
import { type Span, traceparentOf, tracing } from '#libs/tracing/tracing.js';
import { ApprovalNeeded } from '../govern/approval-needed.js';
import type { EndedToolCall, PreparedToolCall, DirectCalls } from '../turn/dispatch/call-tool.js';
import type { ToolProgress } from '../turn/dispatch/tool-runner.js';
import { type AskingCall, howToAsk } from './ask-client.js';
import { askForApproval, type WaitDecisions } from './ask-for-approval.js';
import { cancelSignal, logLevelOf, progressTo, workspaceOf } from './caller-of.js';
import type { ResourceLinks } from './offers/resource-links.js';

/** In `_meta` of a result: the call's id in journal and audit. */
const callIdMetaKey = 'signalbox/call_id';

export interface ToolCallParams {
  name: string;
  arguments?: Record<string, unknown> | undefined;
}

export interface RunCallPorts {
  calls: Pick<DirectCalls, 'prepare' | 'settled'>;
  approvals: WaitDecisions;
  links: Pick<ResourceLinks, 'remember'>;
}

interface Calling {
  ports: RunCallPorts;
  asking: AskingCall;
  caller: RequestContext;
  onProgress: (progress: ToolProgress) => void;
}

/** @throws AppError tool_not_found, invalid_value, approval_not_found, no_worker, queue_full, store_unavailable */
export function runCall(
  ports: RunCallPorts,
  { name, arguments: args = {} }: ToolCallParams,
  asking: AskingCall,
): Promise<CallToolResult | InputRequiredResult> {
  const { request } = asking;
  const exchange = exchangeOf(request.http?.req);
  const signal = cancelSignal(request, exchange);
  const questions = howToAsk(asking);
  const from = traceparentOf(request.mcpReq._meta?.['traceparent']);
  const span = startSpan(name, request, { exchange, from });
  const traceparent = span?.traceparent ?? from;
  const caller: RequestContext = {
    ...exchange.context,
    signal,
    ...logLevelOf(asking),
    ...(questions === undefined ? {} : { questions }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
  const report = progressTo(request, exchange);
  const onProgress = (progress: ToolProgress) => {
    // The tool gets the answer. An error means that the client has gone, which ends the call.
    if (progress.asks !== undefined)
      askForApproval(progress.asks, ports.approvals, asking, caller).catch(() => undefined);
    report(progress);
  };
  const approvalId = request.mcpReq.requestState<string>();
  const call = {
    name,
    argumentsText: JSON.stringify(args),
    from: 'model' as const,
    sessionId: workspaceOf(request),
    ...(approvalId === undefined ? {} : { approvalId }),
  };
  const result = ended(() => ports.calls.prepare(call, caller), { ports, asking, caller, onProgress });
  return span === undefined ? result : endWith(span, result);
}

/** The span's parent is the client's span in `_meta`, before that of the HTTP request, which may carry several messages. */
function startSpan(
  tool: string,
  { sessionId }: ServerContext,
  { exchange, from }: { exchange: McpExchange; from: string | undefined },
): Span | undefined {
  const { traceparent } = exchange.context;
  const link = from === undefined ? undefined : traceparent;
  return tracing?.start(mcpServerSpan(tool, sessionId), from ?? traceparent, link);
}

async function endWith<Result extends CallToolResult | InputRequiredResult>(
  span: Span,
  result: Promise<Result>,
): Promise<Result> {
  try {
    const { isError } = await result;
    span.end(isError === true ? toolErrorType : undefined);
  } catch (error) {
    span.end(toAppError(error).code);
  }
  return result;
}

async function ended(
  prepare: () => Promise<PreparedToolCall>,
  calling: Calling,
): Promise<CallToolResult | InputRequiredResult> {
  try {
    const prepared = await prepare();
    const call = await prepared.run(calling.onProgress);
    const { principal } = calling.caller;
    calling.ports.links.remember({ principal, sessionId: call.sessionId }, call.tool.server, call.outcome);
    return toCallResult(call);
  } catch (error) {
    if (error instanceof ApprovalNeeded) return whenDecided(error.approval, calling);
    return toFailure(error);
  }
}

/** Asks the client, if it can be asked, and goes on with the call once somebody has decided. */
async function whenDecided(waiting: Wait, calling: Calling): Promise<CallToolResult | InputRequiredResult> {
  const { ports, asking, caller } = calling;
  const asked = waiting.state === 'waiting' ? await askForApproval(waiting, ports.approvals, asking, caller) : waiting;
  if (isInputRequiredResult(asked)) return asked;
  if (asked.state === 'waiting') return failedResult(new ApprovalNeeded(asked));
  return ended(() => ports.calls.settled(asked, caller), calling);
}

/** The result for a failed call. @throws any error that is not the tool's failure */
export function toFailure(error: unknown): CallToolResult {
  if (!isToolFailure(error)) throw error;
  return failedResult(error);
}

function toCallResult({ id, sessionId, outcome }: Omit<EndedToolCall, 'tool'>): CallToolResult {
  const { blocks, structuredContent, meta, error } = outcome;
  return {
    content: blocks as CallToolResult['content'],
    // Clients of older eras refuse a result with any other structured content, which the text contains too.
    ...(isJsonObject(structuredContent) ? { structuredContent } : {}),
    ...(outcome.state === 'completed' ? {} : { isError: true }),
    _meta: {
      ...meta,
      [callIdMetaKey]: id,
      [callMetaKeys.sessionId]: sessionId,
      ...(error === undefined ? {} : { [errorCodeMetaKey]: error.code }),
    },
  };
}

/** Codes for tools that do not exist for the caller. */
const notThere: ReadonlySet<string> = new Set(['tool_not_found', 'tool_forbidden']);

/** Whether a call was refused because of the request, not because of the gateway's state. */
function isToolFailure(error: unknown): error is AppError {
  if (!(error instanceof AppError) || notThere.has(error.code)) return false;
  return (toolErrorCodes as readonly string[]).includes(error.code);
}
