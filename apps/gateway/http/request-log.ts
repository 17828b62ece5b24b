// Logs a line for each request when its connection ends. Health checks and scrapes are frequent, so theirs is only logged at
// level debug. What a chat turn did stands in its own line (measure-turn.ts).
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#libs/logging/logger.js';
import { requestFields } from '#libs/logging/request-fields.js';
import { requestContext } from './request-context.js';

export const quietRoutes: ReadonlySet<string> = new Set(['/health/live', '/health/ready', '/metrics']);

/** The request must have a context. */
export function logAtEnd(request: FastifyRequest, reply: FastifyReply, logger: Logger): void {
  const startedAt = performance.now();
  reply.raw.once('close', () => {
    const route = request.routeOptions.url ?? 'unknown';
    const { statusCode } = reply.raw;
    const fields = requestFields(requestContext(request));
    fields.duration = performance.now() - startedAt;
    fields.metadata = { method: request.method, route, status: statusCode, complete: reply.raw.writableFinished };
    logger[quietRoutes.has(route) ? 'debug' : 'info'](fields, 'request');
  });
}
