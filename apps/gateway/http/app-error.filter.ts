// Turns errors into HTTP answers. An unknown error is a bug: it is logged with the request id, and the client only gets
// `internal_error`.
import { ArgumentsHost, Catch, ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { answerUnread, hasUnreadBody } from '#libs/http-server/unread-body.js';
import { logFailure } from '#libs/logging/log-failure.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError, type ErrorCode, toAppError } from '#libs/schemas/errors.js';
import { requestContext } from './request-context.js';
import { renderError } from '#libs/http-server/render-error.js';
import { renderRpcError } from '#libs/mcp-server/endpoint/rpc-error.js';
import { renderMessageError } from '../anthropic-api/render-message-error.js';

@Catch()
export class AppErrorFilter implements ExceptionFilter {
  constructor(
    private readonly logger: Logger,
    private readonly observe: (error: AppError) => void,
  ) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.answer(thrown, http.getRequest<FastifyRequest>(), http.getResponse<FastifyReply>());
  }

  /** Also used as Fastify's error handler, for errors before Nest (body limit, invalid HTTP). */
  answer(thrown: unknown, request: FastifyRequest, reply: FastifyReply): void {
    const error = asAppError(thrown);
    const context = requestContext(request);
    const { requestId } = context;
    this.observe(error);
    logFailure(this.logger, error, context);
    if (reply.sent || reply.raw.headersSent) return;
    if (error.row.retryable || error.retryAfterSeconds !== undefined) {
      reply.header('retry-after', retryAfter(error.retryAfterSeconds));
    }
    // Otherwise the SDKs of OpenAI and Anthropic would retry for minutes.
    if (error.code === 'budget_exceeded') reply.header('x-should-retry', 'false');
    // Fastify closes the connection if the body was refused, and the answer could be lost with it.
    reply.removeHeader('connection');
    const body = errorBody(request, error, requestId);
    if (hasUnreadBody(request.raw)) {
      const headers = { ...reply.getHeaders(), 'content-type': 'application/json; charset=utf-8' };
      reply.hijack();
      answerUnread(request.raw, reply.raw, { status: error.http, headers, text: JSON.stringify(body) });
    } else void reply.status(error.http).type('application/json').send(body);
  }
}

/** SDKs that are told to wait for longer than a minute retry at once. */
const longestRetryAfterSeconds = 60;
const retryAfter = (seconds = 1): string => String(Math.min(Math.ceil(seconds), longestRetryAfterSeconds));

const codeOfStatus: Record<number, ErrorCode> = {
  400: 'invalid_value',
  404: 'not_found',
  405: 'method_not_allowed',
  412: 'precondition_failed',
  413: 'request_too_large',
  415: 'unsupported_media_type',
  416: 'range_not_satisfiable',
};

function asAppError(thrown: unknown): AppError {
  if (thrown instanceof AppError) return thrown;
  const status = thrown instanceof HttpException ? thrown.getStatus() : statusOf(thrown);
  const code = codeOfStatus[status];
  if (code === undefined) return toAppError(thrown);
  const body = thrown instanceof HttpException ? thrown.getResponse() : undefined;
  return new AppError(code, shownMessage(code, body), { cause: thrown, ...paramOf(body) });
}

function statusOf(thrown: unknown): number {
  const status = (thrown as { statusCode?: unknown } | null)?.statusCode;
  return typeof status === 'number' ? status : 500;
}

/** Messages of class-validator are our own. Messages of frameworks may quote the request, so they are replaced. */
function shownMessage(code: ErrorCode, body: unknown): string {
  const messages = (body as { message?: unknown } | undefined)?.message;
  if (Array.isArray(messages)) return messages.map((text) => withIndices(String(text))).join('; ');
  const sentences: Partial<Record<ErrorCode, string>> = {
    invalid_value: 'The request is not valid',
    not_found: 'There is nothing at this address',
    method_not_allowed: 'This method is not allowed here',
    request_too_large: 'The request body is too large',
    unsupported_media_type: 'Send application/json',
  };
  return sentences[code] ?? 'The request cannot be served';
}

function paramOf(body: unknown): { param?: string } {
  const messages = (body as { message?: unknown } | undefined)?.message;
  const first: unknown = Array.isArray(messages) ? messages[0] : undefined;
  const path = typeof first === 'string' ? withIndices(first) : '';
  // A problem of a list's entry is told as `tools.each value in allow must be …`.
  const [, within = '', name] =
    /^(?:property )?((?:[A-Za-z_]\w*\.)*)(?:each value in )?([A-Za-z_][\w.[\]]*)/.exec(path) ?? [];
  return name === undefined ? {} : { param: within + name };
}

/** Writes the path at the start of a message as all other errors do: `changes[0].hash`. */
const withIndices = (message: string): string =>
  message.replace(/^(?:property )?[\w.]+/, (path) => path.replace(/\.(\d+)(?=\.|$)/g, '[$1]'));

/** The error in the shape of the route's API. `body` is undefined if it was not read. */
function errorBody(request: { url: string; body?: unknown }, error: AppError, requestId: string): object {
  const path = request.url.split('?', 1)[0]!;
  if (path === '/mcp' || path.startsWith('/mcp/') || path === '/sse' || path === '/sse/messages')
    return renderRpcError(error, requestId, request.body);
  const anthropic = path === '/v1/messages' || path.startsWith('/v1/messages/');
  return anthropic ? renderMessageError(error, requestId) : renderError(error, requestId);
}
