// Who sends a request of an MCP client, for which workspace, until when, and how it is told about progress.
import type { ServerContext } from '@modelcontextprotocol/server';
import { callMetaKeys } from '#libs/mcp-server/call-meta.js';
import { exchangeOf, type McpExchange } from '#libs/mcp-server/endpoint/exchange.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { sessionIdPattern } from '#libs/schemas/identifiers.js';
import { traceparentOf } from '#libs/tracing/tracing.js';
import type { ToolProgress } from '../turn/dispatch/tool-runner.js';

/** The workspace of a caller that names none and has no MCP session. */
export const defaultSessionId = 'mcp_default';
export interface McpCaller {
  caller: RequestContext;
  sessionId: string;
  report: (progress: ToolProgress) => void;
}

/** @throws AppError invalid_value */
export function callerOf(request: ServerContext): McpCaller {
  const exchange = exchangeOf(request.http?.req);
  const from = traceparentOf(request.mcpReq._meta?.['traceparent']);
  return {
    caller: {
      ...exchange.context,
      signal: cancelSignal(request, exchange),
      ...(from === undefined ? {} : { traceparent: from }),
    },
    sessionId: workspaceOf(request),
    report: progressTo(request, exchange),
  };
}

/** @throws AppError invalid_value */
export function workspaceOf({ mcpReq, sessionId }: ServerContext): string {
  const named = mcpReq._meta?.[callMetaKeys.sessionId];
  if (named === undefined) return sessionId ?? defaultSessionId;
  if (typeof named === 'string' && sessionIdPattern.test(named)) return named;
  throw new AppError('invalid_value', 'A session id is 1 to 128 letters, digits, _ and -', {
    param: `_meta.${callMetaKeys.sessionId}`,
  });
}

/** Aborts when the client cancels and when it has gone, always with a reason of ours. */
export function cancelSignal({ mcpReq }: ServerContext, { context }: McpExchange): AbortSignal {
  const call = new AbortController();
  // AbortSignal.any() would keep signals until a full garbage collection; these listeners end with the request.
  follow(context.signal, () => call.abort(context.signal.reason));
  follow(mcpReq.signal, () => call.abort(new AppError('cancelled', 'The client cancelled the call')));
  return call.signal;
}

function follow(signal: AbortSignal, abort: () => void): void {
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
}

/** Sends growing progress, as the protocol demands, to a client that asked for progress. */
export function progressTo({ mcpReq }: ServerContext, exchange: McpExchange): (progress: ToolProgress) => void {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined || !exchange.streams) return () => undefined;
  let last = -Infinity;
  return ({ progress, total, message }) => {
    if (progress === undefined || progress <= last || exchange.readerBehind || mcpReq.signal.aborted) return;
    last = progress;
    const more = { ...(total === undefined ? {} : { total }), ...(message === undefined ? {} : { message }) };
    const params = { progressToken, progress, ...more };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}
