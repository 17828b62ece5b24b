// Makes the context of a call, a read or a prompt from the request of a client, or of this process.
import {
  type InputRequiredResult,
  type InputResponses,
  isInputRequiredResult,
  LOG_LEVEL_META_KEY,
  ProtocolError,
  ProtocolErrorCode,
  type RequestStateCodec,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Cache } from '#libs/backing/cache.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';
import type { Workspace } from '#libs/workspace/workspace.js';
import { type CallMeta, readCallMeta, readCallToken } from './call-meta.js';
import { type SendLog, withClientLog } from './client-logger.js';
import { exchangeOf } from './endpoint/exchange.js';
import { scopedCache, type ToolCache, type ToolContext } from './tool-context.js';

/** A request, as far as its context needs it. */
export interface ServedRequest {
  meta: unknown;
  /** The connection's session, if its transport has sessions; a trusted caller's `meta` takes precedence. */
  sessionId?: string | undefined;
  /** Who calls over HTTP; a trusted caller's `meta` takes precedence. */
  userId?: string | undefined;
  signal: AbortSignal;
  /** What the client can be asked and has answered; absent within this process. */
  asking?: Pick<ToolContext, 'clientCapabilities' | 'inputResponses' | 'requestState'>;
  /** Absent if the caller does not want progress. Must not throw. */
  onProgress?: (progress: ServedProgress) => void;
  /** Absent if the client hears no log. */
  sendLog?: SendLog | undefined;
}

export interface ServedProgress {
  progress: number;
  total?: number;
  message?: string;
}

/** What all contexts of a server share. */
export interface ContextParts {
  /** The server's name. */
  name: string;
  logger: Logger;
  cache?: Cache;
  openWorkspace?: (call: CallMeta) => Workspace;
  /** The session of requests over a transport that has none. */
  sessionId?: string;
  resourceUpdated: (uri: string) => void;
}

export function contextOf(parts: ContextParts, request: ServedRequest, signal: AbortSignal): ToolContext {
  const { meta, userId: caller, sessionId: connected, onProgress, asking, sendLog } = request;
  const { name, openWorkspace, logger, cache, sessionId: only, resourceUpdated } = parts;
  const callMeta: Partial<CallMeta> = openWorkspace === undefined ? {} : readCallMeta(meta);
  const requestId = callMeta.requestId ?? mintRequestId();
  const userId = callMeta.userId ?? caller ?? 'anonymous';
  const sessionId = callMeta.sessionId ?? connected ?? only;
  const fields = { requestId, userId, ...(sessionId === undefined ? {} : { sessionId }) };
  const callToken = readCallToken(meta);
  // Most tools do not use these members.
  let ownLogger: Logger | undefined;
  let ownCache: ToolCache | undefined;
  const scope = `tool:${name}:${userId}:`;
  return {
    ...fields,
    ...(callToken === undefined ? {} : { callToken }),
    get workspace(): Workspace {
      const { sessionId, workspaceDirectory } = callMeta;
      if (openWorkspace === undefined || sessionId === undefined || workspaceDirectory === undefined) {
        throw new AppError('tool_unavailable', 'This tool needs a session');
      }
      return openWorkspace({ requestId, userId, sessionId, workspaceDirectory });
    },
    get logger() {
      const log = () => logger.child(fields);
      return (ownLogger ??= sendLog === undefined ? log() : withClientLog(log(), sendLog));
    },
    get cache() {
      return (ownCache ??= scopedCache(cache, scope, signal));
    },
    signal,
    clientCapabilities: {},
    ...asking,
    resourceUpdated,
    reportProgress: (progress, total, message) => {
      if (signal.aborted) return;
      onProgress?.({
        progress,
        ...(total === undefined ? {} : { total }),
        ...(message === undefined ? {} : { message }),
      });
    },
  };
}

/** The state that a handler keeps with its client between two requests, which must both reach this process. */
export interface KeptState {
  /** What asked. */
  of: string;
  state: string;
}

/** `of`: what is asked for; `name`: of the server, in its client's log. @throws ProtocolError for the state of something else */
export function servedRequest(
  of: string,
  { mcpReq, sessionId, http }: ServerContext,
  { server, name }: { server: Server; name: string },
): ServedRequest {
  const { _meta: meta, signal, inputResponses } = mcpReq;
  const kept = mcpReq.requestState<KeptState>();
  if (kept !== undefined && kept.of !== of)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The state belongs to another request');
  const progressToken = meta?.progressToken;
  const onProgress = (progress: ServedProgress) => {
    const params = { progressToken: progressToken!, ...progress };
    mcpReq.notify({ method: 'notifications/progress', params }).catch(() => undefined);
  };
  return {
    meta,
    sessionId,
    userId: http?.req === undefined ? undefined : exchangeOf(http.req).context.principal,
    signal,
    asking: {
      clientCapabilities: server.getClientCapabilities() ?? {},
      ...(inputResponses === undefined ? {} : { inputResponses: inputResponses as InputResponses }),
      ...(kept === undefined ? {} : { requestState: kept.state }),
    },
    ...(progressToken === undefined ? {} : { onProgress }),
    sendLog: sendLogOf(mcpReq, name),
  };
}

/** Since 2026-07-28 a request names the least level that its client wants, or no line is sent; before, a session does. */
function sendLogOf({ envelope, log }: ServerContext['mcpReq'], name: string): SendLog | undefined {
  if (envelope !== undefined && !(LOG_LEVEL_META_KEY in envelope)) return undefined;
  return (level, data) => void log(level, data, name).catch(() => undefined);
}

/** Signs the state that a result keeps with the client. */
export async function withKeptState<Result extends object>(
  of: string,
  result: Result | InputRequiredResult,
  states: RequestStateCodec<KeptState>,
): Promise<Result | InputRequiredResult> {
  if (!isInputRequiredResult(result) || result.requestState === undefined) return result;
  return { ...result, requestState: await states.mint({ of, state: result.requestState }) };
}

/** Aborts like the caller's signal, and when the time is over. */
export class HandlerClock {
  private readonly own = new AbortController();
  private readonly timer: NodeJS.Timeout;
  readonly signal: AbortSignal = this.own.signal;
  // Not AbortSignal.any(), whose links only full garbage collections free.
  private readonly cancel = () => this.own.abort(this.callers.reason);

  constructor(
    timeoutMs: number,
    private readonly callers: AbortSignal,
  ) {
    const late = () => this.own.abort(new AppError('tool_timeout', `No result within ${timeoutMs} ms`));
    this.timer = setTimeout(late, timeoutMs);
    if (callers.aborted) this.cancel();
    else callers.addEventListener('abort', this.cancel, { once: true });
  }

  stop(): void {
    clearTimeout(this.timer);
    this.callers.removeEventListener('abort', this.cancel);
  }
}

export function abortError(signal: AbortSignal): AppError {
  return signal.reason instanceof AppError ? signal.reason : new AppError('cancelled', 'The call was cancelled');
}
