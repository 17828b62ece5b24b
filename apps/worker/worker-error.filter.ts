// Turns errors of the worker's HTTP server into answers: a code and a safe sentence, without internal details.
import { ArgumentsHost, Catch, ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { renderError } from '#libs/http-server/render-error.js';
import type { Logger } from '#libs/logging/logger.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';
import { mintRequestId } from '#libs/schemas/identifiers.js';

@Catch()
export class WorkerErrorFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const error = toAnswer(thrown);
    const requestId = mintRequestId();
    this.logger[error.row.level]({ requestId, error: error.cause ?? error }, error.message);
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return;
    void reply.status(error.http).header('x-request-id', requestId).send(renderError(error, requestId));
  }
}

/** Errors of the caller, such as an incomplete body, keep their status. */
function toAnswer(thrown: unknown): AppError {
  const given = thrown instanceof HttpException ? thrown.getStatus() : (thrown as { statusCode?: unknown }).statusCode;
  if (thrown instanceof AppError || typeof given !== 'number' || given < 400 || given > 499) return toAppError(thrown);
  if (given === 404) return new AppError('not_found', 'There is nothing at this address');
  if (given === 413) return new AppError('request_too_large', 'The request body is too large', { cause: thrown });
  return new AppError('invalid_value', 'The request is not valid', { http: given, cause: thrown });
}
