// Serves `tools/call` of MCP clients on the path of the tools API, with progress and cancelling. A tool's failure is a result; a
// failure that keeps the tool from running is thrown.
import type { CallToolResult, InputRequiredResult, ServerContext } from '@modelcontextprotocol/server';
import type { Wait } from '#libs/waits/wait.js';
import { exchangeOf } from '#libs/mcp-server/endpoint/exchange.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { toAppError } from '#libs/schemas/errors.js';
import { mcpServerSpan, toolErrorType } from '#libs/tracing/spans.js';
import { type Span, tracing } from '#libs/tracing/tracing.js';
import type { PreparedToolCall, DirectCalls } from '../turn/dispatch/call-tool.js';
import type { ToolProgress } from '../turn/dispatch/tool-runner.js';
import { type AskingCall, howToAsk } from './ask-client.js';
import { askingProgress, type WaitDecisions } from './ask-for-approval.js';
import { toCallResult, toFailure } from './call-result.js';
import { callerOf } from './caller-of.js';
import { untilDecided } from './until-decided.js';
import { callAsTask, type TaskPorts } from './tasks/call-as-task.js';
import type { TaskWish } from './tasks/task-wish.js';

export interface ToolCallParams {
  name: string;
  arguments?: Record<string, unknown> | undefined;
}

export interface RunCallPorts extends TaskPorts {
  calls: Pick<DirectCalls, 'prepare' | 'settled' | 'answer'>;
  approvals: WaitDecisions;
}

interface Calling {
  ports: RunCallPorts;
  asking: AskingCall;
  caller: RequestContext;
  onProgress: (progress: ToolProgress) => void;
}

/** `task`: how the call becomes a task. @throws AppError tool_not_found, invalid_value, approval_not_found, no_worker, queue_full, store_unavailable */
export function runCall(
  ports: RunCallPorts,
  { name, arguments: args = {} }: ToolCallParams,
  asking: AskingCall,
  task?: TaskWish,
): Promise<CallToolResult | InputRequiredResult> {
  const { request } = asking;
  const { caller: sender, sessionId, report } = callerOf(asking);
  const questions = howToAsk(asking);
  const span = startSpan(name, request, sender);
  const caller: RequestContext = {
    ...sender,
    ...(questions === undefined ? {} : { questions }),
    ...(span && { traceparent: span.traceparent }),
  };
  const onProgress = askingProgress({ asking, caller, approvals: ports.approvals }, report);
  const approvalId = request.mcpReq.requestState<string>();
  const call = {
    name,
    argumentsText: JSON.stringify(args),
    from: 'model' as const,
    sessionId,
    ...(approvalId === undefined ? {} : { approvalId }),
  };
  const result =
    task === undefined
      ? ended(() => ports.calls.prepare(call, caller), { ports, asking, caller, onProgress })
      : callAsTask(ports, call, { asking, caller, report }, task);
  return span === undefined ? result : endWith(span, result);
}

/** The span's parent is the client's span in `_meta`, before that of the HTTP request, which may carry several messages. */
function startSpan(tool: string, { sessionId, http }: ServerContext, { traceparent }: RequestContext) {
  const { traceparent: ofHttp } = exchangeOf(http?.req).context;
  return tracing?.start(mcpServerSpan(tool, sessionId), traceparent, ofHttp === traceparent ? undefined : ofHttp);
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
  { ports, asking, caller, onProgress }: Calling,
): Promise<CallToolResult | InputRequiredResult> {
  const run = async (preparing: Promise<PreparedToolCall>) => {
    const call = await (await preparing).run(onProgress);
    const { principal } = caller;
    ports.links.remember({ principal, sessionId: call.sessionId }, call.tool.server, call.outcome);
    return toCallResult(call);
  };
  try {
    const goOn = (decided: Wait) => run(ports.calls.settled(decided, caller));
    return await untilDecided(() => run(prepare()), goOn, { asking, caller, approvals: ports.approvals });
  } catch (error) {
    return toFailure(error);
  }
}
