// Logs a line for each request when its connection ends. Chat turns write their own line, and health checks and scrapes are
// frequent, so these are only logged at level debug.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#libs/logging/logger.js';
import { requestContext } from './request-context.js';

export const quietRoutes: ReadonlySet<string> = new Set(['/health/live', '/health/ready', '/metrics']);
const chatRoutes: ReadonlySet<string> = new Set([
  '/v1/chat/completions',
  '/api/chat/completions',
  '/v1/messages',
  '/v1/responses',
]);

/** The request must have a context. */
export function logAtEnd(request: FastifyRequest, reply: FastifyReply, logger: Logger): void {
  const startedAt = performance.now();
  reply.raw.once('close', () => {
    const route = request.routeOptions.url ?? 'unknown';
    const { statusCode } = reply.raw;
    const ownLine = chatRoutes.has(route) && statusCode < 400;
    const { requestId, principal } = requestContext(request);
    logger[ownLine || quietRoutes.has(route) ? 'debug' : 'info'](
      {
        requestId,
        userId: principal,
        duration: performance.now() - startedAt,
        metadata: { method: request.method, route, status: statusCode, complete: reply.raw.writableFinished },
      },
      'request',
    );
  });
}
