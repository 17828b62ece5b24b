// What fails at the worker's door, as an answer: a code and a safe sentence, nothing of what happened inside.
import { ArgumentsHost, Catch, ExceptionFilter, HttpException } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Logger } from '#libs/logging/logger.js';
import { AppError, toAppError } from '#libs/schemas/errors.js';

@Catch()
export class WorkerErrorFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const error =
      thrown instanceof HttpException && thrown.getStatus() < 500
        ? new AppError('not_found', 'There is nothing at this address', { http: thrown.getStatus() })
        : toAppError(thrown);
    this.logger[error.row.level]({ error: error.cause ?? error }, error.message);
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return;
    void reply.status(error.http).send({ error: { message: error.message, type: error.row.type, code: error.code } });
  }
}
