// Converts errors of the SDK, HTTP and servers to ours. A server's own text is bounded. HTTP statuses are shown, but no
// addresses.
import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { ConnectionNeeded } from '#libs/connections/connection-needed.js';
import { AppError, type ToolErrorCode } from '#libs/schemas/errors.js';
import { isJsonObject } from '#libs/schemas/json.js';
import { missingAnswer, tooLargeAnswer } from '../wire/guarded-transport.js';
import { unreadableAnswer } from '../wire/read-message.js';

/** The server has lost the session and run nothing, so the call can be repeated in a new one. */
export class SessionLost extends AppError {
  constructor() {
    super('tool_unavailable', 'The tool server no longer knows the session');
  }
}

const maxErrorLength = 2_000;
const invalidParams = -32_602;
/** Parse error, invalid request, unknown method, unsupported version. */
const notKnown: ReadonlySet<number> = new Set([-32_700, -32_600, -32_601, -32_022]);
const unknownOverHttp = [400, 404, 405, 406, 415];

const protocolCodes: Partial<Record<number, ToolErrorCode>> = {
  [invalidParams]: 'invalid_tool_arguments',
  [unreadableAnswer]: 'invalid_tool_result',
  [missingAnswer]: 'tool_crashed',
  [tooLargeAnswer]: 'result_too_large',
};

const ended = ['tool_crashed', 'The tool server ended during the call'] as const;
const unreadable = ['invalid_tool_result', 'The answer of the tool is not valid MCP'] as const;
const notAllowed = ['tool_unavailable', 'The tool server rejected the configured credentials'] as const;

const sdkErrors: Partial<Record<SdkErrorCode, readonly [ToolErrorCode, string]>> = {
  [SdkErrorCode.ConnectionClosed]: ended,
  [SdkErrorCode.NotConnected]: ended,
  [SdkErrorCode.SendFailed]: ended,
  [SdkErrorCode.RequestTimeout]: ['tool_timeout', 'The tool did not answer in time'],
  [SdkErrorCode.InvalidResult]: unreadable,
  [SdkErrorCode.UnsupportedResultType]: unreadable,
  [SdkErrorCode.ClientHttpUnexpectedContent]: unreadable,
  [SdkErrorCode.ClientHttpAuthentication]: notAllowed,
  [SdkErrorCode.ClientHttpForbidden]: notAllowed,
};

/** HTTP statuses that mean that the server did nothing. */
const nothingDone: ReadonlySet<number> = new Set([404, 405, 429, 502, 503, 504]);

interface CallFailure {
  toolName?: string | undefined;
  /** Why the connection ended, if it has. */
  failure?: AppError | undefined;
}

export function asCallError(error: unknown, { toolName, failure }: CallFailure): AppError {
  if (error instanceof AppError) return error;
  const details = { cause: error, ...(toolName === undefined ? {} : { toolName }) };
  const because = (code: ToolErrorCode, message: string) => new AppError(code, message, details);
  if (error instanceof ProtocolError) {
    return because(protocolCodes[error.code] ?? 'tool_failed', error.message.slice(0, maxErrorLength));
  }
  if (error instanceof SdkHttpError) return asHttpError(error, because);
  if (error instanceof UnauthorizedError || error instanceof InsufficientScopeError) return because(...notAllowed);
  if (error instanceof SdkError && askedBy(error) !== undefined) return because('tool_failed', askedBy(error)!);
  if (error instanceof SdkError) {
    const [code, message] =
      sdkErrors[error.code] ?? (['tool_failed', 'The request to the tool server failed'] as const);
    return code === 'tool_crashed' && failure !== undefined
      ? because(failure.code as ToolErrorCode, failure.message)
      : because(code, message);
  }
  if (error instanceof SyntaxError || (error as Error | undefined)?.name === 'ZodError') return because(...unreadable);
  if (error instanceof SseError) return because('tool_unavailable', 'The tool server cannot be reached over SSE');
  return because('tool_failed', 'The tool failed');
}

/** In the newer era, a tool can answer with a question. A question that nobody here can answer ends the call. */
function askedBy({ code, data }: SdkError): string | undefined {
  if (code === SdkErrorCode.InputRequiredRoundsExceeded) return 'The tool kept asking for the same input';
  if (code !== SdkErrorCode.CapabilityNotSupported) return undefined;
  const method = isJsonObject(data) && typeof data['method'] === 'string' ? data['method'] : 'a question';
  return `The tool sent a request that is not supported here (${method.slice(0, 100)})`;
}

function asHttpError(error: SdkHttpError, because: (code: ToolErrorCode, message: string) => AppError): AppError {
  const { status } = error.data;
  if (status === 401 || status === 403) return because(notAllowed[0], `${notAllowed[1]} (HTTP ${status})`);
  const message = `The tool server answered with HTTP ${status}`;
  if (status >= 300 && status < 400) return because('tool_unavailable', `${message}: redirects are not followed`);
  return because(nothingDone.has(status) ? 'tool_unavailable' : 'tool_failed', message);
}

/** The error for a failure to connect. Callers see the message, so it has no address. */
export function asConnectError(error: unknown): AppError {
  const { message } = asCallError(rootOf(error), {});
  const why = message.replace(/^The tool server /, 'it ');
  return new AppError('tool_unavailable', `Could not connect to the tool server: ${why}`, { cause: error });
}

/** The error of ours that the SDK has wrapped, or what it has thrown. */
export function rootOf(error: unknown): unknown {
  return error instanceof SdkError && error.cause instanceof AppError ? error.cause : error;
}

/**
 * The protocol specifies 404. Servers based on the official SDK's examples answer 400, as for a request without a
 * session. In both cases nothing ran. A 400 with another cause occurs again in the new session.
 */
export function isSessionLost(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return false;
  const { status } = error.data;
  return status === 404 || (status === 400 && /\bsession\b|\bnot initialized\b/i.test(error.message));
}

/**
 * Whether the server may be of another era: it refused the request, or sent an unexpected kind of answer. Some servers
 * answer unknown requests with a 5xx, which is a refusal only if the request runs nothing.
 */
export function misunderstanding(error: unknown, runsNothing: boolean): 'refused' | 'answered' | undefined {
  if (error instanceof SdkHttpError) {
    const { status } = error.data;
    return unknownOverHttp.includes(status) || (runsNothing && status >= 500) ? 'refused' : undefined;
  }
  if (error instanceof ProtocolError) return notKnown.has(error.code) ? 'refused' : undefined;
  return error instanceof SdkError && error.code === SdkErrorCode.InvalidResult ? 'answered' : undefined;
}

/** The address is not a Streamable HTTP endpoint, but may be an older one. */
export function isUnknownToHttp(error: unknown): boolean {
  const cause = error instanceof AppError ? error.cause : error;
  return cause instanceof SdkHttpError && unknownOverHttp.includes(cause.data.status);
}

/** Whether a server that failed at the newer greeting may answer the older one, because it is reachable and allows us. */
export function mayBeOlder(error: unknown): boolean {
  if (error instanceof ConnectionNeeded) return false;
  const cause = rootOf(error instanceof AppError ? error.cause : error);
  if (cause instanceof UnauthorizedError || cause instanceof InsufficientScopeError) return false;
  // After these statuses the SDK itself has used the older greeting.
  if (cause instanceof SdkHttpError) return ![401, 403, ...unknownOverHttp].includes(cause.data.status);
  return !(cause instanceof AppError && cause.code === 'tool_unavailable');
}
