// One log line a request that is no chat turn (a turn writes its own), when its answer has ended or its client has gone.
// Health checks and scrapes are debug: they come every few seconds for ever.
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '#libs/logging/logger.js';
import { requestContext } from './request-context.js';

const quietRoutes: ReadonlySet<string> = new Set(['/health/live', '/health/ready', '/metrics']);
const chatRoutes: ReadonlySet<string> = new Set([
  '/v1/chat/completions',
  '/api/chat/completions',
  '/v1/messages',
  '/v1/responses',
]);

/** The request must have its context. */
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
