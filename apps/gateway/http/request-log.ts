// Logs a line for each request when its connection ends; at level debug for health checks and scrapes, which are frequent, and
// for turns, which have a line of their own (measure-turn.ts).
import type { FastifyReply, FastifyRequest } from 'fastify';
import { whenEnded } from '#libs/http-server/connections.js';
import type { Logger } from '#libs/logging/logger.js';
import { requestFields } from '#libs/logging/request-fields.js';
import { requestContext } from './request-context.js';

export const quietRoutes: ReadonlySet<string> = new Set(['/health/live', '/health/ready', '/metrics']);

/** The request must have a context. */
export function logAtEnd(request: FastifyRequest, reply: FastifyReply, logger: Logger): void {
  const startedAt = performance.now();
  whenEnded(request.raw, reply.raw, () => {
    const route = request.routeOptions.url ?? 'unknown';
    const context = requestContext(request);
    const level = quietRoutes.has(route) || context.runsTurn === true ? 'debug' : 'info';
    if (!logger.isLevelEnabled(level)) return;
    const fields = requestFields(context);
    fields.duration = performance.now() - startedAt;
    const { statusCode: status, writableFinished: complete } = reply.raw;
    fields.metadata = { method: request.method, route, status, complete };
    logger[level](fields, 'request');
  });
}
