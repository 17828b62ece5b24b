// The one class of error that this library throws: for answers of the gateway, and for what fails on the way to it.
import type { ErrorCode } from './answers.js';
import type { TextProblem } from './api-types.js';

/** Codes of this library: no answer, none in time, a stream that broke off, an answer that cannot be read. */
export type LocalErrorCode = 'connection_failed' | 'timeout' | 'stream_cut' | 'invalid_answer';

export interface SignalboxErrorDetails {
  status?: number | undefined;
  type?: string | undefined;
  requestId?: string | undefined;
  param?: string | undefined;
  toolName?: string | undefined;
  problems?: readonly TextProblem[] | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

export class SignalboxError extends Error {
  override readonly name = 'SignalboxError';
  /** The HTTP status; undefined for errors inside a stream and for `LocalErrorCode`. */
  readonly status: number | undefined;
  /** Groups codes, as in OpenAI's API. */
  readonly type: string | undefined;
  /** Name this id when you report a problem: the gateway's log and audit have it too. */
  readonly requestId: string | undefined;
  /** The request field at fault. */
  readonly param: string | undefined;
  readonly toolName: string | undefined;
  /** What is wrong with a draft of the policy, place by place. */
  readonly problems: readonly TextProblem[] | undefined;
  /** Present if the same request may succeed later. */
  readonly retryAfterMs: number | undefined;

  constructor(
    /** Stable: use it in programs. The message is for people and may change. */
    readonly code: ErrorCode | LocalErrorCode | (string & {}),
    message: string,
    details: SignalboxErrorDetails = {},
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.status = details.status;
    this.type = details.type;
    this.requestId = details.requestId;
    this.param = details.param;
    this.toolName = details.toolName;
    this.problems = details.problems;
    this.retryAfterMs = details.retryAfterMs;
  }
}

/** The `error` member of an answer or an event. */
export interface ShownError {
  message: string;
  type: string;
  code: string;
  request_id?: string;
  param?: string;
  tool_name?: string;
  problems?: readonly TextProblem[];
}

export function toSignalboxError(shown: ShownError, details: SignalboxErrorDetails = {}): SignalboxError {
  return new SignalboxError(shown.code, shown.message, {
    type: shown.type,
    requestId: shown.request_id,
    param: shown.param,
    toolName: shown.tool_name,
    problems: shown.problems,
    ...details,
  });
}

/** Reads an answer that is not 2xx. Its body may come from a proxy in between, and be anything. */
export async function errorOfAnswer(response: Response): Promise<SignalboxError> {
  const text = await response.text();
  const retryAfterSeconds = Number(response.headers.get('retry-after') ?? Number.NaN);
  const details = {
    status: response.status,
    ...(Number.isFinite(retryAfterSeconds) ? { retryAfterMs: retryAfterSeconds * 1000 } : {}),
  };
  try {
    const { error } = JSON.parse(text) as { error?: ShownError };
    if (typeof error?.code === 'string') return toSignalboxError(error, details);
  } catch {
    // Not JSON.
  }
  const requestId = response.headers.get('x-request-id') ?? undefined;
  return new SignalboxError('invalid_answer', `The answer has status ${response.status} and no error of Signalbox`, {
    ...details,
    requestId,
  });
}
