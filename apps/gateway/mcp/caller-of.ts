// Who sends a request of an MCP client, for which workspace, until when, and how it is told about progress.
import { LOG_LEVEL_META_KEY, type Server, type ServerContext } from '@modelcontextprotocol/server';
import { callMetaKeys } from '#libs/mcp-server/call-meta.js';
import { isModern } from '#libs/mcp-server/endpoint/eras.js';
import { exchangeOf, type McpExchange } from '#libs/mcp-server/endpoint/exchange.js';
import type { RequestContext } from '#libs/schemas/call-context.js';
import { AppError } from '#libs/schemas/errors.js';
import { sessionIdPattern } from '#libs/schemas/identifiers.js';
import { type ToolLogLevel, toolLogLevels } from '#libs/schemas/tool-job.js';
import { traceparentOf } from '#libs/tracing/tracing.js';
import type { ToolProgress } from '../turn/dispatch/tool-runner.js';
import type { AskingCall } from './ask-client.js';

/** The workspace of a caller that names none and has no MCP session. */
export const defaultSessionId = 'mcp_default';
/** What a client of a session before 2026-07-28 gets if it sets no level. */
const usualLogLevel = 'info';
const sessionLevels = new WeakMap<Server, ToolLogLevel>();

export function serveLogLevels(server: Server): void {
  server.setRequestHandler('logging/setLevel', ({ params }) => {
    sessionLevels.set(server, params.level);
    return {};
  });
}

/** Which log messages of a tool server the client wants. Since 2026-07-28 the request says so. */
function logLevelOf({ server, request }: AskingCall): Pick<RequestContext, 'logLevel'> {
  if (!exchangeOf(request.http?.req).streams) return {};
  const { envelope = {} } = request.mcpReq;
  const asked = isModern(server)
    ? (envelope as Record<string, unknown>)[LOG_LEVEL_META_KEY]
    : (sessionLevels.get(server) ?? usualLogLevel);
  const level = toolLogLevels.find((each) => each === asked);
  return level === undefined ? {} : { logLevel: level };
}

export type McpReport = (progress: ToolProgress, bySession?: ServerContext['mcpReq']['notify']) => void;

export interface McpCaller {
  caller: RequestContext;
  sessionId: string;
  report: McpReport;
}

/** @throws AppError invalid_value */
export function callerOf(asking: AskingCall): McpCaller {
  const { request } = asking;
  const exchange = exchangeOf(request.http?.req);
  const from = traceparentOf(request.mcpReq._meta?.['traceparent']);
  return {
    caller: {
      ...exchange.context,
      signal: cancelSignal(request, exchange),
      ...logLevelOf(asking),
      ...(from === undefined ? {} : { traceparent: from }),
    },
    sessionId: workspaceOf(request),
    report: progressTo(request, exchange),
  };
}

/** @throws AppError invalid_value */
function workspaceOf({ mcpReq, sessionId }: ServerContext): string {
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

/**
 * Sends log messages, and growing progress, as the protocol demands, to a client that asked for progress: on the stream of the request,
 * or once that has ended on the stream of its session, by `bySession`. A client that does not read it misses some.
 */
function progressTo({ mcpReq }: ServerContext, exchange: McpExchange): McpReport {
  if (!exchange.streams) return () => undefined;
  const progressToken = mcpReq._meta?.progressToken;
  let last = -Infinity;
  return ({ progress, total, message, log }, bySession) => {
    const reader = bySession === undefined ? exchange : exchange.sessionStream?.();
    if (reader === undefined || reader.readerBehind || mcpReq.signal.aborted) return;
    const notify = bySession ?? mcpReq.notify;
    if (log !== undefined) notify({ method: 'notifications/message', params: log }).catch(() => undefined);
    if (progressToken === undefined || progress === undefined || progress <= last) return;
    last = progress;
    const more = { ...(total === undefined ? {} : { total }), ...(message === undefined ? {} : { message }) };
    const params = { progressToken, progress, ...more };
    notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
}
